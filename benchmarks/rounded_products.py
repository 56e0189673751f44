"""The gradient of a trained ``thick`` with products in bfloat16: its time, its direction, and what may be rounded.

    energyc train specs/thick.energy --target cpp --set relax.exit=early --set relax.step=0.4 --set relax.chunk=5 \\
        --set train.batch=16 --steps 250 --out RUN
    python -m benchmarks.rounded_products RUN

The run's last weights, held-out windows. First, in kernels in C++: the least processor time of one thread over rounds
in turn of the gradient by each rule in float32 and with ``train.products = bfloat16``, and the cosines of both. Then,
as torch operations on a few windows, with the operands of the products of some equations alone rounded: the cosine
with the gradient in which nothing is.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from benchmarks.trained_gradient import Trained
from benchmarks.vectors import cosine, flat
from energyc.runtime.equations.products import PRODUCTS
from energyc.studies.bench.step import least

#: Exactly so many steps, or as many as lead to the tolerance.
FIXED = {"relax.step": 0.4, "relax.steps": 30, "relax.tolerance": "none", "nudge.snapshots": "none"}
EARLY = {"relax.step": 0.4, "relax.exit": "early", "relax.chunk": 5, "nudge.snapshots": "none"}
WAYS = {"30 steps": FIXED, "to 1e-4": EARLY}
RULES = ("bptt", "implicit", "tracking-aep")
FORCES, BACK = ("_force",), ("_force_vjp", "_step_vjp")
#: What is rounded alone: a rule, the equations, and whether in the free phase or in the nudged ones.
ALONE: Sequence[tuple[str, str, Sequence[str], bool]] = (
    ("tracking-aep", "all of the nudged phases", ("_force", "_correction", "_cost_force"), True),
    ("tracking-aep", "forces of the free phase", FORCES, False),
    ("tracking-aep", "forces of the nudged phases", FORCES, True),
    ("tracking-aep", "the correction", ("_correction",), True),
    ("tracking-aep", "the slope of the cost in the nudged phases", ("_cost_force",), True),
    ("implicit", "forces", FORCES, False),
    ("implicit", "the transposed Jacobian and the slopes", BACK, False),
    ("bptt", "forces", FORCES, False),
    ("bptt", "steps back and the slopes", BACK, False),
)


class OperandsRounded(TorchFunctionMode):
    """Products of rounded operands, whose results are not rounded."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, a product of operands in bfloat16 with sums in float32."""
        if function in PRODUCTS and sum(isinstance(x, Tensor) for x in args) > 1:
            args = [x.bfloat16().float() if isinstance(x, Tensor) else x for x in args]
        return function(*args, **(kwargs or {}))


@contextmanager
def rounding(net: Any, names: Sequence[str], nudged: bool) -> Iterator[None]:
    """Some equations of a network are rounded inside of it, in its nudged phases alone or outside of them alone."""
    within = False

    def wrapped(function: Any) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            if within is not nudged:
                return function(*args, **kwargs)
            with OperandsRounded():
                return function(*args, **kwargs)

        return called

    steps = net._tracking_steps_

    def tracked(*args: Any) -> Any:
        nonlocal within
        within = True
        try:
            return steps(*args)
        finally:
            within = False

    own = {"_tracking_steps_": tracked, **{n: wrapped(getattr(net, n)) for n in names if hasattr(net, n)}}
    for name, function in own.items():
        setattr(net, name, function)
    try:
        yield
    finally:
        for name in own:
            delattr(net, name)


def print_times(trained: Trained, seconds: float) -> None:
    """The table of times and cosines, and that of the cosines of each param."""
    rows, params = [], dict[str, dict[str, float]]()
    for rule in RULES:
        for way, settings in WAYS.items():
            both = ({}, {"train.products": "bfloat16"})
            pair = [trained.net("cpp", {**settings, **more}, rules=[rule]) for more in both]
            calls = [partial(net.gradients, trained.clamps, trained.targets, rule) for net in pair]
            plain, low = (call() for call in calls)
            times = least(dict(enumerate(calls)), seconds, time.process_time)
            each = {name: cosine(low.params[name], x) for name, x in plain.params.items()}
            params[f"{rule}, {way}"] = each
            worst = min(each, key=lambda name: each[name])
            rows.append(
                f"| {rule} | {way} | {1e3 * times[0]:.0f} | {1e3 * times[1]:.0f} | {times[1] / times[0]:.2f} | "
                f"{int(plain.steps.max())}, {int(low.steps.max())} | "
                f"{cosine(flat(low.params), flat(plain.params)):.6f} | {each[worst]:.6f} ({worst}) |"
            )
    print("| rule | free phase | float32, ms | bfloat16, ms | ratio | steps | cosine | least of a param |")
    print("|---|---|--:|--:|--:|---|---|---|", *rows, "", sep="\n")
    print(f"| param | {' | '.join(params)} |", f"|---|{'---|' * len(params)}", sep="\n")
    for name in next(iter(params.values())):
        print(f"| `{name}` | {' | '.join(f'{each[name]:.6f}' for each in params.values())} |")


def print_alone(trained: Trained) -> None:
    """The table of what is rounded alone."""
    print("", "| rule | rounded | cosine | least of a param |", "|---|---|---|---|", sep="\n")
    for rule in dict.fromkeys(row[0] for row in ALONE):
        net = trained.net("torch", FIXED, rules=[rule])
        exact = net.gradients(trained.clamps, trained.targets, rule)
        strength = {} if exact.beta is None else {"beta": exact.beta}
        for _, what, names, nudged in (row for row in ALONE if row[0] == rule):
            with rounding(net, names, nudged):
                found = net.gradients(trained.clamps, trained.targets, rule, **strength)
            each = {name: cosine(found.params[name], x) for name, x in exact.params.items()}
            worst = min(each, key=lambda name: each[name])
            whole = cosine(flat(found.params), flat(exact.params))
            print(f"| {rule} | {what} | {whole:.6f} | {each[worst]:.6f} ({worst}) |")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print_times(Trained.of(options.run, options.samples), options.seconds)
    print_alone(Trained.of(options.run, max(1, options.samples // 4)))


if __name__ == "__main__":
    main()

"""Phases in C++ kernels beside the same phases as torch operations, their matrix products alone, and JAX's jit.

    python -m benchmarks.kernels              # phases and updates, a table
    python -m benchmarks.kernels --seconds 30

One thread, float32, the minimum over many rounds, every way in each round in a new order; by the clock, since JAX works
in threads of its own, so that it wants a machine without other load. What the ways compute is compared first. JAX takes
part where it is installed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np
import torch
from torch import Tensor

from energyc import pipeline
from energyc.bench.step import least
from energyc.emit import kernels_of
from energyc.loops.nest import Product
from energyc.runtime.inputs import prepared

SPECS = Path(__file__).parents[1] / "specs"
STEPS = 10
Way = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A network at a size, and its batch; ``stride`` is of the patches, for JAX."""

    spec: str
    batch: int
    preset: str | None = None
    choices: Mapping[str, float] = field(default_factory=dict)
    stride: int = 4

    def __str__(self) -> str:
        sizes = self.preset or ", ".join(f"{name} {value:g}" for name, value in self.choices.items()) or "as shipped"
        return f"{self.spec} ({sizes}), B = {self.batch}"


CET = {"C": 1, "S": 32, "P": 8, "stride": 4, "split": 2, "D": 128, "H": 4, "A": 32, "M": 512}
CASES = (
    Case("hopfield", 128),
    Case("thick", 16, choices={"T": 64, "D": 128}),
    Case("thick", 16, "small"),
    Case("cet", 16, choices=CET),
    Case("cet", 16, "small"),
    Case("hopfield_conv", 8),
    Case("deep_hopfield", 20),
)
#: Networks and rules of whole updates.
UPDATES = (
    (
        Case("hopfield", 128, choices={"relax.steps": 60, "relax.tolerance": 1, "nudge.beta": 0.5, "nudge.steps": 15}),
        None,
    ),
    (Case("thick", 16, "small"), "tracking-aep"),
    (Case("cet", 16, "small"), "centered-ep"),
)


def networks(case: Case, rule: str | None) -> tuple[Any, Any, Any]:
    """The network, and its modules as torch operations and with kernels, with equal params."""
    chosen = pipeline.Choices(case.preset, dict(case.choices))
    network = pipeline.resolve(pipeline.read(SPECS / f"{case.spec}.energy"), chosen)
    nets = []
    for target in ("torch", "cpp"):
        compiled = pipeline.emit(network, [rule or network.train.trained_by], target=target, runtime="import")
        nets.append(pipeline.instantiate(compiled, "cpu", torch.float32, 0))
    return network, *nets


def inputs(net: Any, batch: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Clamps and targets at random."""
    random = torch.Generator().manual_seed(1)

    def drawn(shapes: Mapping[str, tuple[tuple[int, ...], int | None]]) -> dict[str, Tensor]:
        return {
            name: torch.randint(over, (batch, *shape), generator=random)
            if over
            else torch.rand(batch, *shape, generator=random)
            for name, (shape, over) in shapes.items()
        }

    return drawn(net.clamp_shapes), drawn(net.target_shapes)


def products(network: Any, batch: int) -> Way:
    """The matrix products of a phase's steps by torch, one after the other, on operands of their sizes."""
    from energyc.emit import Options

    classes = pipeline.classify(network)
    options = Options(("implicit",), "", "", unproved=classes.unproved, descends=classes.descends)
    kernel = kernels_of(network, options)[0][0]
    pairs = []
    for block in kernel.body:
        if isinstance(block, Product):
            rows, columns, inner = block.rows.count, block.columns.count, block.inner.count
            if block.right.batched:
                many = batch * block.outer.count
                pairs.append((torch.rand(many, rows, inner), torch.rand(many, inner, columns)))
            else:
                moved = block.outer.count
                pairs.append((torch.rand(batch * rows, inner), torch.rand(inner, columns * moved)))
    into = [a @ b for a, b in pairs]

    def run() -> None:
        for _ in range(STEPS):
            for (a, b), out in zip(pairs, into, strict=True):
                torch.matmul(a, b, out=out)

    return run


def phases(case: Case) -> dict[str, Way]:
    """A free phase of some steps in each way, checked to end at the same states."""
    network, plain, kernel = networks(case, None)
    clamps, _ = inputs(plain, case.batch)
    with torch.no_grad():
        fixed = prepared(plain, clamps)
        random = torch.Generator().manual_seed(2)
        start = [0.5 * torch.rand(case.batch, *shape, generator=random) for shape in plain.state_shapes.values()]
        plain._project_(start)

    def by(net: Any) -> Way:
        @torch.no_grad()
        def run() -> list[Tensor]:
            states = [x.clone() for x in start]
            net._steps_(states, fixed, 0, STEPS, net.relax_step)
            return states

        return run

    found = {"torch": by(plain), "kernels": by(kernel), "products alone": products(network, case.batch)}
    jax = jax_phase(case, plain, fixed, start)
    if jax is not None:
        found["JAX"] = jax
    expected = found["torch"]()
    for name, way in found.items():
        if name != "products alone":
            agree(name, dict(zip(plain.state_shapes, expected, strict=True)), way(), plain.state_shapes)  # type: ignore[arg-type, call-overload]
    return found


def agree(name: str, expected: Mapping[str, Tensor], found: Any, order: Any) -> None:
    """Refuse to time what is wrong."""
    values = found if isinstance(found, Mapping) else dict(zip(order, found, strict=True))
    for key, value in expected.items():
        other = torch.tensor(np.asarray(values[key]))
        error = float((other - value).abs().max() / value.abs().max())
        assert error < 2e-4, f"{name}: {key} is off by {error:.1e}"


def jax_phase(case: Case, net: Any, fixed: Any, start: list[Tensor]) -> Way | None:
    """The same by JAX, or None where it is not installed or not written."""
    try:
        import jax

        from benchmarks import in_jax
    except ImportError:
        return None
    ways = {
        "hopfield": (in_jax.hopfield, in_jax.boxed),
        "thick": (in_jax.thick, lambda states: states),
        "cet": (in_jax.cet(case.stride), in_jax.standardized),
    }
    if case.spec not in ways:
        return None
    params = {name: jax.numpy.asarray(value.detach().numpy()) for name, value in net.params.items()}
    given = {name: jax.numpy.asarray(value.numpy()) for name, value in fixed._asdict().items()}
    states = {name: jax.numpy.asarray(x.numpy()) for name, x in zip(net.state_shapes, start, strict=True)}
    run = in_jax.phase(*ways[case.spec], net.relax_step[0], STEPS)
    return lambda: jax.block_until_ready(run(states, params, given))


def updates(case: Case, rule: str | None) -> dict[str, Way]:
    """A whole gradient in each way, checked to be the same."""
    _, plain, kernel = networks(case, rule)
    clamps, targets = inputs(plain, case.batch)
    found: dict[str, Way] = {
        "torch": lambda: plain.gradients(clamps, targets).params,
        "kernels": lambda: kernel.gradients(clamps, targets).params,
    }
    try:
        import jax

        from benchmarks import in_jax
    except ImportError:
        jax = None
    if jax is not None and case.spec == "hopfield":
        settings = case.choices
        update = in_jax.hopfield_update(
            0.5, int(settings["relax.steps"]), int(settings["nudge.steps"]), settings["nudge.beta"]
        )
        params = {name: jax.numpy.asarray(value.detach().numpy()) for name, value in plain.params.items()}
        x, label = (jax.numpy.asarray(t.numpy()) for t in (clamps["x"], targets["label"]))
        found["JAX"] = lambda: jax.block_until_ready(update(params, x, label))
        expected = plain.gradients(clamps, targets).params
        for name in ("kernels", "JAX"):
            agree(name, dict(expected), found[name](), None)
    return found


def timed(found: Mapping[str, Way], seconds: float) -> dict[str, float]:
    """The minimum milliseconds of each variant, by the clock."""
    return {name: 1e3 * value for name, value in least(found, seconds).items()}


def main() -> None:
    """Print two tables: milliseconds, and ratios to torch operations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each network")
    seconds = parser.parse_args().seconds
    torch.set_num_threads(1)
    print(f"a step of a free phase of {STEPS}")
    for case in CASES:
        times = timed(phases(case), seconds)
        show(str(case), {name: value / STEPS for name, value in times.items()})
    print("a gradient")
    for case, rule in UPDATES:
        show(f"{case} {rule or ''}", timed(updates(case, rule), seconds))


def show(title: str, times: Mapping[str, float]) -> None:
    """A line for each way."""
    print(title)
    for name, milliseconds in times.items():
        print(f"    {name:<16} {milliseconds:9.3f} ms  {milliseconds / times['torch']:5.2f}", flush=True)


if __name__ == "__main__":
    main()

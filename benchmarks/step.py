"""One relaxation step: the generated module against the same network by hand, with autograd, without, and compiled.

    python benchmarks/step.py                # all sizes except the paper's
    python benchmarks/step.py --paper        # also the CET at paper size
    python benchmarks/step.py --compile      # also torch.compile, where it works

The figure is the processor time of one thread, the minimum over many rounds. Every variant runs in each round, so that
other load on the machine affects all alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from by_hand import CONV, HOPFIELD, THICK, ByHand, Tensors, cet

from energyc import pipeline
from energyc.bench.step import least
from energyc.emit import Options, class_name, instantiate, torch_module
from energyc.plan import Passes
from energyc.runtime.inputs import prepared

SPECS = Path(__file__).parents[1] / "specs"
Way = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A network at a size: its spec, batch, dims and step."""

    title: str
    hand: ByHand
    batch: int
    choices: dict[str, float]
    paper: bool = False


CASES = (
    Case("hopfield 784-512-10, B = 20", HOPFIELD, 20, {"relax.step": 0.5}),
    Case("hopfield 784-512-10, B = 256", HOPFIELD, 256, {"relax.step": 0.5}),
    Case(
        "cet 32x32, D = 128, B = 16",
        cet(4),
        16,
        {"S": 32, "P": 8, "stride": 4, "D": 128, "H": 4, "A": 32, "M": 512, "relax.step": 1},
    ),
    Case("hopfield_conv, B = 8", CONV, 8, {"relax.step": 1}),
    Case("thick T = 64, D = 128, B = 16", THICK, 16, {"relax.step": 0.1}),
    Case("thick T = 32, D = 64, B = 16", THICK, 16, {"T": 32, "D": 64, "relax.step": 0.1}),
    Case("cet 120x120, D = 768, B = 2", cet(10), 2, {"relax.step": 1}, paper=True),
)


def drawn(net: Any, batch: int) -> tuple[Tensors, Tensors]:
    """Random states and clamps."""
    random = torch.Generator().manual_seed(1)
    states = {n: 0.5 * torch.rand(batch, *shape, generator=random) for n, shape in net.state_shapes.items()}
    clamps = {
        n: torch.rand(batch, *shape, generator=random)
        if classes is None
        else torch.randint(classes, (batch, *shape), generator=random)
        for n, (shape, classes) in net.clamp_shapes.items()
    }
    return states, clamps


def module(case: Case, passes: Passes) -> Any:
    """The generated network of a case, compiled with some passes."""
    network = pipeline.resolve(pipeline.read(SPECS / f"{case.hand.spec}.energy"), pipeline.Choices(None, case.choices))
    options = Options(rules=("implicit",), label=case.hand.spec, version="benchmark", passes=passes)
    return instantiate(torch_module(network, options), class_name(network.name), dtype=torch.float32)


def generated(net: Any, states: Tensors, clamps: Tensors) -> Way:
    """A step of a generated module, with everything that stays fixed precomputed."""
    fixed = prepared(net, clamps)

    def step() -> Tensors:
        moved = [x.clone() for x in states.values()]
        net._step_(moved, fixed, net.relax_step)
        return dict(zip(states, moved, strict=True))

    return torch.no_grad()(step)


def ways(case: Case, compiled: bool) -> dict[str, Way]:
    """The variants to time, by name, checked to take the same step."""
    net = module(case, Passes())
    states, clamps = drawn(net, case.batch)
    found = {"generated": generated(net, states, clamps)}
    for title, passes in (("stacked too", Passes(stack=True)), ("without passes", Passes.plain())):
        other = module(case, passes)
        other.load_state_dict(net.state_dict())
        found[f"generated, {title}"] = generated(other, states, clamps)
    params = {name: value.detach() for name, value in net.params.items()}
    given = {**clamps, **prepared(net, clamps)._asdict()}
    if case.hand.autograd is not None:
        slope = case.hand.autograd
        found["by hand, autograd"] = lambda: slope(states, params, given)
    for title, step in (
        ("", case.hand.written),
        (", compiled", torch.compile(case.hand.written) if compiled and case.hand.written else None),
    ):
        if step is not None:
            found[f"by hand{title}"] = torch.no_grad()(partial(step, states, params, given))
    agree(found)
    return found


def agree(found: dict[str, Way]) -> None:
    """Check that all variants reach the same states, up to float32."""
    first = found["generated"]()
    for name, way in found.items():
        for state, value in way().items():  # type: ignore[attr-defined]
            error = float((value - first[state]).abs().max() / first[state].abs().max())  # type: ignore[index]
            assert error < 1e-4, (name, state, error)


def timed(found: Mapping[str, Way], seconds: float) -> dict[str, float]:
    """The minimum processor time of each variant."""
    return {name: 1e3 * value for name, value in least(found, seconds, time.thread_time).items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--paper", action="store_true", help="the CET at paper size too")
    parser.add_argument("--compile", action="store_true", help="torch.compile as well")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each network")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for case in CASES:
        if case.paper and not options.paper:
            continue
        times = timed(ways(case, options.compile), options.seconds)
        own = times["generated"]
        print(f"{case.title}")
        for name, milliseconds in times.items():
            print(f"    {name:<26} {milliseconds:8.3f} ms  {milliseconds / own:5.2f}")


if __name__ == "__main__":
    main()

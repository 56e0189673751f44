"""How fast a network's step is, beside other ways to take the same step."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor

from energyc.code.module.context import Options
from energyc.code.module.instantiate import instantiate
from energyc.code.module.names import class_name
from energyc.code.plan import Passes
from energyc.code.targets.cpp.module import cpp_module
from energyc.code.targets.torch.module import torch_module
from energyc.language.diagnostics import UserError, arithmetic, stage
from energyc.language.network import Network
from energyc.language.settings import extremes
from energyc.running.runs.data_arguments import DataArguments
from energyc.runtime import advance_, prepared, step_method
from energyc.studies.verify import given_samples, random_probe

#: The steps of a phase in kernels, which packs weights once.
PHASE = 10
#: One step of the free phase, which gives the states that it moved.
Way = Callable[[], list[Tensor]]


@dataclass(frozen=True)
class Timing:
    """The least milliseconds of one way to take a step, and their ratio to the generated module's."""

    way: str
    milliseconds: float
    ratio: float


@dataclass(frozen=True)
class BenchReport:
    """The timings of a network's step; the generated module comes first."""

    network: str
    batch: int
    threads: int
    timings: tuple[Timing, ...]

    def to_json(self) -> dict[str, Any]:
        """The object of ``bench --format json``."""
        return asdict(self)

    def to_text(self, *, color: bool = False) -> str:
        """The timings as a table."""
        head = f"{self.network}: one step, batch {self.batch}, float32, {self.threads} thread{'s' * (self.threads > 1)}"
        width = max(len(t.way) for t in self.timings)
        rows = (f"  {t.way:<{width}}  {t.milliseconds:10.3f} ms  {t.ratio:6.2f}" for t in self.timings)
        return "\n".join([head, "", *rows]) + "\n"

    def __str__(self) -> str:
        return self.to_text().rstrip("\n")


def bench(
    network: Network, *, batch: int = 16, seconds: float = 5.0, threads: int = 1, given: DataArguments | None = None
) -> BenchReport:
    """Time the step of a network: as generated, without passes, in kernels, by autograd of the energy.

    Its clamps are random, or test samples of data that are ``given``. It is the step outside of training. Kernels take
    part where they can be built, in a phase of several steps. Autograd is left out where a term is a force that is not
    a gradient, and for a solver of its own. Raises UserError for a network of layers.
    """
    if network.layers:
        message = f"{network.name} has no step of the whole: its layers relax one after the other"
        raise UserError(message, code="E0924", help="write the layer to be timed as a network of its own")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with stage("bench", network.source.name), arithmetic("the benchmark", extremes(network.relax)):
            return _timed(network, given, batch, seconds)
    finally:
        torch.set_num_threads(before)


def _clamps(network: Network, net: Any, batch: int, given: DataArguments | None) -> dict[str, Tensor]:
    """A batch in float32: drawn, or of samples that are given, each as often as needed."""
    found = random_probe(net, batch=batch).clamps if given is None else given_samples(network, given, batch).clamps
    count = len(next(iter(found.values()))) if found else 0
    rows = torch.arange(batch) % max(1, count)
    return {name: (x.to(torch.float32) if x.is_floating_point() else x)[rows].contiguous() for name, x in found.items()}


def _timed(network: Network, given: DataArguments | None, batch: int, seconds: float) -> BenchReport:
    net = _module(network, Passes())
    clamps = _clamps(network, net, batch, given)
    states = list(net.start(clamps).values())
    ways: dict[str, Way] = {"generated": _step(net, states, clamps)}
    plain = _module(network, Passes.plain())
    ways["without passes"] = _step(plain, states, clamps)
    kernels = _in_kernels(network, net, states, clamps)
    if kernels is not None:
        ways["in kernels"] = kernels
    if not network.forces and network.relax.solver == "gradient":
        ways["autograd of the energy"] = _by_autograd(plain, states, clamps)
    best = least(ways, seconds)
    if kernels is not None:
        best["in kernels"] /= _in_a_phase(net)
    own = best["generated"]
    timings = tuple(Timing(way, 1e3 * value, value / own) for way, value in best.items())
    return BenchReport(network.name, batch, torch.get_num_threads(), timings)


def least(
    ways: Mapping[str, Callable[[], object]], seconds: float, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The least seconds of each way, all in turns whose order is drawn anew; every way is taken twice at least."""
    best = dict.fromkeys(ways, float("inf"))
    random, turns = Random(0), list(ways.items())
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 2 or time.perf_counter() < end:
        random.shuffle(turns)
        rounds += 1
        for name, way in turns:
            start = clock()
            way()
            best[name] = min(best[name], clock() - start)
    return best


def _module(network: Network, passes: Passes) -> Any:
    options = Options(rules=("implicit",), label=network.name, version="bench", passes=passes)
    text = torch_module(options.plan(network), options).text
    return instantiate(text, class_name(network.name), dtype=torch.float32).requires_grad_(False).eval()


def _step(net: Any, states: Sequence[Tensor], clamps: dict[str, Tensor]) -> Way:
    fixed, method = prepared(net, clamps), step_method(net)

    def step() -> list[Tensor]:
        moved = [x.clone() for x in states]
        method.step_(moved, fixed, net.relax_step)
        return moved

    return torch.no_grad()(step)


def _in_kernels(network: Network, net: Any, states: Sequence[Tensor], clamps: dict[str, Tensor]) -> Way | None:
    """A phase in C++ kernels, or None where there are none or no compiler."""
    options = Options(rules=("implicit",), label=network.name, version="bench")
    other = instantiate(cpp_module(options.plan(network), options).text, class_name(network.name), dtype=torch.float32)
    other.load_state_dict(net.state_dict())
    other.requires_grad_(False).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if not hasattr(other, "kernels") or not other._serving("free", states):
            return None
    fixed = prepared(other, clamps)

    def phase() -> list[Tensor]:
        moved = [x.clone() for x in states]
        other._steps_(moved, fixed, 0, _in_a_phase(other), other.relax_step)
        return moved

    return torch.no_grad()(phase)


def _in_a_phase(net: Any) -> int:
    """The steps of a phase in kernels, no more than there are where they are numbered."""
    return min(PHASE, net.relax_steps) if net.numbered else PHASE


def _by_autograd(net: Any, states: Sequence[Tensor], clamps: dict[str, Tensor]) -> Way:
    """A step by autograd of the energy, as one would write it by hand."""
    fixed = prepared(net, clamps)

    def step() -> list[Tensor]:
        leaves = [x.detach().clone().requires_grad_() for x in states]
        energy = sum(term.sum() for term in net._terms(leaves, fixed))
        slopes = torch.autograd.grad(energy, leaves, allow_unused=True, materialize_grads=True)
        moved = [x.detach() for x in leaves]
        with torch.no_grad():
            advance_(net, moved, fixed, [-slope for slope in slopes], net.relax_step)
        return moved

    return step

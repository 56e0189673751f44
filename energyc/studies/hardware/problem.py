"""A network, its weights and one sample of its clamps: what an exporter takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from energyc.derivation.derive import derive
from energyc.language.diagnostics import Option, UserError, arithmetic, spoken
from energyc.language.network import Network
from energyc.mathematics.ir.interpreter import evaluate
from energyc.pipeline import Choices, emit, instantiate, resolve
from energyc.running.runs.data import feed_of
from energyc.running.runs.data_arguments import NO_DATA, Data
from energyc.running.runs.locate import is_run, read_spec
from energyc.running.runs.saved import load_run
from energyc.running.training.division import WHOLE, Part
from energyc.studies.hardware.circuit import Circuit, circuit
from energyc.studies.hardware.ising import Ising, ising
from energyc.studies.hardware.spice import netlist, operating_point
from energyc.version import __version__

Arrays = dict[str, np.ndarray]
#: The largest residual at which states count as a rest, and the steps that may be taken to it.
AT_REST, MOST_STEPS = 1e-12, 100_000
#: The largest difference, in volts, at which ngspice and energyc agree.
AGREEMENT = 1e-6


@dataclass(frozen=True)
class Sample:
    """Which sample of the data the clamps are."""

    number: int = 0
    split: Part = "test"


@dataclass(frozen=True)
class Problem:
    """A network with its weights and the clamps of one sample, ``[*shape]`` each; ``origin`` says what they are.

    ``net`` is the network as a module in float64.
    """

    network: Network
    net: Any
    clamps: Arrays
    origin: str

    @property
    def params(self) -> Arrays:
        """The weights by their names."""
        return {name: self.net.params[name].detach().numpy() for name in self.network.params}

    def rest(self) -> tuple[Arrays, float]:
        """Return the states at rest, ``[*shape]`` each, and their residual: the length of a last step."""
        clamps = {name: torch.as_tensor(value)[None] for name, value in self.clamps.items()}
        with torch.no_grad(), arithmetic("the relaxation"):
            phase, steps = self.net.relax(clamps, states=None if clamps else self._start()), 0
            while float(phase.residual[0]) > AT_REST and steps < MOST_STEPS:
                before = float(phase.residual[0])
                steps += 1000
                phase = self.net.relax(clamps, steps=1000, tolerance=AT_REST, states=phase.states)
                if not float(phase.residual[0]) < before:
                    break
        return {name: value[0].numpy() for name, value in phase.states.items()}, float(phase.residual[0])

    def _start(self) -> dict[str, torch.Tensor]:
        """The states before the first step, where no clamp says how many samples there are."""
        network, starts = self.network, derive(self.network).start
        inputs = {("param", name): value for name, value in self.params.items()}
        arrays = evaluate(list(starts.values()), inputs, sizes=network.extents, values=network.values)
        return {name: torch.tensor(array)[None] for name, array in zip(starts, arrays, strict=True)}

    def circuit(self) -> Circuit:
        """Return the circuit. Raises SpecError E0960, E0961."""
        return circuit(self.network, self.params, self.clamps)

    def spice(self) -> str:
        """Return the netlist; where the circuit may have several rests, its solver begins at the network's own.

        Raises SpecError E0960, E0961.
        """
        built = self.circuit()
        states, residual = (None, math.inf) if built.convex else self.rest()
        return netlist(built, self.heading(), states, start=math.isfinite(residual))

    def ising(self) -> Ising:
        """Return the Ising problem. Raises SpecError E0962, E0963."""
        return ising(self.network, self.params, self.clamps)

    def heading(self) -> list[str]:
        """The comment at the head of a file."""
        return [
            f"{self.network.name}: {self.origin}",
            f"Made by energyc {__version__}. Voltages are states, in volts; a siemens is a unit of d2E/dz2.",
        ]

    def check(self, text: str) -> Judgement:
        """Solve a netlist of this problem with ngspice and compare. Raises UserError E0966, E0967."""
        states, residual = self.rest()
        if not math.isfinite(residual):
            message = "there is no rest to compare with: energyc's relaxation diverges"
            raise UserError(message, code="E0967", help="try a smaller relax.step; or the energy has no minimum")
        found = operating_point(text)
        nodes = self.circuit().nodes
        differences = [abs(found[node.lower()] - float(states[name][place])) for (name, place), node in nodes.items()]
        return Judgement(len(nodes), max(differences), residual)


@dataclass(frozen=True)
class Judgement:
    """How ngspice and energyc agree: the number of nodes, the largest difference in volts, energyc's residual."""

    nodes: int
    difference: float
    residual: float

    @property
    def passed(self) -> bool:
        """Whether they agree."""
        return self.difference <= AGREEMENT

    def __str__(self) -> str:
        return (
            f"ngspice and energyc differ by {self.difference:.1e} V at most over {self.nodes} nodes; "
            f"energyc's residual is {self.residual:.1e}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        numbers = {"nodes": self.nodes, "difference": self.difference, "residual": self.residual}
        return {**numbers, "limit": AGREEMENT, "passed": self.passed}


def problem(
    spec_or_run: str | Path,
    choices: Choices = Choices(),
    *,
    sample: Sample = Sample(),
    clamps: Mapping[str, Any] | None = None,
    data: Data = NO_DATA,
    seed: int = 0,
    notify: Callable[[str], None] = lambda text: None,
) -> Problem:
    """Return a spec at its first weights, or a run at those of its best checkpoint, with one sample of its data.

    ``clamps`` are the sample's, ``[*shape]`` each by name, in place of the data's. Raises SpecError, UserError.
    """
    saved = load_run(spec_or_run) if is_run(spec_or_run) else None
    source = read_spec(spec_or_run) if saved is None else saved.source
    given = data.read(source)
    network = resolve(source, choices, given.schemas()) if saved is None else saved.resolved(choices, given)
    net = instantiate(emit(network, [], choices), "cpu", torch.float64, seed).eval()
    label = f"{Path(source.name).name} at its first weights, seed {seed}"
    division = WHOLE
    if saved is not None:
        step = saved.load_into(net, "best", notify).step
        label = f"the run {saved.folder.path.name} after {step} updates"
        division, seed = saved.division, saved.options.seed
    if clamps is not None or not network.clamps:
        return Problem(network, net, _checked(network, clamps or {}), label)
    data_of = given if saved is None else saved.data(given)
    feed = feed_of(network, data_of, seed, split=sample.split, division=division)
    if not 0 <= sample.number < len(feed):
        message = f"there is no sample {sample.number}: the {sample.split} split has {len(feed)}"
        raise UserError(message, code="E0964", help=spoken(f"give {{}} to {len(feed) - 1}", Option("sample", 0)))
    batch = feed.batch(np.array([sample.number]), seed=seed)
    values = {name: value[0].numpy() for name, value in batch.clamps.items()}
    return Problem(network, net, values, f"{label}, sample {sample.number} of the {sample.split} split")


def _checked(network: Network, clamps: Mapping[str, Any]) -> Arrays:
    """Return clamps as arrays. Raises UserError E0964 for one that is missing, unknown or of another shape."""
    arrays = {name: np.asarray(value) for name, value in clamps.items()}
    expected = {name: tuple(network.extents[dim] for dim in clamp.node.dims) for name, clamp in network.clamps.items()}
    wrong = sorted(arrays.keys() ^ expected.keys()) or [n for n, a in arrays.items() if a.shape != expected[n]]
    if wrong:
        shapes = ", ".join(f"{name} {list(shape)}" for name, shape in expected.items())
        raise UserError(f"the clamps of one sample are {shapes}", code="E0964", help=f"look at {', '.join(wrong)}")
    return arrays

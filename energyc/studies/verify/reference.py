"""Results of a network that others can be held against: reading them, and holding the compiler to them.

A reference is one safetensors file of float64 and int64 tensors; reference/README.md has its rule and its names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from energyc.language.diagnostics import UserError, arithmetic
from energyc.pipeline import Choices, emit, instantiate, resolve
from energyc.resources import folder
from energyc.running.runs.locate import read_spec
from energyc.running.training.network import learnable

Array = NDArray[Any]
#: ``rest``: the network settles; ``steps``: it makes a number of steps from its start; ``layers``: its layers do.
Kind = Literal["rest", "steps", "layers"]
#: The word for the references that ship with energyc.
SHIPPED = "shipped"
#: How far results may be apart, relative to the largest entry: of formulas, and of what a relaxation ends at.
FORMULA, RELAXED = 1e-9, 1e-7
#: The residual that a relaxation is to reach, and the steps that it may take.
AT_REST, MOST_STEPS = 1e-13, 20_000


@dataclass(frozen=True)
class Reference:
    """One file: the ``tensors`` by name, and how they came about.

    ``sizes`` and ``settings`` are what was set beside the spec, ``dims`` the sizes of all dims. ``residual`` is the
    largest of the states at rest, and None where nothing rests. Without a cost (``has_cost``) half the square of the
    readouts is one.
    """

    network: str
    kind: Kind
    rule: str
    sizes: Mapping[str, int]
    settings: Mapping[str, Any]
    dims: Mapping[str, int]
    has_cost: bool
    residual: float | None
    tensors: Mapping[str, Array]

    def group(self, prefix: str) -> dict[str, Array]:
        """The tensors below a prefix: ``group("param")`` has the params by name."""
        start = f"{prefix}."
        return {name.removeprefix(start): value for name, value in self.tensors.items() if name.startswith(start)}


@dataclass(frozen=True)
class Held:
    """A quantity beside its reference: the largest difference relative to the reference's largest entry."""

    quantity: str
    error: float
    limit: float

    @property
    def passed(self) -> bool:
        """Whether the difference is within the limit."""
        return self.error <= self.limit


@dataclass(frozen=True)
class HeldAgainst:
    """A network beside its reference."""

    network: str
    path: str
    rows: tuple[Held, ...]

    @property
    def passed(self) -> bool:
        """Whether every quantity agrees."""
        return all(row.passed for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        rows = {row.quantity: {"error": row.error, "limit": row.limit, "passed": row.passed} for row in self.rows}
        return {"network": self.network, "reference": self.path, "quantities": rows, "passed": self.passed}


def reference_path(place: str, network: str) -> Path:
    """The file of a network in a folder of references, or in the one that ships. Raises UserError E0968."""
    root = folder("reference") if place == SHIPPED else Path(place)
    path = root / f"{network}.safetensors" if root.is_dir() else root
    if not path.is_file():
        message = f"there is no reference {path}"
        raise UserError(message, code="E0968", help=f"give a folder with {network}.safetensors, or the word {SHIPPED}")
    return path


def read_reference(path: Path) -> Reference:
    """Read a reference. Raises UserError E0968 for a file that is none."""
    try:
        with safe_open(path, framework="numpy") as opened:
            about = json.loads((opened.metadata() or {})["about"])
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (it is not a mapping)
        head = {
            key: about[key] for key in ("network", "kind", "rule", "sizes", "settings", "dims", "has_cost", "residual")
        }
        return Reference(**head, tensors=tensors)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path} is not a reference: {reason}", code="E0968", help="see reference/README.md") from None


def hold(spec: str | Path, place: str, choices: Choices = Choices()) -> HeldAgainst:
    """Compare what the compiler makes of a spec with its reference. Raises SpecError, UserError E0968."""
    source = read_spec(spec)
    name = resolve(source, choices).name
    path = reference_path(place, name)
    reference = read_reference(path)
    network = resolve(source, Choices(choices.preset, {**reference.sizes, **reference.settings, **choices.overrides}))
    net = instantiate(emit(network, [reference.rule]), "cpu", torch.float64, 0).eval()
    _take_params(net, reference, path)
    misfit = f"{path} does not fit {name}"
    remedy = "a reference is of one spec; make it anew where that has changed"
    try:
        with arithmetic("the comparison"):
            found = results(net, reference)
    except ValueError as error:  # the network names what is missing or has another shape
        raise UserError(f"{misfit}: {error}", code="E0968", help=remedy) from None
    expected = {name: value for name, value in reference.tensors.items() if not name.startswith(GIVEN)}
    missing = sorted(expected.keys() ^ found.keys())
    if missing:
        raise UserError(f"{misfit}: {', '.join(missing)}", code="E0968", help=remedy)
    rows = [Held(name, apart(name, found[name], reference.tensors), limit_of(name)) for name in expected]
    return HeldAgainst(network.name, str(path), tuple(rows))


#: What a reference gives, beside its results.
GIVEN = ("param.", "clamp.", "target.", "point.state.")


def limit_of(name: str) -> float:
    """How far a result may be from its reference, relative to the largest entry."""
    return FORMULA if name.startswith("point.") else RELAXED


def _take_params(net: Any, reference: Reference, path: Path) -> None:
    given = reference.group("param")
    own = {name: tuple(param.shape) for name, param in learnable(net).items()}
    wrong = [name for name, value in given.items() if own.get(name) != value.shape]
    if wrong or own.keys() != given.keys():
        message = f"{path} has other params than the spec: {', '.join(wrong or sorted(own.keys() ^ given.keys()))}"
        raise UserError(message, code="E0968", help="a reference is of one spec; make it anew where that has changed")
    with torch.no_grad():
        for name, value in given.items():
            net.params[name].copy_(torch.from_numpy(value))


def results(net: Any, reference: Reference) -> dict[str, Array]:
    """The answer of a network, which holds the reference's params in float64, to its clamps, targets and point."""
    clamps = _tensors(reference.group("clamp"))
    found: dict[str, torch.Tensor] = {}
    if reference.kind != "layers":
        point = _tensors(reference.group("point.state"))
        found |= _formulas("point", net, point, clamps)
        found |= {f"point.force.{name}": value for name, value in net.force(point, clamps).items()}
    for part in net.layers.values() if reference.kind == "layers" else (net,):
        part.relax_tolerance = None  # exactly the steps that the reference makes
    end = "rest" if reference.kind == "rest" else "end"
    states = at_rest(net, clamps) if end == "rest" else dict(net.relax(clamps).states)
    if reference.kind != "layers":
        found |= {f"{end}.state.{name}": value for name, value in states.items()}
        found |= _formulas(end, net, states, clamps)
    found |= {f"{end}.readout.{name}": value for name, value in net.readout(states, clamps).items()}
    found |= _learned(end, net, reference, states, clamps)
    return {name: value.detach().numpy() for name, value in found.items()}


def _learned(
    end: str, net: Any, reference: Reference, states: Mapping[str, Any], clamps: Mapping[str, Any]
) -> dict[str, torch.Tensor]:
    """The cost of each sample and the gradient of its mean; without a cost, of half the square of all readouts."""
    if not reference.has_cost:
        answers = net(clamps, rule=reference.rule)
        cost = sum(value.square().flatten(1).sum(1) / 2 for value in answers.values())
        params = learnable(net)
        slopes = torch.autograd.grad(cost.mean(), list(params.values()), allow_unused=True, materialize_grads=True)
        return {f"{end}.cost": cost, **{f"gradient.{name}": value for name, value in zip(params, slopes, strict=True)}}
    targets = _tensors(reference.group("target"))
    start = states if end == "rest" else None
    gradients = net.gradients(clamps, targets, rule=reference.rule, states=start).params
    return {
        f"{end}.cost": net.cost(states, clamps, targets),
        **{f"gradient.{name}": value for name, value in gradients.items()},
    }


def _tensors(arrays: Mapping[str, Array]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.array(value)) for name, value in arrays.items()}


def _formulas(prefix: str, net: Any, states: Mapping[str, Any], clamps: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Energy and terms."""
    terms = {f"{prefix}.term.{name}": value for name, value in net.terms(states, clamps).items()}
    return {f"{prefix}.energy": net.energy(states, clamps), **terms}


def at_rest(net: Any, clamps: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The states where the network rests, from its start. Raises UserError E0515 where it does not."""
    phase, steps = net.relax(clamps, steps=500, tolerance=AT_REST), 500
    while float(phase.residual.max()) > AT_REST and steps < MOST_STEPS:
        before = float(phase.residual.max())
        phase = net.relax(clamps, steps=500, tolerance=AT_REST, states=phase.states)
        steps += 500
        if not float(phase.residual.max()) < before and before < 1e-10:
            break
    if not float(phase.residual.max()) < 1e-10:
        message = f"the network does not rest: its residual is {float(phase.residual.max()):.1e} after {steps} steps"
        raise UserError(message, code="E0515", help="a reference of the kind rest is of a network that settles")
    return dict(phase.states)


def apart(name: str, found: Array, expected: Mapping[str, Array]) -> float:
    """The largest difference of a result from its expected value, relative to the largest entry of that.

    An energy that rest takes to 0 is measured by what it is at the point. Infinite for another shape or for what is not
    finite.
    """
    value = expected[name]
    if found.shape != value.shape or not np.all(np.isfinite(found)):
        return float("inf")
    at_point = expected.get(name.replace("rest.", "point.", 1).replace("end.", "point.", 1), value)
    size = max(float(np.max(np.abs(array), initial=0.0)) for array in (value, at_point))
    difference = float(np.max(np.abs(found - value), initial=0.0))
    return difference / size if size > 0 else difference

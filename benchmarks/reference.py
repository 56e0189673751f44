"""Make the reference set: results of each shipped spec at a small size, each by two computations that share no code.

    python -m benchmarks.reference [NAME...] [--out FOLDER]

One is the module that energyc generates, in torch. The other is this file: the NumPy interpreter of the graph, steps
and projections written out, a dense linear solve for the gradient at rest, and differences of the cost along a line in
every param. A result enters only if both agree; reference/README.md says how closely.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file

import energyc
from energyc.derivation.derive import Derivation, Proximal, derive
from energyc.language.network import ConstraintSet, Network
from energyc.mathematics.ir import ONE, Node
from energyc.mathematics.ir.interpreter import evaluate
from energyc.pipeline import Choices, read, resolve
from energyc.running.training.feeds import Batch
from energyc.studies.verify import random_probe
from energyc.studies.verify.layers import by_autograd
from energyc.studies.verify.reference import Kind, Reference, apart, results

Array = NDArray[Any]
Arrays = dict[str, Array]
ROOT = Path(__file__).resolve().parents[1]
#: Samples, and the seed of everything that is drawn.
BATCH, SEED = 2, 0
#: The largest relative difference of the two computations: of formulas, of gradients by a solve, and by differences.
EXACT, SOLVED, DIFFERENCES = 1e-12, 1e-9, 1e-6
#: The largest residual of states at rest, by the interpreter.
RESIDUAL = 1e-11


@dataclass(frozen=True)
class Case:
    """A spec at a small size; ``spread`` is the deviation of what is added to its first params."""

    kind: Kind
    sizes: dict[str, int]
    settings: dict[str, Any] = field(default_factory=dict)
    spread: float = 0.05

    @property
    def rule(self) -> str:
        """The rule whose gradient is exact."""
        return "implicit" if self.kind == "rest" else "bptt"


LANGUAGE = {"T": 5, "D": 8, "H": 2}
CASES: dict[str, Case] = {
    "cem": Case("layers", {"J": 5, "D": 4, "K": 2, "R": 3, "M": 6, "Ra": 2, "Rm": 2, "L": 2}),
    "cem_literal": Case("steps", {"J": 4, "D": 6, "K": 2, "R": 3}),
    "cem_mlp": Case("steps", {"I": 3, "D": 5, "M": 7}),
    "cet": Case("rest", {"S": 8, "P": 4, "stride": 2, "D": 6, "H": 2, "A": 3, "M": 5}, {"relax.step": 0.3}),
    "cet_lm": Case("rest", LANGUAGE, {"relax.step": 0.3}),
    "deep_hopfield": Case("rest", {"I": 12, "J1": 9, "J2": 7, "K": 4}),
    "deq": Case("rest", {"I": 6, "D": 8, "K": 4}),
    "et_anomaly": Case("steps", {"N": 7, "E": 14, "F": 3, "D": 6, "H": 2, "Y": 3, "K": 5, "U": 4}),
    "et_graph": Case("layers", {"M": 4, "F": 3, "D": 4, "H": 2, "Y": 3, "K": 5, "E": 2, "L": 2, "T": 3, "Z": 2}),
    "et_image": Case("steps", {"C": 1, "S": 6, "P": 2, "D": 8, "H": 2, "Y": 4, "K": 5}),
    "hopfield": Case("rest", {"I": 12, "J": 9, "K": 4}),
    "hopfield_conv": Case("rest", {"C": 2, "S": 16, "C1": 3, "C2": 4, "K": 5}),
    "modern_hopfield": Case("rest", {"D": 7, "M": 9}),
    "monotone": Case("rest", {"I": 5, "D": 6, "K": 4}),
    "predictive_coding": Case("rest", {"I": 12, "J": 8, "L": 6, "K": 4}),
    "resistive": Case("rest", {"I": 10, "J": 6, "K": 4}, {"relax.step.v": 0.5, "relax.step.w": 0.5}, spread=0.01),
    "sparse_coding": Case("rest", {"S": 4, "N": 20}, {"relax.step": 0.2}),
    "tel": Case("steps", {"I": 5, "C": 6, "K": 5}),
    "tel_digits": Case("steps", {"C": 6, "K": 5}),
    "thick": Case("rest", LANGUAGE, {"relax.step": 0.2}),
    "thick_tied": Case("rest", LANGUAGE, {"relax.step": 0.2}),
    "thin": Case("rest", LANGUAGE, {"relax.step": 0.2}),
}


#: The distance between costs whose difference is taken: with longer ones, kinks come in between.
STRIDE = 2e-5


class Disagreement(Exception):
    """Two computations of one quantity differ."""


def make(name: str) -> tuple[Reference, dict[str, float]]:
    """Return the reference of a spec, and by how much its computations differ. Raises Disagreement."""
    case = CASES[name]
    source = read(ROOT / "specs" / f"{name}.energy")
    network = resolve(source, Choices(None, {**case.sizes, **case.settings}))
    net = energyc.load(
        source.name, dims=case.sizes, settings=case.settings, dtype=torch.float64, seed=SEED, rules=[case.rule]
    ).eval()
    given = drawn(network, net, case)
    reference = Reference(
        name,
        case.kind,
        case.rule,
        case.sizes,
        case.settings,
        network.extents,
        network.cost is not None,
        residual=None,
        tensors=given,
    )
    found = results(net, reference)
    judge = Judge(network, given)
    checks: dict[str, float] = {}
    residual = None
    if case.kind != "layers":
        checks |= _formulas(judge, found, "point")
        end = "rest" if case.kind == "rest" else "end"
        states = {n.removeprefix(f"{end}.state."): v for n, v in found.items() if n.startswith(f"{end}.state.")}
        checks |= _formulas(judge, found, end, states)
        if case.kind == "rest":
            residual = judge.residual(states, net.relax_step)
            _agree("residual", residual, RESIDUAL)
            if all(state.constraint is None or state.constraint.kind == "box" for state in network.states.values()):
                solved = judge.gradient_at_rest(states)
                checks["gradient, dense solve"] = _gradients_agree(found, solved)
        else:
            stepped = judge.stepped(net.relax_step, net.relax_steps)
            checks["states after steps"] = max(_apart(states[n], value) for n, value in stepped.items())
            _agree("states after steps", checks["states after steps"], EXACT * 100)
    else:
        plain = by_autograd(network, net, Batch(_torch(reference, "clamp"), _torch(reference, "target")))
        checks["gradient, autograd"] = _gradients_agree(found, {name: value.numpy() for name, value in plain.items()})
    checks["gradient, differences"] = _differences_agree(net, reference, found)
    tensors = {**given, **found}
    return replace(reference, residual=residual, tensors=tensors), checks


def _torch(reference: Reference, group: str) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(value) for name, value in reference.group(group).items()}


def drawn(network: Network, net: Any, case: Case) -> Arrays:
    """Params, clamps, targets and a point, from the seed. The network takes the params."""
    random = np.random.default_rng(SEED)
    with torch.no_grad():
        for name in network.params:
            param = net.params[name]
            param.add_(torch.from_numpy(np.asarray(random.normal(scale=case.spread, size=tuple(param.shape)))))
        net.project_params()
    probe = random_probe(net, batch=BATCH, seed=SEED)
    extents = network.extents
    points = {} if case.kind == "layers" else network.states
    return {
        **{f"param.{name}": net.params[name].detach().numpy().copy() for name in network.params},
        **{f"clamp.{name}": value.numpy() for name, value in probe.clamps.items()},
        **{f"target.{name}": value.numpy() for name, value in probe.targets.items()},
        **{
            f"point.state.{name}": random.uniform(-0.1, 1.1, (BATCH, *(extents[dim] for dim in state.node.dims)))
            for name, state in points.items()
        },
    }


@dataclass
class Judge:
    """The second computation: the interpreter, and what follows from its numbers."""

    network: Network
    given: Mapping[str, Array]

    def __post_init__(self) -> None:
        self.derivation: Derivation = derive(self.network)
        params = {("param", n.removeprefix("param.")): v for n, v in self.given.items() if n.startswith("param.")}
        rest = {tuple(n.split(".", 1)): v for n, v in self.given.items() if n.split(".")[0] in ("clamp", "target")}
        self.inputs: dict[Any, Array] = {**params, **rest}
        extents = self.network.extents
        for name, noise in self.network.noises.items():
            self.inputs["noise", name] = np.zeros((BATCH, *(extents[dim] for dim in noise.node.dims)))
        if self.network.training is not None:
            self.inputs["flag", self.network.training.name] = np.asarray(False)
        self.set_step(0)

    def set_step(self, number: int) -> None:
        """Say which step it is, to a network that numbers them."""
        if self.network.step is not None:
            self.inputs["step", self.network.step.name] = np.asarray(number)

    def values(self, nodes: Mapping[str, Node], states: Arrays, more: Mapping[Any, Array] | None = None) -> Arrays:
        """Evaluate nodes at states ``[batch, ...]``, each with a batch axis."""
        inputs = {**self.inputs, **{("state", name): value for name, value in states.items()}, **(more or {})}
        arrays = evaluate(list(nodes.values()), inputs, sizes=self.network.extents, values=self.network.values)
        batch = len(next(iter(states.values())))
        return {
            name: array if node.batched else np.broadcast_to(array, (batch, *array.shape))
            for (name, node), array in zip(nodes.items(), arrays, strict=True)
        }

    def formulas(self, states: Arrays) -> Arrays:
        """Energy, terms and forces."""
        terms = {f"term.{name}": term.node for name, term in self.network.energies.items()}
        energy = self.network.graph.add([(ONE, node) for node in terms.values()], ())
        return self.values({"energy": energy, **terms}, states)

    def force(self, states: Arrays) -> Arrays:
        """The force on each state, with that of all kinks."""
        return self.values(self.derivation.force, states)

    def advanced(self, states: Arrays, sizes: Sequence[float]) -> Arrays:
        """The states after a step."""
        force, weights = self.values(self.derivation.smooth, states), self._weights(states)
        return {
            name: proximal(states[name] + h * force[name], h, self.network.states[name].constraint, kinks, weights)
            for (name, kinks), h in zip(self._kinks().items(), sizes, strict=True)
        }

    def _kinks(self) -> dict[str, Proximal | None]:
        return {name: self.derivation.proximal.get(name) for name in self.network.states}

    def _weights(self, states: Arrays) -> dict[Node, Array]:
        found = self.values(self.derivation.weights, states) if self.derivation.weights else {}
        return {self.derivation.weights[name]: value for name, value in found.items()}

    # ------------------------------------------------------------ steps

    def stepped(self, sizes: Sequence[float], steps: int) -> Arrays:
        """The states after steps from the start."""
        states = {name: np.zeros((BATCH, *self._shape(name))) for name in self.network.states}
        states = self._projected(self.values(self.derivation.start, states))
        for number in range(steps):
            self.set_step(number)
            states = self.advanced(states, sizes)
        self.set_step(self._last_step)
        return states

    @property
    def _last_step(self) -> int:
        step = self.network.step
        return self.network.extents[str(step.over)] - 1 if step is not None else 0

    def _shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.network.extents[dim] for dim in self.network.states[name].node.dims)

    def _projected(self, states: Arrays) -> Arrays:
        return {name: nearest(value, self.network.states[name].constraint) for name, value in states.items()}

    def residual(self, states: Arrays, sizes: Sequence[float]) -> float:
        """The largest change of an entry by one step, over the step's size."""
        moved = self.advanced(states, sizes)
        return max(float(np.abs(moved[n] - states[n]).max()) / h for n, h in zip(states, sizes, strict=True))

    # ------------------------------------------------------------ the gradient at rest

    def gradient_at_rest(self, states: Arrays) -> Arrays:
        """The gradient of the mean cost: dC/dtheta - lambda . dF/dtheta with J^T lambda = dC/dz, over the free entries.

        An entry at an edge of its box or on a kink does not move. Raises LinAlgError for a singular Jacobian.
        """
        d, names = self.derivation, list(self.network.states)
        size = sum(int(np.prod(self._shape(name), dtype=int)) for name in names)
        by_cost = self.values(d.cost_force, states)
        adjoints: dict[str, list[Array]] = {name: [] for name in names}
        for k in range(BATCH):
            one = {name: value[k : k + 1] for name, value in states.items()}
            free = np.concatenate([self._free(name, one[name]).ravel() for name in names])
            slope = np.concatenate(
                [by_cost[n][k].ravel() if n in by_cost else np.zeros(int(np.prod(self._shape(n)))) for n in names]
            )
            jacobian = self._jacobian(k, one, size)
            solved = np.zeros(size)
            solved[free] = np.linalg.solve(jacobian[np.ix_(free, free)].T, slope[free])
            at = 0
            for name in names:
                count = int(np.prod(self._shape(name), dtype=int))
                adjoints[name].append(solved[at : at + count].reshape(self._shape(name)))
                at += count
        seeds = {("cotangent", name): np.stack(rows) for name, rows in adjoints.items()}
        through = self.values(d.vjp(d.force, d.params), states, seeds)
        direct = self.values(d.cost_gradient, states)
        zeros = {name: np.zeros((BATCH, *self.given[f"param.{name}"].shape)) for name in self.network.params}
        return {n: (direct.get(n, zero) - through.get(n, zero)).mean(0) for n, zero in zeros.items()}

    def _free(self, name: str, value: Array) -> Array:
        kinks, held = self.derivation.proximal.get(name), self.network.states[name].constraint
        on_kink = [value == corner.at for corner in kinks.corners] if kinks else []
        return self._inside(value, held) & ~np.any([np.zeros_like(value, dtype=bool), *on_kink], axis=0)

    def _inside(self, value: Array, held: ConstraintSet | None) -> Array:
        if held is None:
            return np.ones(value.shape, dtype=bool)
        return (value > -np.inf if held.low is None else value > held.low) & (
            value < np.inf if held.high is None else value < held.high
        )

    def _jacobian(self, sample: int, one: Arrays, size: int) -> Array:
        """dF/dz of one sample, from a direction for each entry."""
        batch = {name: np.repeat(value, size, axis=0) for name, value in one.items()}
        rows, at, along = np.eye(size), 0, {}
        for name in one:
            count = int(np.prod(self._shape(name), dtype=int))
            along["direction", name] = rows[:, at : at + count].reshape(size, *self._shape(name))
            at += count
        kept = dict(self.inputs)
        for key, value in kept.items():
            if key[0] in ("clamp", "target", "noise"):
                self.inputs[key] = np.repeat(value[sample : sample + 1], size, axis=0)
        pushed = self.values(self.derivation.jvp(self.derivation.force), batch, along)
        self.inputs = kept
        return np.concatenate([pushed[name].reshape(size, -1) for name in one], axis=1).T


def proximal(
    value: Array, step: float, held: ConstraintSet | None, kinks: Proximal | None, weights: Mapping[Node, Array]
) -> Array:
    """The proximal point of the kinks of a state and its set."""
    corners = kinks.corners if kinks else ()
    rises = [[0.0 if w is None else step * weights[w] for w in (c.below, c.above)] for c in corners]
    value = value + sum(below for below, _ in rises)
    for corner, (below, above) in zip(corners, rises, strict=True):
        value = np.where(value < corner.at, value, np.maximum(value - below - above, corner.at))
    value = nearest(value, held)
    if kinks is None or kinks.norm is None:
        return value
    length = np.sqrt((value**2).sum(tuple(axis + 1 for axis in kinks.norm.axes), keepdims=True))
    return value * np.maximum(length - step * weights[kinks.norm.weight], 0) / np.where(length > 0, length, 1)


def nearest(value: Array, held: ConstraintSet | None) -> Array:
    """The nearest point of a set."""
    if held is None:
        return value
    if held.kind in ("box", "nonnegative"):
        return np.clip(value, 0 if held.kind == "nonnegative" else held.low, held.high)
    axes = tuple(axis + 1 for axis in held.axes)
    if held.kind == "standardized":
        centred = value - value.mean(axes, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axes, keepdims=True))
    if held.kind == "sphere":
        return value / np.sqrt((value**2).sum(axes, keepdims=True))
    raise NotImplementedError(f"no projection on the set {held.kind}")


# ------------------------------------------------------------ agreement


def _apart(a: Array, b: Array) -> float:
    """The largest difference, relative to the largest entry of ``b``."""
    size = float(np.abs(b).max(initial=0.0))
    return float(np.abs(a - b).max(initial=0.0)) / (size or 1.0)


def _agree(what: str, error: float, limit: float) -> float:
    if not error <= limit:
        raise Disagreement(f"{what}: {error:.1e}, more than {limit:.0e}")
    return error


def _formulas(judge: Judge, found: Mapping[str, Array], prefix: str, states: Arrays | None = None) -> dict[str, float]:
    """Compare energy, terms and, at the point, forces."""
    at_point = {n.removeprefix("point.state."): v for n, v in judge.given.items() if n.startswith("point.state.")}
    judge.set_step(judge._last_step)
    expected = judge.formulas(states if states is not None else at_point)
    if states is None:
        expected |= {f"force.{name}": value for name, value in judge.force(at_point).items()}
    both = {**found, **{f"{prefix}.{name}": value for name, value in expected.items()}}
    errors = {name: apart(f"{prefix}.{name}", found[f"{prefix}.{name}"], both) for name in expected}
    worst = max(errors, key=lambda name: errors[name])
    return {f"formulas at the {prefix}": _agree(f"{prefix}.{worst}", errors[worst], EXACT)}


def _gradients_agree(found: Mapping[str, Array], solved: Arrays) -> float:
    return max(_agree(f"gradient.{n}", _apart(found[f"gradient.{n}"], value), SOLVED) for n, value in solved.items())


def _differences_agree(net: Any, reference: Reference, found: Mapping[str, Array]) -> float:
    """Compare the gradient of each param along a random line with differences of the cost, of fourth order."""
    random = np.random.default_rng(SEED + 1)
    worst = 0.0
    for name, before in reference.group("param").items():
        line = random.normal(size=before.shape)
        line /= np.linalg.norm(line)
        gradient = found[f"gradient.{name}"]
        cost = _costs(net, reference, name, before, line)
        h = STRIDE
        slope = (8 * (cost(h) - cost(-h)) - (cost(2 * h) - cost(-2 * h))) / (12 * h)
        size = max(float(np.linalg.norm(gradient)), 1e-3)
        worst = max(
            worst,
            _agree(f"gradient.{name} by differences", abs(float((gradient * line).sum()) - slope) / size, DIFFERENCES),
        )
    return worst


def _costs(net: Any, reference: Reference, name: str, before: Array, line: Array) -> Callable[[float], float]:
    """The mean cost as a function of the distance along a line in one param."""
    end = "rest" if reference.kind == "rest" else "end"

    def cost(distance: float) -> float:
        net.params[name].data.copy_(torch.from_numpy(np.asarray(before + distance * line)))
        value = float(results(net, reference)[f"{end}.cost"].mean())
        net.params[name].data.copy_(torch.from_numpy(before))
        return value

    return cost


def write(reference: Reference, checks: Mapping[str, float], folder: Path) -> Path:
    """Write a reference as safetensors."""
    about = {
        "network": reference.network,
        "kind": reference.kind,
        "rule": reference.rule,
        "sizes": dict(reference.sizes),
        "settings": dict(reference.settings),
        "dims": dict(reference.dims),
        "has_cost": reference.has_cost,
        "residual": reference.residual,
        "seed": SEED,
        "checks": dict(checks),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{reference.network}.safetensors"
    tensors = {name: np.array(value, order="C") for name, value in sorted(reference.tensors.items())}
    save_file(tensors, path, {"about": json.dumps(about, sort_keys=True)})
    return path


def main() -> None:
    """Make the references that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *CASES], help="a shipped spec; all by default")
    parser.add_argument("--out", type=Path, default=ROOT / "reference", help="the folder")
    arguments = parser.parse_args()
    for name in arguments.names or CASES:
        reference, checks = make(name)
        path = write(reference, checks, arguments.out)
        said = ", ".join(f"{what} {error:.0e}" for what, error in checks.items())
        residual = "" if reference.residual is None else f"; residual {reference.residual:.0e}"
        print(f"{name}: {path.stat().st_size / 1024:.0f} KB; {said}{residual}", flush=True)


if __name__ == "__main__":
    main()

"""Random specs that come to rest: what each exact rule makes of them, and where each solver leaves them.

Gradients are compared with those of autograd through all steps of an own evaluation; a place where a solver rests is
one that an own plain step does not leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import torch

import energyc
from energyc import pipeline
from energyc.language.diagnostics import SpecError
from tests.fuzz.differential import (
    Inputs,
    batches,
    by_autograd,
    difference,
    fill,
    in_host,
    quiet,
    slopes_of_host,
)
from tests.fuzz.drawing_specs import Maker, answered, random_spec, summed
from tests.fuzz.expressions import Access, Binary, Constant, Definition, Expression, Scope, Unary, Whole
from tests.fuzz.networks import Declared, Relaxing, Spec, State, Tensors

#: Rules that claim the gradient of the cost at rest, where ``check`` calls them exact.
RULES = "ep centered-ep vf aep tracking-aep adjoint holomorphic-ep holomorphic-aep dyadic-ep implicit bptt".split()
SOLVERS = ("blocks", "newton", "anderson", "anderson(memory = 2, damping = 0.5)")
PACES = ("auto", "certified")
STEPS = 90
#: A state that moves no more than this in the last third of all steps is at rest.
RESTING = 1e-9
#: Of a gradient by nudging, relative to its largest entry: the strength of a nudge is chosen for 1e-8 or better.
TOLERANCE = 2e-5
#: Of a plain step at the rest of a solver, which ends at a tolerance of 1e-9.
MOVED = 1e-6
WEAK = Constant("0.2", 0.2)


def random_resting(seed: int) -> Spec:
    """A spec of the seed, with terms so weak beside the leak of each state that most come to rest."""
    random = Random(seed)
    spec = _quadratic(random.randrange(2**31)) if random.random() < 0.4 else _weakened(random.randrange(2**31))
    spec.relaxing.step, spec.relaxing.steps = 0.5, STEPS
    nudge = f"nudge {{ beta = auto, steps = {STEPS} }}"
    if spec.layer:
        spec.relaxing.nudge = nudge
    spec.further = [*([] if spec.layer else [nudge]), "train { rule = bptt }"]
    return spec


def _weakened(seed: int) -> Spec:
    """Any spec, its forces and energies a fifth of what was drawn."""
    spec = random_spec(seed, resting=True)
    own = spec.relaxing
    for name, made in own.energies.items():
        if not name.startswith("leak_"):
            own.energies[name] = _weak(made)
    own.forces = {name: (state, _weak(made)) for name, (state, made) in own.forces.items()}
    own.lets = {name: replace(made, right=Unary("tanh({})", made.right)) for name, made in own.lets.items()}
    return spec


def _weak(made: Definition) -> Definition:
    return replace(made, right=Binary("({} * {})", WEAK, made.right))


def _whole(name: str, scope: Scope) -> Expression:
    return Access(name, tuple(Whole({index: 1}) for index, _ in scope))


def _product(*factors: Expression) -> Expression:
    found, *others = factors
    for other in others:
        found = Binary("({} * {})", found, other)
    return found


def _quadratic(seed: int) -> Spec:
    """States in boxes that act on one another in products: many of them move exactly in sweeps."""
    make = Maker(seed)
    spec = Spec(f"quad{seed % 100}", make.sizes, Relaxing())
    spec.clamps, own = [Declared("x0", make.dims(1, 1))], spec.relaxing
    own.states = [_boxed(make, f"z{k}") for k in range(make.random.randint(1, 4))]
    members: list[Declared] = [*spec.clamps, *own.states]
    for state in own.states:
        scope, strength = make.indices(state.dims), make.random.choice((("1/2", 0.5), ("0.7", 0.7), ("1", 1.0)))
        square = _product(_whole(state.name, scope), _whole(state.name, scope))
        own.energies[f"leak_{state.name}"] = Definition((), _product(Constant(*strength), summed(square, scope)))
    for k, state in enumerate(own.states):
        _coupled(make, spec, members[make.random.randint(0, k)], state)
    for _ in range(make.random.randint(0, 2)):
        _coupled(make, spec, *make.random.sample(members, 2), bent=make.maybe(0.3))
    make.reals = [*spec.clamps, *own.states]
    answered(make, spec)
    return spec


def _boxed(make: Maker, name: str) -> State:
    dims, kept = make.dims(1, 1), make.random.choice(("", "[-1, 1]", "nonnegative", "[-1, 1]"))
    indices = make.indices(dims)
    return State(name, dims, kept=kept, start=Definition(indices, Constant("0.3", 0.3)))


def _coupled(make: Maker, spec: Spec, first: Declared, second: Declared, bent: bool = False) -> None:
    """``-0.2 sum(a W b)``, of tanh(b) where it is bent."""
    number = len(spec.params)
    scopes = [make.indices(tensor.dims) for tensor in (first, second)]
    weight = Declared(f"w{number}", (*first.dims, *second.dims), law=make.random.choice((" ~ normal(0.5)", " = 0.2")))
    spec.params.append(weight)
    ends = [_whole(tensor.name, scope) for tensor, scope in zip((first, second), scopes, strict=True)]
    ends[1] = Unary("tanh({})", ends[1]) if bent else ends[1]
    scope = (*scopes[0], *scopes[1])
    body = summed(_product(ends[0], _whole(weight.name, scope), ends[1]), scope)
    spec.relaxing.energies[f"pair{number}"] = Definition((), _product(Constant("(-0.2)", -0.2), body))


# -------------------------------------------------------------------- what is compared


def drawn(spec: Spec, seed: int) -> Inputs:
    """Random values for as many samples as a dim of the spec is long."""
    return Inputs.drawn(spec, seed, batches(spec, seed)[0])


def disagreements(seed: int, target: str = "torch") -> dict[str, float]:
    """Gradients by exact rules that are not those at rest, and solvers that rest where nothing rests."""
    spec = random_resting(seed)
    given = drawn(spec, seed)
    expected = by_autograd(spec, given)
    if not _rests(spec, given, expected):
        return {}
    with quiet():
        return {**_by_rules(spec, given, expected, target), **({} if spec.layer else _by_solvers(spec, given, target))}


def _rests(spec: Spec, given: Inputs, expected: Tensors) -> bool:
    """Whether all values are finite and the states no longer move."""
    if not all(bool(value.isfinite().all()) for value in expected.values()):
        return False
    spec.relaxing.steps = 2 * STEPS // 3
    earlier, _ = spec.at_rest(given.every, given.samples)
    spec.relaxing.steps = STEPS
    return all(difference(value.detach(), expected[f"state {name}"]) < RESTING for name, value in earlier.items())


def _by_rules(spec: Spec, given: Inputs, expected: Tensors, target: str) -> dict[str, float]:
    """The relative errors of gradients by the rules that ``check`` calls exact, also inside of a host."""
    text, found = spec.text(), {}
    verdicts = pipeline.classify(pipeline.resolve(pipeline.read(text))).rules
    exact = [rule for rule in RULES if verdicts[rule].verdict == "exact"]
    net = energyc.load(text, dtype=torch.float64, target=target, rules=exact)
    fill(net, given.params)
    gradients = {name.removeprefix("gradient "): g for name, g in expected.items() if name.startswith("gradient ")}
    by_host = slopes_of_host(spec, given)
    for rule in exact:
        computed = net.gradients(given.clamps, given.targets, rule=rule).params
        found |= _errors(f"{target} {rule}", computed, gradients)
        if spec.layer or rule in ("implicit", "bptt"):
            found |= _errors(f"{target} {rule} in a host", in_host(net, spec, given, rule), by_host)
    return found


def _errors(way: str, computed: Tensors, expected: Tensors) -> dict[str, float]:
    """The errors that are too large, relative to the largest entry of all that was expected."""
    scale = max([1e-3, *(float(value.abs().max()) for value in expected.values() if value.numel())])
    errors = {name: difference(computed[name] / scale, value / scale) for name, value in expected.items()}
    return {f"{way} {name}": error for name, error in errors.items() if not error <= TOLERANCE}


def _by_solvers(spec: Spec, given: Inputs, target: str) -> dict[str, float]:
    """How far an own plain step moves from where each solver rests."""
    found = {}
    ways = [f", solver = {solver}" for solver in SOLVERS]
    for way in ways:
        moved = _moved(spec, given, target, f"{way}, tolerance = {RESTING}, max_steps = 3000")
        if moved is not None and not moved <= MOVED:
            found[f"{target}{way}"] = moved
    for pace in PACES:
        moved = _moved(spec, given, target, f", tolerance = {RESTING}, max_steps = 3000", pace)
        if moved is not None and not moved <= MOVED:
            found[f"{target}, step = {pace}"] = moved
    return found


def _moved(spec: Spec, given: Inputs, target: str, settings: str, pace: str = "") -> float | None:
    """The longest own plain step from where a module rests; None if the module is refused or does not settle."""
    own = replace(spec.relaxing, settings=settings, step=pace or spec.relaxing.step)
    try:
        net = energyc.load(replace(spec, relaxing=own).text(), dtype=torch.float64, target=target, rules=["implicit"])
    except SpecError:
        return None
    fill(net, given.params)
    relaxed: Any = net.relax(given.clamps)
    if not float(relaxed.residual.max()) <= RESTING:
        return None
    inputs = spec.tied(given.every)
    states = {name: value.contiguous() for name, value in relaxed.states.items()}
    after = replace(spec.relaxing, steps=1).relaxed(states, inputs, spec.lets, True)
    return max(difference(after[name].detach(), value) for name, value in states.items())


def settled_share(seeds: Sequence[int]) -> float:
    """The share of specs that come to rest by plain steps, of which alone anything is compared."""
    rests = 0
    for seed in seeds:
        spec = random_resting(seed)
        given = drawn(spec, seed)
        rests += _rests(spec, given, by_autograd(spec, given))
    return rests / len(seeds)

"""Random specs that come to rest: what each exact rule makes of them, and where each solver leaves them.

Gradients are compared with those of autograd through all steps of an own evaluation; a place where a solver rests is
one that an own plain step does not leave.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import torch
from torch import Tensor

import energyc
from energyc import pipeline
from energyc.language.diagnostics import SpecError
from tests.fuzz.cases import Find, quiet
from tests.fuzz.differential import (
    Inputs,
    batches,
    by_autograd,
    difference,
    fill,
    in_host,
    slopes_of_host,
)
from tests.fuzz.drawing_specs import Maker, answered, random_spec, summed
from tests.fuzz.expressions import Access, Binary, Constant, Definition, Environment, Expression, Scope, Unary, Whole
from tests.fuzz.networks import Declared, Relaxing, Spec, State, Tensors

#: Rules that claim the gradient of the cost at rest, where ``check`` calls them exact.
RULES = "ep centered-ep vf aep tracking-aep adjoint holomorphic-ep holomorphic-aep dyadic-ep implicit bptt".split()
#: Rules whose nudged phases are made too short.
SHORTENED = ("centered-ep", "adjoint", "ep")
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
SETS = ("", "[-1, 1]", "nonnegative", "[-1, 1]")
SETS_WITH_RIMS = ("[0, 1]", "nonnegative", "simplex", "[0.01, 0.99]")
#: Functions with infinite slopes or curvature at 0; on a simplex those whose curvature alone is infinite there.
FORMS = ("({})^(3/2)", "({})^(5/4)", "sqrt({})", "(({}) * log({}))", "(-log({}))")
RIMS = {
    "[0, 1]": (0.0, 1.0),
    "nonnegative": (0.0, float("inf")),
    "simplex": (0.0, 2.0),
    "[0.01, 0.99]": (0.01, 0.99),
}
#: How far an entry rests from a rim, or the force pushes it beyond one, where gradients are compared.
MARGIN = 0.02
WEIGHTS = (("0.2", 0.2), ("0.05", 0.05), ("(-0.05)", -0.05))
#: A gradient by nudged phases that is off by more is to be warned of; with the steps that are named it is off by less.
OFF, NAMED = 0.2, 0.03


class _Absorbed(torch.autograd.Function):
    """The product of two numbers, 0 where one is 0 whatever the other is, and so in its derivatives."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return torch.where((a == 0) | (b == 0), 0.0, a * b)

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor, Tensor]:
        (g,), (a, b) = given, ctx.saved_tensors
        return _Absorbed.apply(g, b), _Absorbed.apply(g, a)


class _Power(torch.autograd.Function):
    """A power whose slope times 0 is 0."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, exponent: float) -> Tensor:
        ctx.save_for_backward(u)
        ctx.exponent = exponent
        return u**exponent

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor, None]:
        (g,), (u,), p = given, ctx.saved_tensors, ctx.exponent
        return _Absorbed.apply(g, p * _Power.apply(u, p - 1)), None


class _Log(torch.autograd.Function):
    """A logarithm whose slope times 0 is 0."""

    @staticmethod
    def forward(ctx: Any, u: Tensor) -> Tensor:
        ctx.save_for_backward(u)
        return u.log()

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> Tensor:
        (g,), (u,) = given, ctx.saved_tensors
        return _Absorbed.apply(g, _Power.apply(u, -1.0))


RIM_VALUES: dict[str, Callable[[Tensor], Tensor]] = {
    "({})^(3/2)": lambda u: _Power.apply(u, 1.5),
    "({})^(5/4)": lambda u: _Power.apply(u, 1.25),
    "sqrt({})": lambda u: _Power.apply(u, 0.5),
    "(({}) * log({}))": lambda u: u * _Log.apply(u),
    "(-log({}))": lambda u: -_Log.apply(u),
}


@dataclass(frozen=True)
class AtRim(Expression):
    """A function of ``FORMS`` of an element."""

    form: str
    part: Expression

    def text(self) -> str:
        return self.form.replace("{}", self.part.text())

    def value(self, at: Environment, scope: Scope) -> Tensor:
        return RIM_VALUES[self.form](self.part.value(at, scope))


def random_resting(seed: int) -> Spec:
    """A spec of the seed, with terms so weak beside the leak of each state that most come to rest."""
    random = Random(seed)
    kind = random.choice((_quadratic, _on_rims, _weakened))
    spec = kind(random.randrange(2**31))
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


def _quadratic(seed: int, sets: Sequence[str] = SETS) -> Spec:
    """States in ``sets`` that act on one another in products: in boxes many of them move exactly in sweeps."""
    make = Maker(seed)
    spec = Spec(f"quad{seed % 100}", make.sizes, Relaxing())
    spec.clamps, own = [Declared("x0", make.dims(1, 1))], spec.relaxing
    own.states = [_boxed(make, f"z{k}", sets) for k in range(make.random.randint(1, 4))]
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


def _on_rims(seed: int) -> Spec:
    """States that rest on the rims of their sets, where the curvature of what is added is infinite or huge."""
    spec = _quadratic(seed, SETS_WITH_RIMS)
    random = Random(seed)
    for state in spec.relaxing.states:
        scope = tuple((f"{dim.lower()}{k + 90}", spec.sizes[dim]) for k, dim in enumerate(state.dims))
        forms = FORMS[:2] if state.kept == "simplex" else FORMS if state.kept == "[0.01, 0.99]" else FORMS[:4]
        element: Expression = _whole(state.name, scope)
        if state.kept.startswith("[") and random.random() < 0.4:
            element = Binary("({} - {})", Constant("1", 1.0), element)
        body = summed(_product(Constant(*random.choice(WEIGHTS)), AtRim(random.choice(forms), element)), scope)
        spec.relaxing.energies[f"rim_{state.name}"] = Definition((), body)
    return spec


def _boxed(make: Maker, name: str, sets: Sequence[str]) -> State:
    dims, kept = make.dims(1, 1), make.random.choice(sets)
    indices, along = make.indices(dims), dims[0] if kept == "simplex" else ""
    return State(name, dims, kept=kept, along=along, start=Definition(indices, Constant("0.3", 0.3)))


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
    if not _rests(spec, given, expected) or not _strictly(spec, given, expected):
        return {}
    with quiet():
        return {**_by_rules(spec, given, expected, target), **({} if spec.layer else _by_solvers(spec, given, target))}


def case(seed: int, targets: Sequence[str] = ("torch",)) -> Find | None:
    """A spec that comes to rest, by exact rules and by solvers; the interpreter has neither."""
    for target in (name for name in targets if name != "interpreter"):
        if wrong := disagreements(seed, target):
            return Find(f"{', '.join(wrong)} differ", str(wrong))
    return None


def _rests(spec: Spec, given: Inputs, expected: Tensors) -> bool:
    """Whether all values are finite and the states no longer move."""
    if not all(bool(value.isfinite().all()) for value in expected.values()):
        return False
    spec.relaxing.steps = 2 * STEPS // 3
    earlier, _ = spec.at_rest(given.every, given.samples)
    spec.relaxing.steps = STEPS
    return all(difference(value.detach(), expected[f"state {name}"]) < RESTING for name, value in earlier.items())


def _strictly(spec: Spec, given: Inputs, expected: Tensors) -> bool:
    """Whether entries on rims are held there, and others rest off them: a nudge, however weak, keeps it so."""
    own = spec.relaxing
    if not any(name.startswith("rim_") for name in own.energies):
        return True
    states = {state.name: expected[f"state {state.name}"] for state in own.states}
    force = own.force(states, spec.tied({**given.clamps, **given.params}), spec.lets)
    for state in own.states:
        z, low, high = states[state.name], *RIMS[state.kept]
        moved = z + force[state.name].detach()
        if state.kept == "simplex":
            free = z > 0
            axis = 1 + state.dims.index(state.along)
            shift = torch.where(free, moved - z, 0.0).sum(axis, keepdim=True) / free.sum(axis, keepdim=True)
            moved = moved - shift
        inside = (z > low + MARGIN) & (z < high - MARGIN)
        held = ((z == low) & (moved < low - MARGIN)) | ((z == high) & (moved > high + MARGIN))
        if not bool((inside | held).all()):
            return False
    return True


def _by_rules(spec: Spec, given: Inputs, expected: Tensors, target: str) -> dict[str, float]:
    """The relative errors of gradients by the rules that ``check`` calls exact, also inside of a host."""
    text, found = spec.text(), {}
    verdicts = pipeline.classify(pipeline.resolve(pipeline.read(text))).rules
    exact = [rule for rule in RULES if verdicts[rule].verdict == "exact"]
    net = energyc.load(text, dtype=torch.float64, target=target, rules=exact)
    fill(net, given.params)
    gradients = {name.removeprefix("gradient "): g for name, g in expected.items() if name.startswith("gradient ")}
    by_host = slopes_of_host(spec, given)
    found |= (
        {} if spec.layer else _too_short(net, given, gradients, [rule for rule in SHORTENED if rule in exact], target)
    )
    for rule in exact:
        computed = net.gradients(given.clamps, given.targets, rule=rule).params
        found |= _errors(f"{target} {rule}", computed, gradients)
        if spec.layer or rule in ("implicit", "bptt"):
            found |= _errors(f"{target} {rule} in a host", in_host(net, spec, given, rule), by_host)
    return found


def _too_short(net: Any, given: Inputs, expected: Tensors, rules: Sequence[str], target: str) -> dict[str, float]:
    """Gradients by nudged phases of few steps that are wrong without a warning, or by the steps that one names."""
    found = {}
    for rule in rules:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            computed = net.gradients(given.clamps, given.targets, rule=rule, nudge_steps=2).params
        named = [int(n) for w in caught for n in re.findall(r"nudge\.steps = (\d+) would do", str(w.message))]
        error = _relative(computed, expected)
        if not named and error > OFF:
            found[f"{target} {rule} by 2 nudged steps without a warning"] = error
        if named:
            longer = net.gradients(given.clamps, given.targets, rule=rule, nudge_steps=named[0]).params
            if not (error := _relative(longer, expected)) <= NAMED:
                found[f"{target} {rule} by the {named[0]} nudged steps that are named"] = error
    return found


def _relative(computed: Tensors, expected: Tensors) -> float:
    """The length of an error as a share of what is expected, 0 where that is less than rounding shows."""
    size = sum(float(value.square().sum()) for value in expected.values()) ** 0.5
    apart = sum(float((computed[n].detach() - value).square().sum()) for n, value in expected.items()) ** 0.5
    return apart / size if size > 1e-6 else 0.0


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

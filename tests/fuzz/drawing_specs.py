"""Specs at random over the whole language: well typed by construction, bounded, and away from where it has a choice."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.fuzz.expressions import (
    BINARY,
    SIGNS,
    UNARY,
    Access,
    Along,
    Binary,
    Compared,
    Condition,
    Constant,
    Definition,
    Expression,
    InTraining,
    Joined,
    Ramp,
    Reduced,
    Scope,
    Selected,
    Stopped,
    Unary,
    Whole,
)
from tests.fuzz.networks import Declared, Flow, Relaxing, Spec, State, dim_of

DIMS = ("N", "D", "K", "H", "M")
CONSTANTS = (("1/2", 0.5), ("0.3", 0.3), ("2", 2.0), ("-1.5", -1.5), ("gamma", 0.7), ("tau", 1 / 3))
LAWS = (" ~ normal(0.5)", " ~ uniform(-0.5, 0.5)", " = 0.2", " ~ glorot", " ~ kaiming", " = 1", " ~ normal")
RULES = (
    "ep centered-ep vf aep tracking-aep adjoint holomorphic-ep holomorphic-aep tbptt bptt implicit chl "
    "predictive-coding dyadic-ep dual-propagation"
).split()
#: Those that do not go through layers clamp states, predict them or take back the last steps alone.
THROUGH_LAYERS = tuple(rule for rule in RULES if rule not in ("chl", "predictive-coding", "dual-propagation", "tbptt"))
SETS = ("", "", "", "[-1, 1]", "nonnegative", "simplex", "sphere", "standardized")


class Maker:
    """One spec on its way, and what an expression may read at this place of it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.sizes = {dim: self.random.choice((1, 2, 2, 3, 3, 4)) for dim in DIMS}
        self.reals: list[Declared] = []
        self.wholes: list[Declared] = []
        self._count = 0

    # ------------------------------------------------------------ choices

    def maybe(self, chance: float) -> bool:
        """Whether, at a chance."""
        return self.random.random() < chance

    def index(self, dim: str) -> tuple[str, int]:
        """A fresh index over a dim, whose first letter says which."""
        self._count += 1
        return f"{dim.lower()}{self._count}", self.sizes[dim]

    def dims(self, most: int = 2, least: int = 0) -> tuple[str, ...]:
        """Some dims, none twice."""
        return tuple(self.random.sample(DIMS, self.random.randint(least, most)))

    def indices(self, dims: Sequence[str]) -> Scope:
        """A fresh index for each dim."""
        return tuple(self.index(dim) for dim in dims)

    # ------------------------------------------------------------ expressions

    def expression(self, scope: Scope, depth: int) -> Expression:
        """A real expression over the indices of a scope."""
        if depth <= 0:
            return self.leaf(scope)
        often = (self.unary, self.binary, self.reduced)
        made = self.random.choice((*often, *often, self.binary, self.along, self.selected, self.stopped, self.soft))
        return made(scope, depth)

    def leaf(self, scope: Scope) -> Expression:
        """A number, or an element of what can be read; what it has more dims of is added up."""
        if not self.reals or self.maybe(0.1):
            return Constant(*self.random.choice(CONSTANTS))
        return self.element(self.random.choice(self.reals), scope)

    def element(self, tensor: Declared, scope: Scope) -> Expression:
        """An element of a tensor."""
        binders: list[tuple[str, str, int]] = []
        slots = [self.slot(dim, scope, binders) for dim in tensor.dims]
        access = Access(tensor.name, tuple(slots))
        if not binders:
            return access
        return Reduced(self.random.choice(("sum", "sum", "mean")), tuple(binders), access)

    def slot(self, dim: str, scope: Scope, binders: list[tuple[str, str, int]]) -> Whole:
        """A place along a dim: an index that is there, a fixed place, an element of a clamp, or a new index."""
        known = [index for index, _ in scope if dim_of(index) == dim]
        if known and self.maybe(0.8):
            return Whole({self.random.choice(known): 1})
        gathered = [whole for whole in self.wholes if whole.over == dim]
        if gathered and self.maybe(0.5):
            chosen = self.random.choice(gathered)
            return Whole({}, gathered=Access(chosen.name, tuple(self.slot(d, scope, binders) for d in chosen.dims)))
        if self.maybe(0.15):
            return Whole({}, self.random.randrange(self.sizes[dim]))
        index, size = self.index(dim)
        binders.append((index, dim, size))
        return Whole({index: 1})

    def unary(self, scope: Scope, depth: int) -> Expression:
        """A function of one number."""
        return Unary(self.random.choice(tuple(UNARY)), self.expression(scope, depth - 1))

    def binary(self, scope: Scope, depth: int) -> Expression:
        """Two expressions joined."""
        form = self.random.choice(tuple(BINARY))
        return Binary(form, self.expression(scope, depth - 1), self.expression(scope, depth - 2))

    def reduced(self, scope: Scope, depth: int) -> Expression:
        """A reduction over one or two fresh indices."""
        fresh = self.indices(self.dims(2, 1) if len(scope) < 3 else self.dims(1, 1))
        inner = (*scope, *fresh)
        word = self.random.choice(("sum", "mean", "max", "min", "variance", "logsumexp"))
        body = self.expression(inner, depth - 1)
        if word in ("max", "min"):
            body = Binary("({} + {})", body, Ramp(tuple(index for index, _ in fresh)))
        guard = self.condition(inner, 1) if self.maybe(0.3) and word != "variance" else None
        bound = tuple((index, dim_of(index), size) for index, size in fresh)
        found = Reduced(word, bound, body, guard)  # type: ignore[arg-type]
        return Unary("tanh({})", found) if word == "sum" else found

    def along(self, scope: Scope, depth: int) -> Expression:
        """A normaliser along an index of the scope, of something that differs along it."""
        wide = [index for index, size in scope if size > 1]
        if not wide:
            return self.unary(scope, depth)
        index = self.random.choice(wide)
        body = Binary("({} + {})", Ramp((index,)), self.expression(scope, depth - 1))
        return Along(self.random.choice(("softmax", "layernorm", "rmsnorm", "standardize")), index, body)

    def soft(self, scope: Scope, depth: int) -> Expression:
        """A sum weighed by a softmax."""
        index, size = self.index(self.random.choice(DIMS))
        inner = (*scope, (index, size))
        guard = self.condition(inner, 1) if self.maybe(0.4) else None
        weights = Along("softmax", index, self.expression(inner, depth - 1), guard)
        body = Binary("({} * {})", weights, self.expression(inner, depth - 2))
        return Reduced("sum", ((index, dim_of(index), size),), body)

    def selected(self, scope: Scope, depth: int) -> Expression:
        """A selection by indices or by real values."""
        condition = self.condition(scope, 1)
        if self.maybe(0.4):
            left, right = self.element(self.random.choice(self.reals), scope), Constant("0.0371", 0.0371)
            condition = Compared(self.random.choice(("<", "<=", ">", ">=")), left, right)
        return Selected(condition, self.expression(scope, depth - 1), self.expression(scope, depth - 2))

    def stopped(self, scope: Scope, depth: int) -> Expression:
        """An expression that a force, or training too, does not pass."""
        return Stopped(self.random.choice(("frozen", "detach")), self.expression(scope, depth - 1))

    def condition(self, scope: Scope, depth: int) -> Condition:
        """A condition on indices and integers."""
        if depth > 0 and self.maybe(0.25):
            parts = tuple(self.condition(scope, depth - 1) for _ in range(2))
            return Joined(self.random.choice(("and", "or")), parts)
        if depth > 0 and self.maybe(0.1):
            return Joined("not", (self.condition(scope, 0),))
        if self.maybe(0.1):
            return InTraining()
        sign = self.random.choice(tuple(SIGNS))
        if not scope:
            return Compared(sign, Whole({}, 1), Whole({}, self.random.randint(0, 2)))
        edges = [whole for whole in self.wholes if all(any(dim_of(i) == d for i, _ in scope) for d in whole.dims)]
        if edges and self.maybe(0.5):
            chosen = self.random.choice(edges)
            at = [self.random.choice([i for i, _ in scope if dim_of(i) == d]) for d in chosen.dims]
            left = Whole({}, gathered=Access(chosen.name, tuple(Whole({index: 1}) for index in at)))
            same = [index for index, _ in scope if dim_of(index) == chosen.over]
            return Compared(sign, left, Whole({self.random.choice(same): 1}) if same else Whole({}, 1))
        index, _ = self.random.choice(scope)
        same = [other for other, _ in scope if dim_of(other) == dim_of(index) and other != index]
        if same and self.maybe(0.6):
            right = Whole({self.random.choice(same): 1}, self.random.choice((0, 0, 1)))
            return Compared(sign, Whole({index: 1}), right)
        return Compared(sign, Whole({index: self.random.choice((1, 1, 2))}), Whole({}, self.random.randint(0, 2)))

    # ------------------------------------------------------------ quantities

    def quantity(self, dims: Sequence[str], depth: int) -> Definition:
        """A quantity of some dims."""
        indices = self.indices(dims)
        return Definition(indices, self.expression(indices, depth))

    def bounded(self, dims: Sequence[str], depth: int) -> Definition:
        """A quantity between -1 and 1."""
        made = self.quantity(dims, depth)
        return Definition(made.indices, Unary("tanh({})", made.right))


def random_spec(seed: int, layered: bool | None = None) -> Spec:
    """The spec of a seed."""
    make = Maker(seed)
    layered = make.maybe(0.3) if layered is None else layered
    spec = Spec(f"fuzz{seed % 100}", make.sizes, Relaxing())
    _inputs(make, spec, noisy=not layered and make.maybe(0.2))
    for k in range(make.random.randint(0, 2)):
        name, dims = f"outer{k}", make.dims()
        spec.lets[name] = make.quantity(dims, 2)
        make.reals.append(Declared(name, dims))
    if layered:
        _around(make, spec)
    else:
        _relaxing(make, spec.relaxing, spec.params)
        make.reals += spec.relaxing.states
        answered(make, spec)
    return spec


def _inputs(make: Maker, spec: Spec, noisy: bool) -> None:
    spec.clamps = [Declared(f"x{k}", make.dims(2, 1)) for k in range(make.random.randint(1, 2))]
    wholes = [Declared(f"at{k}", make.dims(1), make.random.choice(DIMS)) for k in range(make.random.randint(0, 2))]
    spec.noises = [Declared("eps", make.dims(2, 1), law=" ~ normal(0.1)")] if noisy else []
    spec.params = [_param(make, f"w{k}") for k in range(make.random.randint(1, 3))]
    for param in [p for p in spec.params if len(p.dims) == 2 and make.maybe(0.3)][:1]:
        spec.ties["tied"] = param.name
        make.reals.append(Declared("tied", param.dims[::-1]))
    make.reals += [*spec.clamps, *spec.noises, *spec.params]
    make.wholes = wholes
    spec.clamps = [*spec.clamps, *wholes]


def _param(make: Maker, name: str, least: int = 0) -> Declared:
    """A param, now and then in a set that its dims allow."""
    dims, law = make.dims(2, least), make.random.choice(LAWS)
    sets = ["[-1, 1]", "nonnegative"]
    if dims and make.sizes[dims[-1]] > 1 and "=" not in law:
        sets.append(f"sphere[{dims[-1]}]")
    if len(dims) == 2:
        sets += [f"norm[{make.random.choice(('9/10', '0.5', '2'))}]"] * 3
        sets += ["orthogonal"] if make.sizes[dims[0]] <= make.sizes[dims[1]] and "=" not in law else []
    return Declared(name, dims, law=f"{law} in {make.random.choice(sets)}" if make.maybe(0.25) else law)


def _relaxing(make: Maker, made: Relaxing, params: Sequence[Declared]) -> None:
    """Fill what relaxes: its params are ``params`` and its own, each of which an energy reads."""
    outside = list(make.reals)
    for k in range(make.random.randint(1, 3)):
        made.states.append(_state(make, f"z{k}"))
    make.reals = [*outside, *made.params, *made.states]
    for k in range(make.random.randint(0, 2)):
        name, dims = f"q{k}", make.dims()
        made.lets[name] = make.quantity(dims, 3)
        make.reals.append(Declared(name, dims))
    for state in made.states:
        indices = make.indices(state.dims)
        square = Binary("({} * {})", *[Access(state.name, tuple(Whole({i: 1}) for i, _ in indices))] * 2)
        half = Binary("({} * {})", Constant("1/2", 0.5), square)
        made.energies[f"leak_{state.name}"] = Definition((), summed(half, indices))
    for k in range(make.random.randint(1, 2)):
        made.energies[f"e{k}"] = _energy(make, make.random.choice(made.states))
    for param in [*params, *made.params]:
        made.energies[f"reads_{param.name}"] = _reading(make, param, make.random.choice(made.states))
    if make.maybe(0.3):
        _flow(make, made)
    elif make.maybe(0.4):
        state = make.random.choice(made.states)
        made.forces["pushed"] = (state.name, make.bounded(state.dims, 2))
    make.reals = outside
    made.step, made.steps = make.random.choice((0.1, 0.2, 0.25)), make.random.randint(1, 4)


def _state(make: Maker, name: str) -> State:
    dims = make.dims(2, 1)
    wide = [dim for dim in dims if make.sizes[dim] > 2]
    kept = make.random.choice(SETS)
    along = make.random.choice(wide) if kept in ("simplex", "sphere", "standardized") and wide else ""
    if kept in ("simplex", "sphere", "standardized") and not along:
        kept = ""
    indices = make.indices(dims)
    ramp = Ramp(tuple(index for index, _ in indices))
    start = Binary("({} + {})", ramp, Binary("({} * {})", Constant("0.3", 0.3), Unary("tanh({})", make.leaf(indices))))
    return State(name, dims, kept=kept, along=along, start=Definition(indices, start))


def summed(body: Expression, indices: Scope) -> Expression:
    """The sum over all indices."""
    bound = tuple((index, dim_of(index), size) for index, size in indices)
    return Reduced("sum", bound, body) if bound else body


def _some(name: str, dims: Sequence[str], form: str, make: Maker) -> Expression:
    """The sum of a function of all elements."""
    indices = make.indices(dims)
    return summed(Unary(form, Access(name, tuple(Whole({index: 1}) for index, _ in indices))), indices)


def _energy(make: Maker, state: State) -> Definition:
    """An energy that a state is surely in; a family now and then."""
    family = make.indices(make.dims(1)) if make.maybe(0.3) else ()
    drive = Unary("tanh({})", make.expression(family, 3))
    return Definition(family, Binary("({} * {})", drive, _some(state.name, state.dims, "sin({})", make)))


def _reading(make: Maker, param: Declared, state: State) -> Definition:
    """A small energy of a param and a state."""
    small = Binary("({} * {})", Constant("0.3", 0.3), _some(param.name, param.dims, "sin({})", make))
    return Definition((), Binary("({} * {})", small, _some(state.name, state.dims, "tanh({})", make)))


def _flow(make: Maker, made: Relaxing) -> None:
    """Flows for all states, each down all energies, by the state or by a let of it."""
    for state in made.states:
        drive = make.bounded(state.dims, 2)
        drive = Definition(drive.indices, Binary("({} * {})", Constant("0.3", 0.3), drive.right))
        made.flows[state.name] = Flow("0.5", tuple(made.energies), state.name, drive)


def answered(make: Maker, spec: Spec) -> None:
    """Readouts, a target, the cost and settings."""
    dims = make.dims(1)
    spec.readouts["out"] = make.bounded(dims, 3)
    if make.maybe(0.3):
        spec.readouts["more"] = make.quantity(make.dims(), 2)
    spec.targets = [Declared("y", dims)]
    indices = ", ".join(f"{dim.lower()}" for dim in dims)
    out, aim = (f"{name}[{indices}]" if dims else name for name in ("out", "y"))
    square = f"({out} - {aim})^2"
    spec.cost = f"cost mse = 1/2 * {f'sum[{indices}]({square})' if dims else square}"
    spec.further = _settings(make, spec)


def _around(make: Maker, spec: Spec) -> None:
    """A layer, in a ``repeat`` or by itself, and answers of what is read of it."""
    spec.layer, repeated = "mem", make.maybe(0.6)
    outside = list(make.reals)
    if repeated:
        dims = make.dims(2, 1)
        spec.copies, start = "L", make.bounded(dims, 2)
        spec.sizes = {**spec.sizes, "L": make.random.choice((1, 2, 3))}
        make.reals.append(Declared("h", dims))
    own = Relaxing(params=[_param(make, "v", 1)])
    spec.relaxing = own
    _relaxing(make, own, spec.params)
    read = [Declared(f"mem.{state.name}", state.dims) for state in own.states]
    if repeated:
        make.reals = [*outside, *read, Declared("h", dims)]
        spec.stream = ("h", dims, start, _with(make.bounded(dims, 2), read[0], make))
        make.reals = [*outside, Declared("h", dims)]
        answered(make, spec)
    else:
        make.reals = [*outside, *read]
        answered(make, spec)
        spec.readouts["out"] = _with(spec.readouts["out"], read[0], make)


def _with(made: Definition, read: Declared, make: Maker) -> Definition:
    """A quantity that surely reads a tensor."""
    return Definition(made.indices, Binary("({} + {})", made.right, _some(read.name, read.dims, "sin({})", make)))


def _settings(make: Maker, spec: Spec) -> list[str]:
    rule = make.random.choice(THROUGH_LAYERS if spec.layer else RULES)
    nudge = f"nudge {{ beta = {make.random.choice(('auto', '0.1', '1/2'))}, steps = {make.random.randint(1, 5)} }}"
    if spec.layer and make.maybe(0.7):
        spec.relaxing.nudge = nudge
    found = [] if spec.layer else [nudge]
    average = f", ema = {make.random.choice(('0.9', '0.999', '1/2'))}" if make.maybe(0.2) else ""
    optimizer = make.random.choice(("sgd", "adam", "adamw"))
    found.append(f"train {{ rule = {rule}, optimizer = {optimizer}, lr = 1e-3{average} }}")
    if make.maybe(0.3):
        found.append(f"preset small {{ {make.random.choice(DIMS)} = 2 }}")
    return found

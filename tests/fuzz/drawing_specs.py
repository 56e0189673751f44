"""Specs at random over the whole language: well typed by construction, bounded, and away from where it has a choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random

from tests.fuzz.expressions import (
    BINARY,
    SIGNS,
    STEP,
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

#: The dim that steps run over where they are numbered; others may have it too.
TIME = "T"
DIMS = ("N", "D", "K", "H", TIME)
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
        self.counting = False
        self._count = 0

    @contextmanager
    def in_a_step(self, numbered: bool) -> Iterator[None]:
        """Where expressions may read the number of the step, if steps are numbered."""
        self.counting = numbered
        try:
            yield
        finally:
            self.counting = False

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

    def timed(self, dims: tuple[str, ...]) -> tuple[str, ...]:
        """The dims with that of the steps among them, in the place of the last where there are two."""
        if TIME in dims:
            return dims
        kept = dims[:1]
        return (*kept, TIME) if self.maybe(0.5) else (TIME, *kept)

    def indices(self, dims: Sequence[str]) -> Scope:
        """A fresh index for each dim."""
        return tuple(self.index(dim) for dim in dims)

    def over(self, dim: str, scope: Scope) -> list[str]:
        """The indices over a dim that are there, the number of the step among them."""
        step = [STEP] if self.counting and dim == TIME else []
        return [*(index for index, _ in scope if dim_of(index) == dim), *step]

    # ------------------------------------------------------------ expressions

    def expression(self, scope: Scope, depth: int) -> Expression:
        """A real expression over the indices of a scope."""
        if self.tokens and self.maybe(0.3):
            return self.token(scope, depth)
        if depth <= 0:
            return self.leaf(scope)
        often = (self.unary, self.binary, self.reduced)
        made = self.random.choice((*often, *often, self.binary, self.along, self.selected, self.stopped, self.soft))
        return made(scope, depth)

    def leaf(self, scope: Scope) -> Expression:
        """A number, or an element of what can be read; what it has more dims of is added up."""
        if self.counting and self.maybe(0.1):
            return Ramp((STEP,))
        if not self.reals or self.maybe(0.1):
            return Constant(*self.random.choice(CONSTANTS))
        timed = [tensor for tensor in self.reals if self.counting and TIME in tensor.dims]
        return self.element(self.random.choice(timed if timed and self.maybe(0.4) else self.reals), scope)

    def element(self, tensor: Declared, scope: Scope, row: Declared | None = None) -> Expression:
        """An element of a tensor; in the row that an element of an integer clamp says, where one is given."""
        binders: list[tuple[str, str, int]] = []
        slots = [
            self.gathered(row, scope, binders) if row and dim == row.over else self.slot(dim, scope, binders)
            for dim in tensor.dims
        ]
        access = Access(tensor.name, tuple(slots))
        if not binders:
            return access
        return Reduced(self.random.choice(("sum", "sum", "mean")), tuple(binders), access)

    @property
    def tokens(self) -> list[Declared]:
        """The integer clamps that have an element for each step, where the number of the step is known."""
        return [whole for whole in self.wholes if self.counting and TIME in whole.dims]

    def token(self, scope: Scope, depth: int) -> Expression:
        """What an integer clamp says in this step: which row of a tensor is read, or which of two sides."""
        chosen = self.random.choice(self.tokens)
        tables = [tensor for tensor in self.reals if chosen.over in tensor.dims]
        if tables and self.maybe(0.6):
            return self.element(self.random.choice(tables), scope, row=chosen)
        fresh = [dim for dim in chosen.dims if not self.over(dim, scope)]
        inner = (*scope, *self.indices(fresh))
        condition = self.edge(self.random.choice(tuple(SIGNS)), inner, [chosen])
        found: Expression = Selected(condition, self.expression(inner, depth - 1), self.leaf(inner))
        bound = tuple((index, dim_of(index), size) for index, size in inner[len(scope) :])
        return Reduced("mean", bound, found) if bound else found

    def slot(self, dim: str, scope: Scope, binders: list[tuple[str, str, int]]) -> Whole:
        """A place along a dim: an index or step that is there, a fixed place, an element of a clamp, a new index."""
        known = self.over(dim, scope)
        if known and self.maybe(0.8):
            return Whole({self.random.choice(known): 1})
        gathered = [whole for whole in self.wholes if whole.over == dim]
        if gathered and self.maybe(0.5):
            return self.gathered(self.random.choice(gathered), scope, binders)
        if self.maybe(0.15):
            return Whole({}, self.random.randrange(self.sizes[dim]))
        index, size = self.index(dim)
        binders.append((index, dim, size))
        return Whole({index: 1})

    def gathered(self, whole: Declared, scope: Scope, binders: list[tuple[str, str, int]]) -> Whole:
        """An element of an integer clamp as a place."""
        return Whole({}, gathered=Access(whole.name, tuple(self.slot(dim, scope, binders) for dim in whole.dims)))

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
        edges = [whole for whole in self.wholes if all(self.over(dim, scope) for dim in whole.dims)]
        if edges and self.maybe(0.5):
            return self.edge(sign, scope, edges)
        places = [*(index for index, _ in scope), *self.over(TIME, ())]
        if not places:
            return Compared(sign, Whole({}, 1), Whole({}, self.random.randint(0, 2)))
        index = self.random.choice(places)
        same = [other for other in self.over(dim_of(index), scope) if other != index]
        if same and self.maybe(0.6):
            right = Whole({self.random.choice(same): 1}, self.random.choice((0, 0, 1)))
            return Compared(sign, Whole({index: 1}), right)
        return Compared(sign, Whole({index: self.random.choice((1, 1, 2))}), Whole({}, self.random.randint(0, 2)))

    def edge(self, sign: str, scope: Scope, edges: Sequence[Declared]) -> Condition:
        """An element of an integer clamp, beside an index, another element or a number of its dim; on either side."""
        chosen = self.random.choice(edges)
        left = self.read(chosen, scope)
        others = [self.read(whole, scope) for whole in edges if whole is not chosen and whole.over == chosen.over]
        assert chosen.over is not None
        rights = [*(Whole({index: 1}) for index in self.over(chosen.over, scope)), *others[:1]]
        right = self.random.choice(rights) if rights else Whole({}, self.random.randrange(self.sizes[chosen.over]))
        return Compared(sign, left, right) if self.maybe(0.6) else Compared(sign, right, left)

    def read(self, whole: Declared, scope: Scope) -> Whole:
        """An element of an integer clamp at indices that are there."""
        at = (Whole({self.random.choice(self.over(dim, scope)): 1}) for dim in whole.dims)
        return Whole({}, gathered=Access(whole.name, tuple(at)))

    # ------------------------------------------------------------ quantities

    def quantity(self, dims: Sequence[str], depth: int) -> Definition:
        """A quantity of some dims."""
        indices = self.indices(dims)
        return Definition(indices, self.expression(indices, depth))

    def bounded(self, dims: Sequence[str], depth: int) -> Definition:
        """A quantity between -1 and 1."""
        made = self.quantity(dims, depth)
        return Definition(made.indices, Unary("tanh({})", made.right))


def random_spec(seed: int, layered: bool | None = None, resting: bool = False) -> Spec:
    """The spec of a seed; one that is ``resting`` has no ``next`` values, and steps without numbers."""
    make = Maker(seed)
    layered = make.maybe(0.3) if layered is None else layered
    numbered = make.maybe(0.4) and not resting
    spec = Spec(f"fuzz{seed % 100}", make.sizes, Relaxing())
    _inputs(make, spec, noisy=not layered and make.maybe(0.4 if numbered else 0.2), numbered=numbered)
    recurrent = 0.0 if resting else 0.6 if numbered else 0.1
    for k in range(make.random.randint(0, 2)):
        name, dims = f"outer{k}", make.dims()
        spec.lets[name] = make.quantity(dims, 2)
        make.reals.append(Declared(name, dims))
    if layered:
        _around(make, spec, numbered, recurrent)
    else:
        _relaxing(make, spec.relaxing, spec.params, numbered, recurrent)
        make.reals += spec.relaxing.states
        answered(make, spec)
    return spec


def _inputs(make: Maker, spec: Spec, noisy: bool, numbered: bool) -> None:
    """Clamps, noise and params; with numbered steps the first of a kind mostly has an element for each step."""

    def dims(first: bool, most: int = 2, least: int = 1) -> tuple[str, ...]:
        found = make.dims(most, least)
        return make.timed(found) if numbered and first and make.maybe(0.7) else found

    spec.clamps = [Declared(f"x{k}", dims(k == 0)) for k in range(make.random.randint(1, 2))]
    count = make.random.randint(int(numbered), 2)
    shapes = [make.timed(()) if k == 0 and numbered and make.maybe(0.6) else make.dims(2) for k in range(count)]
    wholes = [Declared(f"at{k}", shape, make.random.choice(DIMS)) for k, shape in enumerate(shapes)]
    spec.noises = [Declared("eps", dims(True), law=" ~ normal(0.1)")] if noisy else []
    spec.params = [_param(make, f"w{k}", timed=numbered and make.maybe(0.3)) for k in range(make.random.randint(1, 3))]
    for param in [p for p in spec.params if len(p.dims) == 2 and make.maybe(0.3)][:1]:
        spec.ties["tied"] = param.name
        make.reals.append(Declared("tied", param.dims[::-1]))
    make.reals += [*spec.clamps, *spec.noises, *spec.params]
    make.wholes = wholes
    spec.clamps = [*spec.clamps, *wholes]


def _param(make: Maker, name: str, least: int = 0, timed: bool = False) -> Declared:
    """A param, now and then in a set that its dims allow; with an element for each step where it is ``timed``."""
    dims, law = make.dims(2, least), make.random.choice(LAWS)
    dims = make.timed(dims) if timed else dims
    sets = ["[-1, 1]", "nonnegative"]
    if dims and make.sizes[dims[-1]] > 1 and "=" not in law:
        sets.append(f"sphere[{dims[-1]}]")
    if len(dims) == 2:
        sets += [f"norm[{make.random.choice(('9/10', '0.5', '2'))}]"] * 3
        sets += ["orthogonal"] if make.sizes[dims[0]] <= make.sizes[dims[1]] and "=" not in law else []
    return Declared(name, dims, law=f"{law} in {make.random.choice(sets)}" if make.maybe(0.25) else law)


def _relaxing(make: Maker, made: Relaxing, params: Sequence[Declared], numbered: bool, recurrent: float) -> None:
    """Fill what relaxes: its params are ``params`` and its own, each of which a term reads.

    A share of the states that is ``recurrent`` have a ``next`` value.
    """
    outside = list(make.reals)
    for k in range(make.random.randint(1, 3)):
        made.states.append(_state(make, f"z{k}"))
    make.reals = [*outside, *made.params, *made.states]
    for k in range(make.random.randint(0, 2)):
        name, dims = f"q{k}", make.dims()
        made.lets[name] = make.quantity(dims, 3)
        make.reals.append(Declared(name, dims))
    falling = [state for state in made.states if not make.maybe(recurrent)]
    _energies(make, made, falling, [*params, *made.params])
    made.step, made.steps = make.random.choice((0.1, 0.2, 0.25)), make.random.randint(1, 4)
    if numbered:
        made.numbered, made.steps = TIME, make.sizes[TIME]
    with make.in_a_step(numbered):
        _motions(make, made, falling, [] if falling else [*params, *made.params])
    make.reals = outside


def _energies(make: Maker, made: Relaxing, falling: Sequence[State], params: Sequence[Declared]) -> None:
    """Energies of the states that fall, by which each param is read."""
    if not falling:
        return
    for state in falling:
        indices = make.indices(state.dims)
        square = Binary("({} * {})", *[Access(state.name, tuple(Whole({i: 1}) for i, _ in indices))] * 2)
        half = Binary("({} * {})", Constant("1/2", 0.5), square)
        made.energies[f"leak_{state.name}"] = Definition((), summed(half, indices))
    for k in range(make.random.randint(1, 2)):
        made.energies[f"e{k}"] = _energy(make, make.random.choice(falling))
    for param in params:
        made.energies[f"reads_{param.name}"] = _reading(make, param, make.random.choice(falling))


def _motions(make: Maker, made: Relaxing, falling: Sequence[State], params: Sequence[Declared]) -> None:
    """Next values of the states that do not fall, of which the first reads the params; flows or a force of others."""
    if make.counting and make.maybe(0.3):
        dims = make.dims()
        made.lets["beat"] = make.quantity(dims, 2)
        make.reals.append(Declared("beat", dims))
    for state in [state for state in made.states if state not in falling]:
        made.nexts[state.name] = _next(make, state, () if made.nexts else params)
        if make.maybe(0.2):
            made.paces[state.name] = 0.5
    if falling and make.maybe(0.3):
        _flow(make, made, falling)
    elif falling and make.maybe(0.8 if make.counting else 0.4):
        state = make.random.choice(falling)
        made.forces["pushed"] = (state.name, make.bounded(state.dims, 2))


def _next(make: Maker, state: State, params: Sequence[Declared]) -> Definition:
    """``tanh(0.7 * z + ...)``, with an element of each param beside what is drawn."""
    indices = make.indices(state.dims)
    own = Access(state.name, tuple(Whole({index: 1}) for index, _ in indices))
    right: Expression = Binary("({} * {})", Constant("gamma", 0.7), own)
    for param in params:
        right = Binary("({} + {})", right, make.element(param, indices))
    return Definition(indices, Unary("tanh({})", Binary("({} + {})", right, make.expression(indices, 2))))


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


def _flow(make: Maker, made: Relaxing, falling: Sequence[State]) -> None:
    """Flows of the states that fall, each down all energies, by the state or by a let of it."""
    for state in falling:
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


def _around(make: Maker, spec: Spec, numbered: bool, recurrent: float) -> None:
    """A layer, in a ``repeat`` or by itself, and answers of what is read of it."""
    spec.layer, repeated = "mem", make.maybe(0.6)
    outside = list(make.reals)
    if repeated:
        dims = make.dims(2, 1)
        spec.copies, start = "L", make.bounded(dims, 2)
        spec.sizes = {**spec.sizes, "L": make.random.choice((1, 2, 3))}
        make.reals.append(Declared("h", dims))
    own = Relaxing(params=[_param(make, "v", 1, timed=numbered and make.maybe(0.3))])
    spec.relaxing = own
    _relaxing(make, own, spec.params, numbered, recurrent)
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
    rule = "bptt" if spec.relaxing.numbered else rule
    spec.back = make.random.randint(1, 5)
    nudge = f"nudge {{ beta = {make.random.choice(('auto', '0.1', '1/2'))}, steps = {spec.back} }}"
    if spec.layer and make.maybe(0.7):
        spec.relaxing.nudge = nudge
    found = [] if spec.layer else [nudge]
    average = f", ema = {make.random.choice(('0.9', '0.999', '1/2'))}" if make.maybe(0.2) else ""
    optimizer = make.random.choice(("sgd", "adam", "adamw"))
    found.append(f"train {{ rule = {rule}, optimizer = {optimizer}, lr = 1e-3{average} }}")
    if make.maybe(0.3):
        found.append(f"preset small {{ {make.random.choice(DIMS)} = 2 }}")
    return found

"""Params: their starting laws, starting values and sets, a box and what gives structure; and noise, by its law."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeVar, cast

from energyc.language.diagnostics import Label, Remedy, Span, did_you_mean, inserting, listed, writing
from energyc.language.network import Noise, Param, StartLaw, Structure
from energyc.language.resolve.context import Scope, Tensor
from energyc.language.resolve.declarations import Declarations
from energyc.language.resolve.names import TENSORS
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.sizes import Unknown, names_in
from energyc.language.resolve.terms import Bad, Frame
from energyc.language.resolve.words import LAWS, PARAM_SETS
from energyc.language.syntax import ast
from energyc.language.syntax.foreign import counterpart
from energyc.mathematics.ir import Input, Node

_LAW_FORMS: Mapping[str, str] = MappingProxyType(
    {"normal": "`normal(std)` has mean 0", "uniform": "`uniform(a)` is from -a to a, `uniform(a, b)` from a to b"}
)
_ARGUMENT_COUNTS: Mapping[tuple[int, int], str] = MappingProxyType(
    {(0, 0): "no argument", (0, 1): "at most one argument", (1, 2): "one or two arguments"}
)


#: The laws that a noise may have: those of numbers that do not hang on a shape.
_NOISES = ("normal", "uniform")


@dataclass
class Params:
    """Reads ``param`` and ``noise`` statements."""

    declarations: Declarations

    @property
    def _reporter(self) -> Reporter:
        return self.declarations.reporter

    def read(self, statement: ast.Params) -> list[Param]:
        """The params of a statement; a law covers the names before it that have neither law nor value."""
        params: list[Param | None] = []
        for k, item in enumerate(statement.items):
            source = item if item.value is not None else _having_law(statement.items[k:])
            if source is not item:
                self._check_sets(item, source)
            params.append(self._param(item, source.law))
        return [param for param in params if param is not None]

    def _check_sets(self, item: ast.ParamItem, source: ast.ParamItem) -> None:
        """Warn of a param that takes the law of another one, which is on a set and leaves the first in none."""
        if source.domains and not item.domains:
            name, other = item.name.text, source.name.text
            message = f"`{name}` takes the law of `{other}` and not its set"
            labels = [Label(domain.span, f"keeps `{other}` alone") for domain in source.domains[:1]]
            help = f"give `{name}` a set too, or a law of its own"
            self._reporter.warn("W0403", message, item.name.span, labels=labels, help=help)

    def _param(self, item: ast.ParamItem, law: ast.Law | None) -> Param | None:
        tensor = self.declarations.enter(item, "param")
        start_law = self._law(law) if law is not None else None
        if law is None and item.value is None:
            start_law = self._default_law(item)
        start = self._start(item, item.value) if item.value is not None else None
        sets = ParamSets(self.declarations, item, tensor).read()
        if tensor is None:
            return None
        sets.check_start(law, start is not None)
        spread = None if start is None else self.declarations.context.graph.spread(start, tensor.dims, ())
        node = cast(Input, tensor.node)
        return Param(node, start_law, spread, sets.low, sets.high, item.span, structure=tuple(sets.structure))

    def noises(self, statement: ast.Noises) -> list[Noise]:
        """The noises of a statement; a law covers the names before it that have none."""
        laws = {item.law: self._noise_law(item.law) for item in statement.items if item.law is not None}
        found: list[Noise] = []
        for k, item in enumerate(statement.items):
            tensor, written = self.declarations.enter(item, "noise"), _having_law(statement.items[k:]).law
            if written is None:
                self._report_no_law(item)
            elif tensor is not None and (law := laws[written]) is not None:
                found.append(Noise(cast(Input, tensor.node), law, item.span))
        return found

    def _noise_law(self, written: ast.Law) -> StartLaw | None:
        """The law of a noise, whose numbers do not hang on a shape."""
        law = self._law(written)
        if law is None or law.name in _NOISES:
            return law
        message = f"noise follows {listed(_NOISES, 'or')}, and `{law.name}` is a starting law of params"
        help = Remedy("write `~ normal(0.02)`", writing("normal(0.02)", written.span))
        self._reporter.error("E0421", message, written.span, help=help)
        return None

    def _report_no_law(self, item: ast.NoiseItem) -> None:
        help = Remedy(f"write `{item.name.text} ~ normal(0.02)`", inserting(" ~ normal(0.02)", _end_of_shape(item)))
        self._reporter.error("E0423", f"`{item.name.text}` has no law", item.name.span, help=help)

    def _default_law(self, item: ast.ParamItem) -> StartLaw | None:
        """Directions need no law: without one they are uniform on their set. Otherwise the law is missing."""
        if any(isinstance(domain, ast.NamedSet) and domain.name.text in DIRECTIONS for domain in item.domains):
            return StartLaw("normal", (1.0,))
        name = item.name.text
        fixes = (inserting(text, _end_of_shape(item)) for text in (" ~ normal(0.02)", " = 0"))
        help: str | Remedy = Remedy(f"write `{name} ~ normal(0.02)` or `{name} = 0`", *fixes)
        if name in PARAM_SETS and not item.dims:
            help = f"sets are joined by `and`: `in symmetric and {name}`"
        self._reporter.error("E0423", f"`{name}` has no starting law and no starting value", item.name.span, help=help)
        return None

    # ------------------------------------------------------------ laws

    def _law(self, law: ast.Law) -> StartLaw | None:
        name = law.name.text
        if name not in LAWS:
            help = counterpart("laws", name) or did_you_mean(name, LAWS, f"the laws are {listed(LAWS)}", law.name.span)
            self._reporter.error("E0421", f"there is no starting law `{name}`", law.name.span, help=help)
            return None
        fewest, most = LAWS[name]
        if not fewest <= len(law.arguments) <= most:
            message = f"`{name}` takes {_ARGUMENT_COUNTS[fewest, most]}"
            self._reporter.error("E0422", message, law.span, help=_LAW_FORMS.get(name))
            return None
        try:
            values = tuple(float(self.declarations.context.sizes.value(argument.value)) for argument in law.arguments)
        except Unknown:
            return None
        formulas = tuple(argument.value for argument in law.arguments)
        return self._checked_law(name, values, law.span, formulas)

    def _checked_law(
        self, name: str, values: tuple[float, ...], span: Span, formulas: tuple[ast.Expr, ...]
    ) -> StartLaw | None:
        if name == "normal" and not values:
            values = (1.0,)
        if name == "normal" and values[0] < 0:
            self._reporter.error("E0422", "a standard deviation cannot be negative", span)
            return None
        if name == "uniform" and (values[0] >= values[1] if len(values) == 2 else values[0] <= 0):
            self._reporter.error("E0422", "this interval is empty", span, help=_LAW_FORMS["uniform"])
            return None
        return StartLaw(name, values, formulas)

    # ------------------------------------------------------------ values

    def _start(self, item: ast.ParamItem, value: ast.Expr) -> Node | None:
        """A starting value: a number made of consts, the same for every element."""
        names = self.declarations.context.names
        law = ast.plain_name(value)
        if law is not None and law.text in LAWS and names.get(law.text) is None:
            message = f"`{law.text}` is a starting law, not a value"
            gap = Span(_end_of_shape(item), value.span.end)
            help = Remedy(f"write `{item.name.text} ~ {law.text}`", writing(f" ~ {law.text}", gap))
            self._reporter.error("E0424", message, value.span, help=help)
            return None
        tensors = [name for name in names_in(value) if (entry := names.get(name)) and entry.kind in TENSORS]
        if tensors:
            message = f"a starting value is made of numbers, dims and consts, and this reads `{tensors[0]}`"
            self._reporter.error("E0424", message, value.span)
            return None
        term = Scope(self.declarations.context, Frame(item.name.text, item.span)).real(value)
        return None if isinstance(term, Bad) else self.declarations.equations.lowering.node(term, ())


Drawn = TypeVar("Drawn", ast.ParamItem, ast.NoiseItem)


def _having_law(items: Sequence[Drawn]) -> Drawn:
    """The first item with a law, which covers those before it; without one the first item."""
    return next((item for item in items if item.law is not None), items[0])


def _end_of_shape(item: ast.ParamItem | ast.NoiseItem) -> int:
    """Where the name of a param or a noise ends, with its dims."""
    return max(item.name.span.end, *(dim.span.end + 1 for dim in item.dims)) if item.dims else item.name.span.end


#: Sets of directions, on which a uniform start needs no law.
DIRECTIONS = ("orthogonal", "sphere")
#: Sets of matrices of two dims, and those of the pairs of a row and a column.
_MATRICES = ("orthogonal", "norm")
_LINEAR = ("symmetric", "zero_diagonal")
#: The sets that can hold together; ``norm`` comes last, since its projection keeps what is symmetric so.
_JOIN = (frozenset({"symmetric", "zero_diagonal", "box"}), frozenset({"symmetric", "norm"}))


@dataclass
class ParamSets:
    """Reads ``in A and B`` of a param, whose ``tensor`` is None where its dims are wrong."""

    declarations: Declarations
    item: ast.ParamItem
    tensor: Tensor | None
    low: float | None = None
    high: float | None = None
    structure: list[Structure] = field(default_factory=list)

    def read(self) -> ParamSets:
        """Read each set, and report those that cannot be meant together."""
        seen: dict[str, Span] = {}
        for domain in self.item.domains:
            kind = "box" if isinstance(domain, ast.Box) or domain.name.text == "nonnegative" else domain.name.text
            if not self._clashes(kind, seen, domain.span):
                seen[kind] = domain.span
                self._take(domain)
        if "zero_diagonal" in seen and not (self.low or 0.0) <= 0 <= (self.high or 0.0):
            message = f"a diagonal of 0 is not in the box from {self.low:g} to {self.high:g}"
            self._error("E0445", message, seen["zero_diagonal"], help="choose a box that holds 0")
        return self

    def _take(self, domain: ast.Box | ast.NamedSet) -> None:
        match domain:
            case ast.Box():
                self.low, self.high = self.declarations.box(domain)
            case ast.NamedSet(name=ast.Name(text="nonnegative"), dims=()):
                self.low = 0.0
            case ast.NamedSet(name=ast.Name(text="nonnegative")):
                help = "write `in nonnegative`"
                self._error("E0426", "`nonnegative` holds for every entry of a param", domain.span, help=help)
            case ast.NamedSet(name=ast.Name(text=kind)) if kind in PARAM_SETS:
                structure = None if self.tensor is None else self._structure(kind, domain, self.tensor)
                if structure is not None and not self._repeats(structure, domain):
                    self.structure = sorted([*self.structure, structure], key=lambda s: s.kind == "norm")
            case ast.NamedSet(name=name):
                sets = f"the sets of params are {listed(PARAM_SETS)} and a box `[lo, hi]`"
                near = counterpart("sets", name.text) or did_you_mean(name.text, PARAM_SETS, sets)
                self._error("E0425", f"there is no set `{name.text}` of params", name.span, help=near)

    def check_start(self, law: ast.Law | None, valued: bool) -> None:
        """Report a start that has no nearest point on the set: it is the same in all directions, or has none."""
        kind = next((s.kind for s in self.structure if s.kind in DIRECTIONS), None)
        constant = valued or (law is not None and law.name.text in ("zeros", "ones"))
        zero = law is not None and law.name.text == "zeros"
        if kind == "sphere" and isinstance(self.item.value, ast.Number):
            zero = self.item.value.value == 0
        if (kind == "orthogonal" and constant) or (kind == "sphere" and zero):
            what = "a vector of zeros has no direction" if zero else "no orthogonal matrix is nearest to a constant one"
            help = f"leave the start out: `{self.item.name.text}` is then drawn uniformly from its set"
            self._error("E0446", f"`{self.item.name.text}` cannot start here: {what}", self.item.span, help=help)

    # ------------------------------------------------------------ together

    def _clashes(self, kind: str, seen: dict[str, Span], span: Span) -> bool:
        """Whether a set does not join with those before it; reported."""
        others = [other for other in seen if not any({kind, other} <= join for join in _JOIN)]
        others += [kind] if kind in seen and kind not in _LINEAR else []
        if not others:
            return False
        (other, *_) = others
        called = {"box": "a box"}
        names = [called.get(k, f"`{k}`") for k in (other, kind)]
        message = f"{names[1]} is named twice" if kind == other else f"{names[0]} and {names[1]} do not join"
        if kind == other == "box":
            message = "a param has one box"
        help = "`symmetric` can hold together with `zero_diagonal` and a box, or with `norm`"
        self.declarations.reporter.error(
            "E0445", message, span, labels=[Label(seen[other], "beside this")], help=None if kind == other else help
        )
        return True

    def _repeats(self, structure: Structure, domain: ast.NamedSet) -> bool:
        """Whether a set is about axes that one of its kind is about before it; reported."""
        axes = {*structure.rows, *structure.columns}
        before = [s for s in self.structure if s.kind == structure.kind and axes & {*s.rows, *s.columns}]
        if before:
            message = f"two sets `{structure.kind}` are about the same axes"
            self._error("E0445", message, domain.span, help="leave one of them out")
        return bool(before)

    # ------------------------------------------------------------ axes

    def _bound(self, domain: ast.NamedSet) -> float | None:
        """The largest operator norm of ``norm[c]``; None, and reported, where it is not a positive number."""
        if domain.bound is None:
            self._error("E0426", "`norm` takes a bound", domain.span, help="write `norm[0.9]`: singular values to 0.9")
            return None
        try:
            bound = float(self.declarations.context.sizes.value(domain.bound))
        except Unknown:
            return None
        if not 0 < bound < math.inf:
            self._error("E0426", f"the bound of `norm` is a positive number, not {bound:g}", domain.bound.span)
            return None
        return bound

    def _structure(self, kind: str, domain: ast.NamedSet, tensor: Tensor) -> Structure | None:
        if kind != "norm" and self.declarations.has_stray_bound(domain):
            return None
        if kind == "sphere":
            along = self.declarations.axes(domain, tensor)
            return None if along is None else Structure("sphere", (), along)
        known = all(self.declarations.has_axis(tensor, dim) for dim in domain.dims)
        bound = self._bound(domain) if kind == "norm" else math.inf
        pairs = self._pairs(kind, domain, tensor) if known and bound is not None else None
        if pairs is None or bound is None:
            return None
        structure = Structure(cast(Literal["symmetric"], kind), *pairs, bound)
        return structure if kind != "orthogonal" or self._fits(structure, domain, tensor) else None

    def _pairs(self, kind: str, domain: ast.NamedSet, tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The axes of rows and columns."""
        named = [dim.text for dim in domain.dims]
        if kind in _MATRICES and len(tensor.dims) == 2 and not named:
            return (0,), (1,)
        if kind in _MATRICES and len(named) == 2 and named[0] != named[1]:
            return (_last(tensor.dims, named[0]),), (_last(tensor.dims, named[1]),)
        twice = [dim for dim in dict.fromkeys(tensor.dims) if tensor.dims.count(dim) == 2]
        meant = list(dict.fromkeys(named)) or twice
        if not meant or any(dim not in twice for dim in meant) or (kind in _MATRICES and len(meant) > 1):
            self._not_square(kind, domain, tensor, [dim for dim in meant if dim not in twice])
            return None
        if not named and len(meant) > 1:
            choices = " or ".join(f"`{kind}[{text}]`" for text in (meant[0], ", ".join(meant)))
            message = f"{listed(meant)} are the dims of two axes each: which is `{kind}` about?"
            self._error("E0218", message, domain.span, help=f"write {choices}")
            return None
        places = [[axis for axis, own in enumerate(tensor.dims) if own == dim] for dim in meant]
        return tuple(first for first, _ in places), tuple(second for _, second in places)

    def _not_square(self, kind: str, domain: ast.NamedSet, tensor: Tensor, odd: Sequence[str]) -> None:
        name = f"{tensor.name}[{', '.join(tensor.dims)}]" if tensor.dims else tensor.name
        if kind in _MATRICES:
            message = f"`{kind}` is a matrix of two dims, and `{name}` leaves open which"
            first, second = (*tensor.dims[-2:], "K", "D")[:2] if len(tensor.dims) < 2 else tensor.dims[-2:]
            help = f"write `orthogonal[{first}, {second}]`: for each {first} a vector along {second}"
            if kind == "norm":
                help = f"write `norm[0.9, {first}, {second}]`: matrices of {first} by {second}"
        else:
            dim = next(iter([*odd, *(d for d in tensor.dims if tensor.dims.count(d) > 2)]), None)
            count = tensor.dims.count(dim) if dim else 0
            has = f"`{dim}` is the dim of {count} axes" if count > 2 else "no dim occurs twice"
            if count == 1:
                has = f"`{dim}` is the dim of one axis"
            message = f"`{kind}` is about two axes of one dim, and in `{name}` {has}"
            help = "declare both axes over one dim: `W[N, N]`; dims of the same size are still two dims"
        self._error("E0218", message, domain.span, help=help)

    def _fits(self, structure: Structure, domain: ast.NamedSet, tensor: Tensor) -> bool:
        """Whether there are no more orthonormal vectors than a space of their length holds."""
        (row,), (column,) = ((tensor.dims[k] for k in axes) for axes in (structure.rows, structure.columns))
        count, length = (self.declarations.context.sizes.size(dim) for dim in (row, column))
        if count is None or length is None or count <= length:
            return True
        message = f"{row} = {count} vectors along {column} = {length} cannot be orthogonal to one another"
        help = f"write `orthogonal[{column}, {row}]`: for each {column} a vector along {row}"
        self._error("E0219", message, domain.span, help=help)
        return False

    def _error(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        self.declarations.reporter.error(code, message, span, help=help)


def _last(dims: Sequence[str], dim: str) -> int:
    return max(axis for axis, own in enumerate(dims) if own == dim)

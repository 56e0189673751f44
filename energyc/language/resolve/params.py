"""Params: their starting laws and starting values; and noise, which has a law too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar, cast

from energyc.language.diagnostics import Label, Remedy, Span, did_you_mean, inserting, listed, writing
from energyc.language.network import Noise, Param, StartLaw
from energyc.language.resolve.context import Scope
from energyc.language.resolve.declarations import Declarations
from energyc.language.resolve.names import TENSORS
from energyc.language.resolve.param_sets import DIRECTIONS, ParamSets
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

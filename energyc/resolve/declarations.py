"""Clamps, targets, params and states: their nodes, sets, laws and bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from energyc.diagnostics import Label, Span
from energyc.ir import Input, Node
from energyc.resolve.bindings import Bindings, Field
from energyc.resolve.context import Context, Scope, Tensor
from energyc.resolve.equations import Equations
from energyc.resolve.names import TENSORS
from energyc.resolve.network import ConstraintSet, DataInput, Param, StartLaw
from energyc.resolve.reporter import did_you_mean, listed
from energyc.resolve.sizes import Unknown, names_in
from energyc.resolve.terms import Bad, Frame
from energyc.resolve.words import LAWS, SETS
from energyc.syntax import ast

Item = ast.InputItem | ast.ParamItem | ast.StateItem


@dataclass
class Declarations:
    """Reads the declarations of a file and enters their tensors where equations look them up."""

    context: Context
    equations: Equations
    bindings: Bindings

    def _enter(self, item: Item, kind: str, over: str | None = None) -> Tensor | None:
        """The tensor of an item; None where its dims are wrong, or its name was another's first."""
        name, dims = item.name, item.dims
        found = [self.context.dim(dim) for dim in dims]
        if self.context.names.entries[name.text].tree is not item:
            return None
        if any(dim is None for dim in found):
            self.equations.tensors[name.text] = None
            return None
        node = self.context.graph.input(name.text, kind, [dim for dim in found if dim], over)
        tensor = Tensor(name.text, kind, node, tuple(dim.span for dim in dims))
        self.equations.tensors[name.text] = tensor
        return tensor

    # ------------------------------------------------------------ inputs

    def input(self, item: ast.InputItem, word: str) -> DataInput | None:
        """A clamp or target with the field that feeds it."""
        over = None
        if item.kind is not None:
            over = self._over(item.kind)
            if over is None:
                self.equations.tensors[item.name.text] = None
                return None
        tensor = self._enter(item, word, over)
        if tensor is None:
            return None
        if item.source is None:
            return DataInput(cast(Input, tensor.node), None, item.span)
        source = (item.source.owner.text, item.source.field.text)
        field = self.bindings.field(item.source)
        fits = field is None or self._check_field(item, tensor, field)
        return DataInput(cast(Input, tensor.node), source, item.span, fits)

    def _over(self, kind: ast.Name) -> str | None:
        if kind.text == "relation":
            self.context.reporter.error("E0190", "relations are not yet supported", kind.span, "not yet")
            return None
        return self.context.dim(kind)

    def _check_field(self, item: ast.InputItem, tensor: Tensor, field: Field) -> bool:
        """Whether a field has the shape and kind declared; only sizes that were set from outside may differ."""
        over = cast(Input, tensor.node).over
        if (over is not None) != (field.kind == "integer"):
            self._report_kind(item, field)
            return True
        shape = tuple(self.context.sizes.size(dim) or 0 for dim in tensor.dims)
        same_rank = len(shape) == len(field.shape)
        fits = math.prod(shape) == math.prod(field.shape) and not (same_rank and shape != tuple(field.shape))
        if not fits and not any(map(self.context.sizes.is_set, tensor.dims)):
            self._report_shape(item, shape, field)
        classes = over is None or field.classes is None or self.context.sizes.size(over) == field.classes
        if not classes and not self.context.sizes.is_set(over or ""):
            self._report_classes(item, over or "", field)
        return fits and classes

    def _report_shape(self, item: ast.InputItem, shape: tuple[int, ...], field: Field) -> None:
        assert item.source is not None
        self.context.reporter.error(
            "E0603",
            f"`{item.name.text}` is {_shape(shape)} and `{self._shown(item)}` is {_shape(field.shape)}",
            item.span,
            labels=[Label(self._binding_span(item.source), "the data are bound here")],
            help="change the dims, or the options of the data binding",
        )

    def _report_classes(self, item: ast.InputItem, over: str, field: Field) -> None:
        self.context.reporter.error(
            "E0603",
            f"`{self._shown(item)}` has {field.classes} classes and {over} is {self.context.sizes.size(over)}",
            item.kind.span if item.kind else item.span,
            help=f"declare `dim {over} = {field.classes}`",
        )

    def _shown(self, item: ast.InputItem) -> str:
        return self.context.reporter.source.slice(item.source.span) if item.source else item.name.text

    def _binding_span(self, source: ast.Field) -> Span:
        return self.context.names.entries[source.owner.text].span

    def _report_kind(self, item: ast.InputItem, field: Field) -> None:
        name = self._shown(item)
        if field.kind == "integer":
            said, help = (
                f"`{name}` holds integers and `{item.name.text}` is real",
                f"say what they count: `{item.name.text}... : K = {name}`",
            )
        else:
            said, help = (
                f"`{name}` is real and `{item.name.text}` holds integers",
                f"leave out `: {item.kind.text if item.kind else 'K'}`",
            )
        self.context.reporter.error("E0603", said, item.span, help=help)

    # ------------------------------------------------------------ params

    def params(self, statement: ast.Params) -> list[Param]:
        """The params of a line; a law covers the names before it that have neither law nor value."""
        found: list[Param | None] = []
        for k, item in enumerate(statement.items):
            law = item.law if item.value is None else None
            if law is None and item.value is None:
                law = next((later.law for later in statement.items[k + 1 :] if later.law is not None), None)
            found.append(self._param(item, law))
        return [param for param in found if param is not None]

    def _param(self, item: ast.ParamItem, law: ast.Law | None) -> Param | None:
        tensor = self._enter(item, "param")
        if law is None and item.value is None:
            self.context.reporter.error(
                "E0423",
                f"`{item.name.text}` has no starting law and no starting value",
                item.name.span,
                help=f"write `{item.name.text} ~ normal(0.02)` or `{item.name.text} = 0`",
            )
        start_law = self._law(law) if law is not None else None
        start = self._start(item) if item.value is not None else None
        low, high = self._bounds(item)
        if tensor is None:
            return None
        return Param(cast(Input, tensor.node), start_law, start, low, high, item.span)

    def _law(self, law: ast.Law) -> StartLaw | None:
        name = law.name.text
        if name not in LAWS:
            self.context.reporter.error(
                "E0421",
                f"there is no starting law `{name}`",
                law.name.span,
                help=did_you_mean(name, LAWS, f"the laws are {listed(LAWS)}"),
            )
            return None
        fewest, most = LAWS[name]
        if not fewest <= len(law.arguments) <= most:
            wants = {(0, 0): "no argument", (0, 1): "at most one argument", (1, 2): "one or two arguments"}[
                fewest, most
            ]
            self.context.reporter.error("E0422", f"`{name}` takes {wants}", law.span, help=_LAW_HELP.get(name))
            return None
        try:
            values = tuple(float(self.context.sizes.value(argument.value)) for argument in law.arguments)
        except Unknown:
            return None
        return self._checked_law(law, values)

    def _checked_law(self, law: ast.Law, values: tuple[float, ...]) -> StartLaw | None:
        if law.name.text == "normal":
            values = values or (1.0,)
            if values[0] < 0:
                self.context.reporter.error("E0422", "a standard deviation is not negative", law.span)
                return None
        if law.name.text == "uniform" and (values[0] >= values[1] if len(values) == 2 else values[0] <= 0):
            self.context.reporter.error("E0422", "this interval is empty", law.span, help=_LAW_HELP["uniform"])
            return None
        return StartLaw(law.name.text, values)

    def _start(self, item: ast.ParamItem) -> Node | None:
        """A starting value: a number made of consts, the same for every element."""
        assert item.value is not None
        named = [name for name in names_in(item.value) if (e := self.context.names.get(name)) and e.kind in TENSORS]
        if named:
            said = f"a starting value is made of numbers, dims and consts alone, and this reads `{named[0]}`"
            self.context.reporter.error("E0424", said, item.value.span)
            return None
        term = self.context.real(Scope(Frame(item.name.text, item.span)), item.value)
        if isinstance(term, Bad):
            return None
        node = self.equations.lowering.node(term, ())
        dims = self.equations.tensors[item.name.text]
        return None if dims is None else self.context.graph.spread(node, dims.dims, ())

    def _bounds(self, item: ast.ParamItem) -> tuple[float | None, float | None]:
        if isinstance(item.domain, ast.Box):
            return self._box(item.domain)
        if item.domain is not None and item.domain.name.text == "nonnegative" and not item.domain.dims:
            return 0.0, None
        if item.domain is not None:
            self.context.reporter.error(
                "E0425",
                "a param is bounded by `in [lo, hi]` or `in nonnegative`",
                item.domain.span,
                help="sets along a dim are for states",
            )
        return None, None

    def _box(self, box: ast.Box) -> tuple[float, float]:
        try:
            low, high = float(self.context.sizes.value(box.low)), float(self.context.sizes.value(box.high))
        except Unknown:
            return -math.inf, math.inf
        if not low < high:
            self.context.reporter.error("E0426", f"the box from {low:g} to {high:g} is empty", box.span)
        return low, high

    # ------------------------------------------------------------ states

    def state(self, item: ast.StateItem) -> tuple[Tensor, ConstraintSet | None] | None:
        """A state and its set."""
        if item.lifetime is not None:
            self.context.reporter.error(
                "E0190", "lifetimes of states are not yet supported", item.lifetime.span, "not yet"
            )
        tensor = self._enter(item, "state")
        if tensor is None or item.domain is None:
            return None if tensor is None else (tensor, None)
        if isinstance(item.domain, ast.Box):
            low, high = self._box(item.domain)
            return tensor, ConstraintSet("box", tuple(range(len(tensor.dims))), low, high)
        return tensor, self._set(item.domain, tensor)

    def _set(self, domain: ast.NamedSet, tensor: Tensor) -> ConstraintSet | None:
        kind = domain.name.text
        if kind not in SETS:
            help = did_you_mean(kind, SETS, f"the sets are {listed(SETS)} and a box `[lo, hi]`")
            self.context.reporter.error("E0425", f"there is no set `{kind}`", domain.name.span, help=help)
            return None
        axes = (
            tuple(range(len(tensor.dims))) if kind == "nonnegative" and not domain.dims else self._axes(domain, tensor)
        )
        if axes is None:
            return None
        low = 0.0 if kind == "nonnegative" else None
        return ConstraintSet(cast(Literal["standardized"], kind), axes, low, None)

    def _axes(self, domain: ast.NamedSet, tensor: Tensor) -> tuple[int, ...] | None:
        if not domain.dims:
            self.context.reporter.error(
                "E0426",
                f"`{domain.name.text}` is taken along a dim of the state",
                domain.span,
                help=f"write `{domain.name.text}[{tensor.dims[-1] if tensor.dims else 'D'}]`",
            )
            return None
        axes: list[int] = []
        for dim in domain.dims:
            free = [k for k, own in enumerate(tensor.dims) if own == dim.text and k not in axes]
            if not free:
                self.context.reporter.error(
                    "E0426",
                    f"`{dim.text}` is no dim of state `{tensor.name}`"
                    if dim.text not in tensor.dims
                    else f"`{dim.text}` is named twice",
                    dim.span,
                    labels=[Label(self.context.names.entries[tensor.name].span, f"its dims are {listed(tensor.dims)}")],
                )
                return None
            axes.append(free[-1])
        return tuple(sorted(axes))


_LAW_HELP = {"normal": "`normal(std)`", "uniform": "`uniform(a)` is from -a to a, `uniform(a, b)` from a to b"}


def _shape(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]" if shape else "a single number"

"""Clamps, targets and states; params are read in ``params``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from energyc.language.diagnostics import Edit, Fix, Remedy, Span, did_you_mean, listed, writing
from energyc.language.network import ConstraintSet, DataInput
from energyc.language.resolve.bindings import Bindings, Field
from energyc.language.resolve.context import InContext, Tensor
from energyc.language.resolve.equations import Equations
from energyc.language.resolve.sizes import Unknown
from energyc.language.resolve.words import PARAM_SETS, STATE_SETS
from energyc.language.syntax import ast
from energyc.language.syntax.foreign import counterpart
from energyc.mathematics.ir import Input

Item = ast.InputItem | ast.ParamItem | ast.StateItem | ast.NoiseItem


@dataclass
class Declarations(InContext):
    """Reads the declarations of a file and enters their tensors where equations look them up."""

    equations: Equations
    bindings: Bindings

    def enter(self, item: Item, kind: str, over: str | None = None) -> Tensor | None:
        """The tensor of an item; None where its dims are wrong, or where its name is declared before."""
        name = item.name.text
        dims = [self.context.dim(dim) for dim in item.dims]
        if self.context.names.entries[name].tree is not item:
            return None
        valid = [dim for dim in dims if dim is not None]
        if len(valid) < len(dims):
            self.equations.tensors[name] = None
            return None
        node = self.context.graph.input(name, kind, valid, over)
        tensor = Tensor(name, kind, node, tuple(dim.span for dim in item.dims))
        self.equations.tensors[name] = tensor
        return tensor

    def box(self, box: ast.Box) -> tuple[float, float]:
        """The bounds of ``[lo, hi]``."""
        try:
            low, high = float(self.context.sizes.value(box.low)), float(self.context.sizes.value(box.high))
        except Unknown:
            return -math.inf, math.inf
        if not low < high:
            self.reporter.error("E0426", f"the box from {low:g} to {high:g} is empty", box.span)
        return low, high

    # ------------------------------------------------------------ inputs

    def input(self, item: ast.InputItem, word: str) -> DataInput | None:
        """A clamp or target with the field that feeds it."""
        over = None if item.kind is None else self.context.dim(item.kind)
        if item.kind is not None and over is None:
            self.equations.tensors[item.name.text] = None
            return None
        tensor = self.enter(item, word, over)
        if tensor is None:
            return None
        node = cast(Input, tensor.node)
        if item.source is None:
            return DataInput(node, None, item.span)
        field = self.bindings.field(item.source)
        fits = field is None or self._check_field(item, item.source, tensor, field)
        return DataInput(node, (item.source.owner.text, item.source.field.text), item.span, fits)

    def _check_field(self, item: ast.InputItem, source: ast.Field, tensor: Tensor, field: Field) -> bool:
        """Whether a field has the shape and kind declared; only sizes that were set from outside may differ."""
        sizes, over = self.context.sizes, tensor.over
        if (over is not None) != (field.kind == "integer"):
            self._report_kind(item, source, field)
            self.equations.tensors[item.name.text] = None
            return True
        shape = tuple(sizes.size(dim) or 0 for dim in tensor.dims)
        same_rank = len(shape) == len(field.shape)
        fits = math.prod(shape) == math.prod(field.shape) and not (same_rank and shape != tuple(field.shape))
        if not fits and not any(map(sizes.is_set, tensor.dims)):
            self._report_shape(item, source, shape, field)
        if over is None or field.classes is None or sizes.size(over) == field.classes:
            return fits
        if not sizes.is_set(over):
            self._report_classes(item, source, over, field)
            self.equations.tensors[item.name.text] = None
        return False

    def _report_shape(self, item: ast.InputItem, source: ast.Field, shape: tuple[int, ...], field: Field) -> None:
        self.reporter.error(
            "E0603",
            f"`{item.name.text}` is {_shape(shape)} and `{self._text(source)}` is {_shape(field.shape)}",
            item.span,
            labels=[self.context.names.entries[source.owner.text].label("the data are bound here")],
            help="change the dims, or the options of the data binding",
        )

    def _report_classes(self, item: ast.InputItem, source: ast.Field, over: str, field: Field) -> None:
        self.reporter.error(
            "E0603",
            f"`{self._text(source)}` has {field.classes} classes and {over} is {self.context.sizes.size(over)}",
            item.kind.span if item.kind else item.span,
            help=Remedy(f"declare `dim {over} = {field.classes}`", *self._sized(over, field.classes)),
        )

    def _sized(self, dim: str, size: int | None) -> Iterator[Fix]:
        """The fix that gives a dim another size, where it is a number."""
        tree = self.context.names.entries[dim].tree
        if isinstance(tree, ast.Definition) and isinstance(tree.value, ast.Number):
            yield Fix(f"declare `dim {dim} = {size}`", (Edit(tree.value.span, str(size)),))

    def _report_kind(self, item: ast.InputItem, source: ast.Field, field: Field) -> None:
        data, name = self._text(source), item.name.text
        if field.kind == "integer":
            message = f"`{data}` holds integers and `{name}` is real"
            help = f"name the dim of its values: `{name}... : K = {data}`"
        else:
            message = f"`{data}` is real and `{name}` holds integers"
            help = f"leave out `: {item.kind.text if item.kind else 'K'}`"
        self.reporter.error("E0603", message, item.span, help=help)

    def _text(self, source: ast.Field) -> str:
        return self.reporter.source.slice(source.span)

    # ------------------------------------------------------------ the number of the step

    def step(self, settings: ast.Settings) -> Input | None:
        """``t`` of ``relax t in T``: an integer without dims, the same for all samples."""
        assert settings.index is not None and settings.dim is not None
        name, dim = settings.index, self.context.dim(settings.dim)
        entry = self.context.names.entries[name.text]
        if entry.tree is not settings or entry.kind != "step":
            return None
        node = None if dim is None else self.context.graph.input(name.text, "step", (), dim)
        self.equations.tensors[name.text] = None if node is None else Tensor(name.text, "step", node, ())
        return node

    # ------------------------------------------------------------ states

    def state(self, item: ast.StateItem) -> tuple[Tensor, ConstraintSet | None] | None:
        """A state and its set."""
        tensor = self.enter(item, "state")
        if tensor is None:
            return None
        if len(item.domains) > 1:
            message = f"a state stays in one set, and `{tensor.name}` has {len(item.domains)}"
            self.reporter.error(
                "E0445", message, item.domains[1].span, help="sets are joined by `and` for params alone"
            )
        match item.domains:
            case (ast.Box() as box, *_):
                low, high = self.box(box)
                return tensor, ConstraintSet("box", tuple(range(len(tensor.dims))), low, high)
            case (ast.NamedSet() as named, *_):
                return tensor, self._named_set(named, tensor)
        return tensor, None

    def _named_set(self, domain: ast.NamedSet, tensor: Tensor) -> ConstraintSet | None:
        kind = domain.name.text
        if kind in PARAM_SETS and kind not in STATE_SETS:
            sets = f"the sets of states are {listed(STATE_SETS)} and a box `[lo, hi]`"
            self.reporter.error("E0425", f"`{kind}` is a set of params", domain.name.span, help=sets)
            return None
        if kind not in STATE_SETS:
            help = counterpart("sets", kind) or did_you_mean(
                kind, STATE_SETS, f"the sets are {listed(STATE_SETS)} and a box `[lo, hi]`", domain.name.span
            )
            self.reporter.error("E0425", f"there is no set `{kind}`", domain.name.span, help=help)
            return None
        if self.has_stray_bound(domain):
            return None
        elementwise = kind == "nonnegative" and not domain.dims
        axes = tuple(range(len(tensor.dims))) if elementwise else self.axes(domain, tensor)
        if axes is None:
            return None
        low = 0.0 if kind == "nonnegative" else None
        return ConstraintSet(cast(Literal["standardized"], kind), axes, low, None)

    def has_stray_bound(self, domain: ast.NamedSet) -> bool:
        """Whether a number stands where a set takes dims alone; reported."""
        if domain.bound is not None:
            text, kind = self.reporter.source.slice(domain.bound.span), domain.name.text
            self.reporter.error("E0426", f"`{kind}` takes dims, and `{text}` is not one", domain.bound.span)
        return domain.bound is not None

    def axes(self, domain: ast.NamedSet, tensor: Tensor) -> tuple[int, ...] | None:
        """The axes of a state or param that a set names; where two have one dim, the last first."""
        if not domain.dims:
            example = f"`{domain.name.text}[{tensor.dims[-1] if tensor.dims else 'D'}]`"
            message = f"`{domain.name.text}` is taken along a dim of the {tensor.kind}"
            help = Remedy(f"write {example}", writing(example.strip("`"), domain.span))
            self.reporter.error("E0426", message, domain.span, help=help)
            return None
        axes: list[int] = []
        for dim in domain.dims:
            free = [axis for axis, own in enumerate(tensor.dims) if own == dim.text and axis not in axes]
            if not free:
                self._report_axis(tensor, dim.text, dim.span)
                return None
            axes.append(free[-1])
        return tuple(sorted(axes))

    def has_axis(self, tensor: Tensor, dim: ast.Name) -> bool:
        """Whether a tensor has a dim; reported where it has not."""
        if dim.text not in tensor.dims:
            self._report_axis(tensor, dim.text, dim.span)
        return dim.text in tensor.dims

    def _report_axis(self, tensor: Tensor, dim: str, span: Span) -> None:
        twice = dim in tensor.dims
        message = f"`{dim}` is named twice" if twice else f"`{dim}` is not a dim of {tensor.kind} `{tensor.name}`"
        label = self.context.names.entries[tensor.name].label(f"its dims are {listed(tensor.dims)}")
        self.reporter.error("E0426", message, span, labels=[label])


def _shape(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]" if shape else "a single number"

"""Indices that run over two dims: all uses are kept, so that two swapped indices are reported as one mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from energyc.language.diagnostics import Label, Remedy, Span, writing
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.sizes import Sizes
from energyc.language.resolve.terms import Index

#: The kinds of tensors whose dims a declaration gives.
DECLARED = ("param", "state", "clamp", "target")


@dataclass(frozen=True)
class Element:
    """An element as it is written, ``W[i, j]``: its tensor with the dims of its axes, and the texts of its slots."""

    tensor: str
    kind: str
    dims: tuple[str, ...]
    slots: tuple[str, ...]
    span: Span


@dataclass(frozen=True)
class Use:
    """A place where an index runs over a dim; ``place`` is where that dim is declared.

    ``element`` and ``axis`` are given where the index is a slot.
    """

    index: Index
    dim: str
    span: Span
    place: Span | None = None
    element: Element | None = None
    axis: int = 0


@dataclass
class Uses:
    """The uses of every index of a file, and those that clash with an earlier one."""

    by_index: dict[int, list[Use]] = field(default_factory=dict)
    clashes: list[Use] = field(default_factory=list)

    def add(self, use: Use) -> None:
        """Note a use, and whether it clashes with the dim that its index has."""
        uses = self.by_index.setdefault(id(use.index), [])
        if use.index.dim is not None and not uses:  # the dim is written where the index is bound
            uses.append(Use(use.index, use.index.dim, use.index.span))
        uses.append(use)
        if use.index.poisoned or use.index.dim == use.dim:
            return
        if use.index.dim is None:
            use.index.dim, use.index.reason = use.dim, use.span
            return
        use.index.poisoned = True
        self.clashes.append(use)

    def report(self, reporter: Reporter, sizes: Sizes) -> None:
        """Report every clash, and both of two swapped indices as one."""
        explained: set[int] = set()
        for clash in self.clashes:
            if id(clash.index) in explained:
                continue
            swap = next(self._swaps(clash), None)
            if swap is None:
                _report_clash(clash, reporter, sizes)
                continue
            explained |= {id(use.index) for use in swap}
            _report_swap(*swap, reporter)

    def _swaps(self, clash: Use) -> Iterator[tuple[Use, Use]]:
        """Two slots of an element whose exchange, in all elements like it, gives both indices one dim."""
        for use in self.by_index[id(clash.index)]:
            for other in (each for uses in self.by_index.values() for each in uses):
                if use.element is None or use.element is not other.element or use.axis == other.axis:
                    continue
                if self._agree_once_exchanged(use, other):
                    yield (use, other) if use.axis < other.axis else (other, use)

    def _agree_once_exchanged(self, first: Use, second: Use) -> bool:
        """Whether both indices have one dim each once they are exchanged in the element."""
        assert first.element is not None
        alike = (first.element.tensor, first.element.slots)
        exchanged = {first.axis: second.dim, second.axis: first.dim}

        def dims(uses: Sequence[Use]) -> set[str]:
            return {
                exchanged.get(use.axis, use.dim)
                if use.element is not None and (use.element.tensor, use.element.slots) == alike
                else use.dim
                for use in uses
            }

        return all(len(dims(self.by_index[id(use.index)])) == 1 for use in (first, second))


def _report_clash(clash: Use, reporter: Reporter, sizes: Sizes) -> None:
    """Report an index that runs over two dims, with both places."""
    index, dim = clash.index, clash.dim
    size, other_size = sizes.size(index.dim or dim), sizes.size(dim)
    same_size = f"; both are {size}, but dims are told apart by name" if size == other_size else ""
    labels = [Label(index.reason or index.span, f"`{index.name}` runs over {index.dim} here")]
    if clash.place is not None:
        labels.append(Label(clash.place, f"declared with {dim} here"))
    reporter.error(
        "E0301",
        f"index `{index.name}` runs over two dims, {index.dim} and {dim}{same_size}",
        clash.span,
        f"and over {dim} here",
        labels=labels,
        help="give each dim its own index, or declare both with one dim",
    )


def _report_swap(first: Use, second: Use, reporter: Reporter) -> None:
    """Report two indices of an element that are swapped, with both ways to put them right."""
    element = first.element
    assert element is not None
    slots, dims = (_exchanged(items, first.axis, second.axis) for items in (element.slots, element.dims))
    text = f"{element.tensor}[{','.join(slots)}]"
    help = f"write `{text}`"
    if element.kind in DECLARED:
        help += f", or declare `{element.tensor}[{', '.join(dims)}]`"
    help = Remedy(help, *([writing(text, element.span)] if "..." not in slots else []))
    places = [use.place for use in (first, second) if use.place is not None]
    names = f"`{first.index.name}` and `{second.index.name}`"
    reporter.error(
        "E0301",
        f"indices {names} of `{element.tensor}` are swapped: `{first.index.name}` runs over {second.dim} elsewhere, and"
        f" `{second.index.name}` over {first.dim}",
        element.span,
        labels=[Label(places[0], f"declared as `{element.tensor}[{', '.join(element.dims)}]`")] if places else [],
        help=help,
    )


def _exchanged(items: Sequence[str], first: int, second: int) -> list[str]:
    changed = list(items)
    changed[first], changed[second] = items[second], items[first]
    return changed

"""A spec as far as it was resolved, and what an editor asks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from energyc.language.diagnostics import Diagnostic, Span
from energyc.language.network import Network
from energyc.language.resolve.blocks import Part
from energyc.language.resolve.references import References
from energyc.language.resolve.unread import note_unread


@dataclass(frozen=True)
class Resolved:
    """A spec as far as it was resolved, with or without errors in it.

    ``network`` has what could be typed; where there are errors it may lack anything, and its ``blocks``. ``whole`` are
    the parts of the file as they were read, None where there was nothing to read.
    """

    network: Network | None
    diagnostics: tuple[Diagnostic, ...]
    whole: Part | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether there are only warnings."""
        return all(diagnostic.severity != "error" for diagnostic in self.diagnostics)

    @cached_property
    def shapes(self) -> Mapping[Span, tuple[str, ...]]:
        """The dims of each tensor by the place of its declared name."""
        return dict(_shapes(self.whole)) if self.whole is not None else {}

    @cached_property
    def ranges(self) -> Mapping[Span, str]:
        """The dim of each index by the place where it is bound."""
        return dict(_ranges(self.whole)) if self.whole is not None else {}

    @cached_property
    def references(self) -> References:
        """The declaration of each name where it stands."""
        if self.whole is None:
            return References()
        note_unread(self.whole, mistaken=not self.ok)
        return self.whole.names.references


def _parts(part: Part) -> Iterator[Part]:
    """A part of a file and those inside it."""
    yield part
    for block in part.blocks:
        yield from _parts(block)


def _shapes(whole: Part) -> Iterator[tuple[Span, tuple[str, ...]]]:
    for part in _parts(whole):
        for name, tensor in part.equations.tensors.items():
            if tensor is not None and name in part.names.own:
                yield part.names.entries[name].span, tensor.dims


def _ranges(whole: Part) -> Iterator[tuple[Span, str]]:
    for part in _parts(whole):
        for frame in part.equations.frames.values():
            yield from ((index.span, index.dim) for index in frame.introduced if index.dim is not None)

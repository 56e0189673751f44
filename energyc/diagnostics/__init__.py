"""One kind of diagnostic for every pass; rendering is apart (``render``)."""

from energyc.diagnostics.model import Diagnostic, Label, SpecError, UserError
from energyc.diagnostics.source import Position, Source, Span

__all__ = ["Diagnostic", "Label", "Position", "Source", "Span", "SpecError", "UserError"]

"""Text to tree: ``parse``; and back: ``unparse`` for an expression, ``format_spec`` for a whole file."""

from energyc.syntax.parser import parse

__all__ = ["parse"]

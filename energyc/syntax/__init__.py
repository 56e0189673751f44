"""Text to tree: ``parse``; and back: ``unparse`` for an expression, ``format_spec`` for a whole file."""

from energyc.syntax.parser import parse
from energyc.syntax.read import decode, read_source

__all__ = ["decode", "parse", "read_source"]

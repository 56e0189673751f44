"""Nodes of the graph written in the notation of a spec, as text and as LaTeX."""

from energyc.notation.notation import Definition, Notation, left_side

__all__ = ["Definition", "Notation", "left_side"]

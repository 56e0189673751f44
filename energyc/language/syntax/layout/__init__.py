"""The canonical layout of a spec: read its pieces, space them, put them in lines, align, indent."""

from energyc.language.syntax.layout.format import format_spec

__all__ = ["format_spec"]

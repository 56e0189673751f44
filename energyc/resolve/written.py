"""Values of settings in the notation of a spec."""

from __future__ import annotations

from fractions import Fraction

from energyc.resolve.network import Call


def written(value: object) -> str:
    """A setting's value as a spec writes it."""
    match value:
        case Call():
            inner = ", ".join(f"{key} = {written(item)}" for key, item in value.options.items())
            return f"{value.word}({inner})"
        case list():
            return f"[{', '.join(map(written, value))}]"
        case bool():
            return str(value).lower()
        case Fraction():
            return str(value)
        case float():
            return str(Fraction(repr(value)))
    return str(value)

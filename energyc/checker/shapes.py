"""Shapes of values in a file of certificates, and how shapes are put together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from energyc.checker.syntax import DIGITS

#: Checks a value at a place of a file. Raises Malformed.
Shape = Callable[[Any, str], None]
_FRACTION = re.compile(rf"-?[0-9]{{1,{DIGITS}}}(?:/0*[1-9][0-9]{{0,{DIGITS}}})?")
_LEFT = re.compile(r"[A-Za-z_]\w*(?:\[[A-Za-z_]\w*(?:, ?[A-Za-z_]\w*)*\])?")
_KINDS = {dict: "an object", list: "a list", tuple: "a list", str: "a text", bool: "true or false", type(None): "null"}


class Malformed(ValueError):
    """A file that is not one of certificates, or an entry that is none: the message is a sentence about the place."""


def expect(holds: bool, value: Any, at: str, wanted: str) -> None:
    """Raises Malformed unless a value at a place is what is wanted there."""
    if not holds:
        shown = f"the text {value[:40]!r}" if isinstance(value, str) else _KINDS.get(type(value), "a number")
        raise Malformed(f"{at} is {shown}, not {wanted}")


def text(value: Any, at: str) -> None:
    """A text."""
    expect(isinstance(value, str), value, at, "a text")


def fraction(value: Any, at: str) -> None:
    """A fraction, as a text."""
    known = isinstance(value, str) and _FRACTION.fullmatch(value) is not None
    expect(known, value, at, f"a fraction such as '1/2', of at most {DIGITS} digits")


def left(value: Any, at: str) -> None:
    """The left side of a force, without its term."""
    expect(isinstance(value, str) and _LEFT.fullmatch(value) is not None, value, at, "a state at indices")


def whole(value: Any, at: str) -> None:
    """A whole number."""
    expect(type(value) is int, value, at, "a whole number")


def flag(value: Any, at: str) -> None:
    """True or false."""
    expect(isinstance(value, bool), value, at, "true or false")


def anything(value: Any, at: str) -> None:
    """What is looked at elsewhere."""


def or_null(shape: Shape) -> Shape:
    """Null, or what has a shape."""
    return lambda value, at: None if value is None else shape(value, at)


def text_or(shape: Shape) -> Shape:
    """A text, or what has a shape."""
    return lambda value, at: None if isinstance(value, str) else shape(value, at)


def list_of(shape: Shape, length: int | None = None) -> Shape:
    """A list whose items have a shape, of a length if one is given."""

    def check(value: Any, at: str) -> None:
        known = isinstance(value, list | tuple) and length in (None, len(value))
        expect(known, value, at, "a list" if length is None else f"a list of {length}")
        for k, item in enumerate(value):
            shape(item, f"{at}[{k}]")

    return check


def map_of(shape: Shape, name: Shape = anything) -> Shape:
    """An object whose values, and names, have a shape."""

    def check(value: Any, at: str) -> None:
        expect(isinstance(value, Mapping), value, at, "an object")
        for key, item in value.items():
            name(key, f"the name in {at}")
            shape(item, f"{at}.{key}")

    return check


def record(fields: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """An object with these fields and no others."""
    known = {**fields, **(optional or {})}

    def check(value: Any, at: str) -> None:
        expect(isinstance(value, Mapping), value, at, "an object")
        for key in sorted(fields.keys() - value.keys()):
            raise Malformed(f"{at} has no field {key}")
        for key in value:
            if key not in known:
                raise Malformed(f"{at} has a field {key[:40]!r}, which is none of {', '.join(known)}")
            known[key](value[key], f"{at}.{key}")

    return check


def by(field: str, shapes: Mapping[str, Shape]) -> Shape:
    """An object whose field says which shape it has."""

    def check(value: Any, at: str) -> None:
        expect(isinstance(value, Mapping), value, at, "an object")
        kind = value.get(field)
        expect(isinstance(kind, str) and kind in shapes, kind, f"{at}.{field}", f"one of {', '.join(shapes)}")
        shapes[kind](value, at)

    return check


NAMES, PAIRS, SIZES, LENGTHS = list_of(text), list_of(list_of(text, 2)), map_of(whole), map_of(fraction)
#: The fields of most statements: what they are about, and for what they hold.
ABOUT = {"kind": text, "layer": or_null(text), "for": text}
SIZED = {**ABOUT, "sizes": SIZES}

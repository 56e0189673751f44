"""The shape of a file of certificates: which fields stand where, and what each value is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from energyc.checker.syntax import DIGITS

#: Checks a value at a place of a file. Raises Malformed.
Shape = Callable[[Any, str], None]
_FRACTION = re.compile(rf"-?[0-9]{{1,{DIGITS}}}(?:/0*[1-9][0-9]{{0,{DIGITS}}})?")
_LEFT = re.compile(r"[A-Za-z_]\w*(?:\[[\w, ]*\])?")
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
_ABOUT = {"kind": text, "layer": or_null(text), "for": text}
_SIZED = {**_ABOUT, "sizes": SIZES}
_PROOF = {**_SIZED, "by": NAMES}
_STEPS = {"steps": text, "lengths": LENGTHS}
#: The statements of certificates, and of rule trees, by kind.
OF_CERTIFICATES = by(
    "kind",
    {
        "gradient": record({**_PROOF, "of": NAMES}),
        "symmetric": record({**_PROOF, "of": text_or(NAMES), "across": flag}),
        "matrix": record({**_PROOF, "of": text, "by": list_of(text, 2)}),
        "metric": record({**_PROOF, "of": text, "by": list_of(text, 1)}),
    },
)
OF_TREES = by(
    "kind",
    {
        "floor": record({**_SIZED, "of": NAMES, "attained": flag}),
        "part": record({"kind": text, "of": PAIRS, "confines": LENGTHS, "given": NAMES}),
        "rest": record({**_SIZED, **_STEPS}),
        "damped": record({"kind": text, "of": list_of(text, 1)}),
        "unique": record({**_SIZED, "steps": text}),
        "converges": record({**_SIZED, **_STEPS, "rate": fraction}),
        "curved": record({"kind": text, **_STEPS, "m": fraction, "L": or_null(fraction)}),
        "contraction": record({**_SIZED, "of": text, "step": fraction}),
        "semidefinite": record({**_ABOUT, "of": text, "by": NAMES}),
        "invertible": record({**_ABOUT, "of": text, "by": text}),
        "positive": record({**_ABOUT, "of": text, "by": text, "given": NAMES}),
    },
)
STEP = by(
    "rule",
    {
        "slope": record({"rule": text, "force": left, "is": text}),
        "potential": record({"rule": text, "energy": text}),
    },
)
#: The claim of an entry is for its readers: nothing rests on it.
_ENTRY = {"claim": text, "formulas": map_of(text), "statement": OF_CERTIFICATES}
_FACTS = record({}, {"squares": NAMES, "apart": NAMES, "kinks": PAIRS, "sign": whole})
#: How deep premises are nested at most.
DEPTH = 8


def premise(value: Any, at: str) -> None:
    """A node of a rule tree."""
    if at.count("premises") > DEPTH:
        raise Malformed(f"{at} is nested more than {DEPTH} premises deep")
    record(_NODE)(value, at)


_NODE = {"statement": OF_TREES, "rule": text, "premises": list_of(premise), "facts": _FACTS}
#: The shape of an entry of each list of a file.
ENTRIES = {
    "certificates": record({**_ENTRY, "steps": list_of(STEP)}),
    "claims": record({**_ENTRY, **_NODE}),
}
#: A file, whose entries are judged each by itself.
FILE = record(
    {"format": text, "version": whole, "consts": LENGTHS, **dict.fromkeys(ENTRIES, list_of(anything))},
    {"network": text, "uncertified": list_of(record({"claim": text, "reason": text}))},
)

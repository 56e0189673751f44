"""The convex kinks of an energy by which steps move proximally: docs/language.md, proximal steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from energyc.checker.algebra import Atom, Poly, seen
from energyc.checker.bounds import Bounds, set_of
from energyc.checker.syntax import Left, NotCovered

OTHER = "a kink of another form"


class Kink(NamedTuple):
    """A kink of entries of a ``state``: where one passes a number, which may be 0 or not, or a ``norm`` at 0."""

    state: str
    norm: bool
    at_0: bool


def split(part: Poly, bounds: Bounds) -> tuple[Poly, list[Kink]]:
    """The products of a part of an energy that have a continuous slope, and the kinks that all others are.

    Raises NotCovered for one of another form.
    """
    smooth, kinks = list[Any](), list[Kink]()
    for (bound, factors), value in part:
        known = {factor: bounds.of_product((), [factor]) for factor in factors}
        kinked = [factor for factor, facts in known.items() if not (facts.continuous and facts.smooth)]
        if not kinked:
            smooth.append(((bound, factors), value))
            continue
        if len(kinked) > 1 or value < 0 or not all(is_weight(bounds, *each) for each in factors.difference(kinked)):
            raise NotCovered(OTHER)
        kinks.append(kink_of(bounds, *kinked[0]))
    return Poly(smooth), kinks


def kink_of(bounds: Bounds, atom: Atom, exponent: Any) -> Kink:
    """The kink of ``abs`` or ``relu`` of a multiple of an entry plus a number, or of the root of a sum of squares."""
    moving = [(form, value) for form, value in atom.args[0] if form[1]] if atom.args else []
    if len(moving) == 1 and len(moving[0][0][1]) == 1:
        (((bound, ((end, power),)), value),) = moving
        at_0, norm = len(moving) == len(atom.args[0]), atom.name == "power"
        form = (exponent, power, bool(bound)) == ((Fraction(1, 2), 2, True) if norm else (1, 1, False))
        known = (norm and at_0 and value > 0) or atom.name in ("abs", "relu")
        if form and known and end.name in bounds.spec["states"] and bounds.is_each(end, seen(end)[0]):
            return Kink(end.name, norm, at_0)
    raise NotCovered(OTHER)


def is_weight(bounds: Bounds, atom: Atom, exponent: Any) -> bool:
    """Whether a power of a size, a const, a param or an exponential is nowhere negative, has no pole, and is given."""
    known, left = bounds.of_atom(atom), bounds.spec["tensors"].get(atom.name)
    plain = atom.kind in ("size", "element") and (left is None or set_of(left)[0] in ("box", "nonnegative"))
    sized = known.low >= 0 and (exponent > 0 or not known.zero)
    return sized and (plain or atom.name == "exp") and is_given(bounds, atom)


def is_given(bounds: Bounds, atom: Atom) -> bool:
    """Whether an atom reads params and consts alone."""
    left = bounds.spec["tensors"].get(atom.name) if atom.kind == "element" else None
    inner = (each for part in atom.args for (_, factors), _ in part for each, _ in factors)
    return (left is None or left.word == "param") and all(is_given(bounds, each) for each in inner)


def move_proximally(kinks: Sequence[Kink], states: Mapping[str, Left]) -> bool:
    """Whether all kinks of each state have a proximal operator that is known, together and with its set."""
    for name in {kink.state for kink in kinks}:
        own, kind = [kink for kink in kinks if kink.state == name], set_of(states[name])[0]
        norms = sum(kink.norm for kink in own)
        plain = kind in ("", "nonnegative") and norms == 1 and all(kink.at_0 for kink in own)
        if kind not in ("", "box", "nonnegative") or (norms and not plain):
            return False
    return True

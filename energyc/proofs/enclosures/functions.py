"""Scalar functions of the table on ranges and enclosures."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from energyc.mathematics.functions import ScalarFunction
from energyc.proofs.enclosures.enclosure import POSITIVE, Enclosure
from energyc.proofs.enclosures.intervals import Interval, NoEnclosure, mapped
from energyc.proofs.enclosures.ranges import ANY, LEAST, Range, exactly, widened

#: Nearer to 0 than this no function of the table underflows.
FAR = 30.0


def powered(exponent: Fraction, u: Enclosure, found: Enclosure) -> Enclosure:
    """What is known of a fixed power: one below 0 is bounded where its base keeps away from 0, and the reverse."""
    bounded, away = (u.away, u.bounded) if exponent < 0 else (u.bounded, u.away)
    return replace(found, bounded=bounded, away=away)


def right_of_zero(entry: ScalarFunction, u: Enclosure, found: Enclosure) -> Enclosure:
    """What is known of a logarithm, which falls without bound at 0, or of a root."""
    falls = not (entry.domain is not None and entry.domain.zero)
    return replace(found, bounded=u.bounded and (u.away or not falls), away=u.away and not falls)


def mapped_range(entry: ScalarFunction, u: Range) -> Range:
    """By monotony where there is any, by intervals, and by the function's own bounds."""
    strict = entry.strictly_monotone
    never = strict and entry.domain is None  # such a bound is not taken on the line; a root is 0 at 0
    own = Range(entry.low, entry.high, never, never)
    if entry.positive == "everywhere" or (entry.positive == "right" and u.positive):
        own = own.within(POSITIVE)
    if entry.exponent is not None:
        return _power_range(entry, entry.exponent, u).within(own)
    if entry.monotone:
        return _monotone(entry, u, strict).within(own)
    return own.within(_in_intervals(entry, u)) if u.finite else own


def _monotone(entry: ScalarFunction, u: Range, strict: bool) -> Range:
    low, high = u.ends[:: entry.monotone]
    ends = _value(entry, low[0], -math.inf, -LEAST), _value(entry, high[0], math.inf, LEAST)
    return widened(*ends, strict and low[1], strict and high[1])


def _power_range(entry: ScalarFunction, exponent: Fraction, u: Range) -> Range:
    """Of a power: rising or falling right of 0, a square or an odd power elsewhere."""
    if exponent.denominator == 1 and exponent > 0:
        result = exactly(1.0)
        for _ in range(int(exponent) // 2):
            result = result * u.squared()
        return result * u if exponent % 2 else result
    if not u.nonnegative:
        return ANY
    low, high = u.ends[:: 1 if exponent > 0 else -1]
    ends = _value(entry, low[0], 0.0, -LEAST), _value(entry, high[0], math.inf, LEAST)
    return widened(*ends, low[1], high[1])


def _in_intervals(entry: ScalarFunction, u: Range) -> Range:
    try:
        bounds = mapped(entry, Interval(np.asarray(u.low), np.asarray(u.high)))
    except (NoEnclosure, ZeroDivisionError, OverflowError, ValueError):
        return ANY
    return widened(float(bounds.low), float(bounds.high))


def _value(entry: ScalarFunction, end: float, otherwise: float, least: float) -> float:
    """The value at an end: ``otherwise`` where there is none, ``least`` where a function may underflow to 0.

    A power of what is not 0 may, and a function of the table far out.
    """
    if not math.isfinite(end):
        return otherwise
    with np.errstate(all="ignore"):
        value = float(entry.value(np.asarray(end)))
    smooth = entry.homogeneous is None and not entry.kinks
    if value == 0 and end != 0 and smooth and (entry.exponent is not None or abs(end) > FAR):
        return least
    return value if math.isfinite(value) else otherwise

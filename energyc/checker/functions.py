"""What is known of functions of numbers, and of reductions, by what is known of these numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from energyc.checker.ranges import NONE, SLACK, Facts, held, number
from energyc.checker.syntax import NotCovered

#: The shapes of functions: they rise; fall to both sides of 0 alike; jump at 0 from the one bound to the other; are
#: above 1/2 on the right and below it on the left; are a cosine or a sine; rise in the end as their argument does.
RISING, BELL, JUMP, HALVED, WAVE, UNIT = "rising", "bell", "jump", "halved", "wave", "unit"


class Function(NamedTuple):
    """A function of one number from ``low`` to ``high``, with its value in floats where the shape makes use of that.

    ``slope`` is another function, with a prime, or a formula of u: of functions that may be kept whole.
    """

    low: Any
    high: Any
    shape: str = ""
    value: Callable[[float], float] = float
    slope: str = ""


FUNCTIONS = {
    "tanh": Function(-1, 1, RISING, math.tanh, "tanh'"),
    "tanh'": Function(0, 1, BELL, lambda x: math.cosh(x) ** -2, "tanh''"),
    "tanh''": Function(Fraction(-4, 5), Fraction(4, 5)),
    "erf": Function(-1, 1, RISING, math.erf, "erf'"),
    "erf'": Function(0, Fraction(113, 100), BELL, lambda x: 2 / math.sqrt(math.pi) * math.exp(-(x**2)), "erf''"),
    "erf''": Function(Fraction(-97, 100), Fraction(97, 100)),
    "softsign": Function(-1, 1, RISING, lambda x: x / (1 + abs(x)), "softsign'"),
    "softsign'": Function(0, 1, BELL, lambda x: (1 + abs(x)) ** -2, "softsign''"),
    "softsign''": Function(-2, 2),
    "sigmoid": Function(0, 1, RISING, lambda x: 1 / (1 + math.exp(-x)), "sigmoid'"),
    "sigmoid'": Function(
        0, Fraction(1, 4), BELL, lambda x: math.exp(-abs(x)) * (1 + math.exp(-abs(x))) ** -2, "sigmoid''"
    ),
    "sigmoid''": Function(Fraction(-1, 10), Fraction(1, 10)),
    "exp": Function(0, math.inf, RISING, math.exp),
    "softplus": Function(0, math.inf, RISING, lambda x: math.log1p(math.exp(x)), "sigmoid(u)"),
    "logsigmoid": Function(-math.inf, 0, RISING, lambda x: -math.log1p(math.exp(-x)), "sigmoid(-u)"),
    "silu": Function(Fraction(-3, 10), math.inf, UNIT, slope="silu'"),
    "silu'": Function(Fraction(-1, 10), Fraction(11, 10), HALVED, slope="silu''"),
    "silu''": Function(Fraction(-1, 5), Fraction(1, 2)),
    "gelu": Function(Fraction(-1, 5), math.inf, UNIT, slope="gelu'"),
    "gelu'": Function(Fraction(-13, 100), Fraction(113, 100), HALVED, slope="gelu''"),
    "gelu''": Function(Fraction(-11, 100), Fraction(4, 5)),
    "gelu_tanh": Function(Fraction(-1, 5), math.inf, UNIT),
    "sin": Function(-1, 1, WAVE, math.sin),
    "cos": Function(-1, 1, WAVE, math.cos),
    "gauss": Function(0, Fraction(2, 5)),
    "relu": Function(0, math.inf, slope="relu'"),
    "relu'": Function(0, 1, JUMP, slope="0"),
    "abs": Function(0, math.inf, slope="abs'"),
    "abs'": Function(-1, 1, JUMP, slope="0"),
    "leaky_relu": Function(-math.inf, math.inf, slope="leaky_relu'"),
    "leaky_relu'": Function(Fraction(1, 100), 1, JUMP, slope="0"),
}
#: Beyond FAR no values are computed. What is computed is widened by a share, but at 0 where it is a half or a whole.
FAR, HALVINGS = 30, 40
#: By how much what tends to 1 differs from it in the end, at most.
SMALL = Fraction(1, 1000)


def is_whole(name: str) -> bool:
    """Whether a function of the language may be kept whole as slopes are taken."""
    return name in FUNCTIONS and bool(FUNCTIONS[name].slope) and "'" not in name


def image(name: str, u: Facts) -> Facts:
    """A function of the table, of a number. Slopes may jump. Raises NotCovered for any other one."""
    if name not in FUNCTIONS:
        raise NotCovered(f"the function {name}")
    low, high = _ends(FUNCTIONS[name], u)
    if "'" in name:
        zero = FUNCTIONS[name].shape != BELL
        return number(low) if low == high else Facts(low, high, zero, reads=u.reads).settled()
    if FUNCTIONS[name].shape == RISING:
        signed = FUNCTIONS[name].low < 0 < FUNCTIONS[name].high
        away = u.away if signed else u.above if FUNCTIONS[name].high == 0 else u.below
        return u._replace(low=low, high=high, zero=signed and u.zero, away=away).settled()
    unit = FUNCTIONS[name].shape == UNIT
    known = Facts(low, high, u.zero or not unit, above=unit and u.above, continuous=u.continuous, reads=u.reads)
    return known._replace(top=u.smooth, bottom=u.smooth).settled()


def _ends(function: Function, u: Facts) -> tuple[Any, Any]:
    """The range of a function of a number."""
    low, high = function[:2]
    match function.shape:
        case "rising":
            low = max(low, _rounded(function.value, min(u.low, FAR), -1)) if u.low >= -FAR else low
            high = min(high, _rounded(function.value, max(u.high, -FAR), 1)) if u.high <= FAR else high
        case "bell":
            near, far = max(u.low, -u.high, 0), max(-u.low, u.high)
            low = _rounded(function.value, far, -1) if far <= FAR else low
            high = min(high, _rounded(function.value, min(near, FAR), 1))
        case "jump" if u.positive or (-u).positive:
            low = high = high if u.positive else low
        case "halved" if u.signed:
            low, high = (Fraction(1, 2), high) if u.low >= 0 else (low, Fraction(1, 2))
        case "wave" if max(abs(u.low), abs(u.high)) <= FAR:
            low, high = _wave(function.value, *u[:2])
        case "unit":
            low, high = 0 if u.low >= 0 else low, high if u.high > 0 else 0
    return low, high


def _wave(value: Callable[[float], float], low: Any, high: Any) -> tuple[Any, Any]:
    """The ends of a sine or a cosine, widened: where it turns in between, 1 or -1."""
    ends, first = [Fraction(value(float(end))) for end in (low, high)], 0.5 if value is math.sin else 0
    places = math.ceil(float(low) / math.pi - first - 1e-9), math.floor(float(high) / math.pi - first + 1e-9)
    turns = {k % 2 for k in range(places[0], places[1] + 1)}
    return -1 if 1 in turns else max(min(ends) - SLACK, -1), 1 if 0 in turns else min(max(ends) + SLACK, 1)


def _rounded(function: Callable[[float], float], at: Any, way: int) -> Any:
    """The value of a function, widened."""
    value = Fraction(function(float(at)))
    return value if at == 0 and value.denominator <= 2 else value + way * SLACK * abs(value)


def preimage(name: str, value: Any, way: int) -> Any:
    """A number that no argument at which a rising function is above (``way`` -1) or below a value goes beyond."""
    near, far = Fraction(way * FAR), Fraction(-way * FAR)

    def beyond(at: Fraction) -> bool:
        known = image(name, number(at))
        return bool(known.high <= value if way < 0 else known.low >= value)

    if not beyond(near):
        return way * math.inf
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if beyond(middle) else (near, middle)
    return near


# ---------------------------------------------------------------- functions that are no entries of the table


def far_out(name: str) -> Facts:
    """What grows without bound, tends to 1, is bounded, or small."""
    if name == "|z|":
        return Facts(0, zero=False, continuous=True, top=True, bottom=True).settled()
    return held(1 - SMALL, 1 + SMALL) if name == "near" else held() if name == "bounded" else held(0, 1)


def reduction(name: str, u: Facts, guarded: bool, eps: Facts) -> Facts:
    """A reduction of numbers, of none of them perhaps where it is ``guarded``. Raises NotCovered."""
    smooth = u.smooth
    if name == "sum":
        return u.repeated(guarded)
    if name == "mean":
        found = u._replace(zero=u.zero or not u.signed, away=u.away and u.signed)
        return found.joined(number(0)).settled() if guarded else found.settled()
    if name == "softmax":
        return Facts(0, 1, guarded, continuous=u.continuous, top=smooth, bottom=smooth, reads=u.reads).settled()
    if name == "max" and not guarded:
        return u._replace(bottom=False).settled()
    if name == "min":
        return -reduction("max", -u, guarded, eps)
    if name == "logsumexp":
        return u._replace(low=-math.inf, high=math.inf, zero=True, away=False).settled()
    if name == "cross_entropy" and not guarded:
        least = reduction("logsumexp", u, guarded, eps) + -u
        return least._replace(low=0, below=True).settled()
    if name == "correct" and not guarded:
        return Facts(0, 1, reads=u.reads).settled()
    if name == "variance" and not guarded:
        return Facts(0, above=u.bounded, continuous=u.continuous, top=smooth, bottom=smooth, reads=u.reads).settled()
    if name in ("layernorm", "rmsnorm", "standardize") and not guarded and eps.positive:
        known = Facts(below=True, above=True, continuous=u.continuous, top=smooth, bottom=smooth, reads=u.reads)
        return known.settled()
    raise NotCovered(f"the reduction {name}")


def absolute(u: Facts) -> Facts:
    """At 0 its computed slope is 0, also where that is a rim of what is allowed."""
    smooth = u.smooth and not u.zero
    return u._replace(
        low=0, high=max(-u.low, u.high), below=True, above=u.bounded, top=u.smooth, bottom=smooth
    ).settled()


def relu(u: Facts) -> Facts:
    """The larger of a number and 0."""
    return largest(u, number(0))


def leaky_relu(u: Facts, slope: Facts | None = None) -> Facts:
    """The larger of a number and a multiple of it, or the smaller for a slope above 1."""
    slope = number(Fraction(1, 100)) if slope is None else slope
    if slope.reads != NONE or slope.low < 1 < slope.high:
        raise NotCovered("a slope of leaky_relu")
    return largest(u, u * slope) if slope.high <= 1 else -largest(-u, -u * slope)


def log(u: Facts) -> Facts:
    """The logarithm, which has a pole at 0."""
    low = max(_logarithm(u.low, -1, -math.inf), 0 if u.low >= 1 else -math.inf)
    high = min(_logarithm(u.high, 1, math.inf), 0 if u.high <= 1 else math.inf)
    top, bottom = u.positive and u.top, u.positive and u.bottom
    return Facts(
        low, high, True, u.away and u.low >= 0, u.above, False, u.positive and u.continuous, top, bottom, u.reads
    ).settled()


def _logarithm(end: Any, way: int, otherwise: float) -> Any:
    """The logarithm of a number that is neither very small nor very large, widened."""
    if not Fraction(1, 10**30) < end < 10**30:
        return otherwise
    value = Fraction(math.log(end))
    return value + way * SLACK * (1 + abs(value))


def largest(u: Facts, *rest: Facts) -> Facts:
    """The largest of numbers."""
    if not rest:
        return u
    v = largest(*rest)
    if u.low >= v.high or v.low >= u.high:
        return u if u.low >= v.high else v
    zero = not (u.positive or v.positive)
    return Facts(
        max(u.low, v.low),
        max(u.high, v.high),
        zero and (u.zero or v.zero),
        u.below or v.below,
        u.above and v.above,
        (u.away and u.low >= 0) or (v.away and v.low >= 0) or (u.away and v.away),
        u.continuous and v.continuous,
        u.top and v.top,
        u.reads == v.reads == NONE,
        max(u.reads, v.reads),
    ).settled()


def clip(u: Facts, low: Facts, high: Facts) -> Facts:
    """A number between two others."""
    return -largest(-largest(u, low), -high)


#: Functions of one number or more, with kinks or poles.
OTHERS: dict[str, Callable[..., Facts]] = {
    "abs": absolute, "relu": relu, "log": log, "sqrt": lambda u: u.power(Fraction(1, 2)), "leaky_relu": leaky_relu,
    "max": largest, "min": lambda u, *rest: -largest(-u, *(-v for v in rest)), "clip": clip,
}  # fmt: skip

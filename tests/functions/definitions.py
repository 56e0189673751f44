"""The scalar functions again, by definitions of their own in mpmath."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mpmath as mp


def _cubic() -> mp.mpf:
    return mp.mpf(44715) / 10**6


def _sigmoid(u: mp.mpc) -> mp.mpc:
    return 1 / (1 + mp.exp(-u))


def _silu(u: mp.mpc) -> mp.mpc:
    return u / (1 + mp.exp(-u))


def _normal(u: mp.mpc) -> mp.mpc:
    return mp.ncdf(u) if mp.im(u) == 0 else (1 + mp.erf(u / mp.sqrt(2))) / 2


def _inner(u: mp.mpc) -> mp.mpc:
    return mp.sqrt(2 / mp.pi) * (u + _cubic() * u**3)


def _gelu_tanh(u: mp.mpc) -> mp.mpc:
    return u * (1 + mp.tanh(_inner(u))) / 2


def _silu_slope(u: mp.mpc) -> mp.mpc:
    return _sigmoid(u) + u * mp.exp(-u) * _sigmoid(u) ** 2


def _gelu_tanh_slope(u: mp.mpc) -> mp.mpc:
    inner = mp.sqrt(2 / mp.pi) * (1 + 3 * _cubic() * u**2)
    return (1 + mp.tanh(_inner(u))) / 2 + u * inner / mp.cosh(_inner(u)) ** 2 / 2


DEFINITIONS: Mapping[str, Callable[[mp.mpc], mp.mpc]] = {
    "exp": mp.exp,
    "log": mp.log,
    "sqrt": mp.sqrt,
    "abs": lambda u: u if mp.re(u) > 0 else -u,
    "sign": lambda u: mp.sign(mp.re(u)),
    "sin": mp.sin,
    "cos": mp.cos,
    "tanh": mp.tanh,
    "sigmoid": _sigmoid,
    "logsigmoid": lambda u: mp.log(_sigmoid(u)),
    "softsign": lambda u: u / (1 + (u if mp.re(u) > 0 else -u)),
    "relu": lambda u: u if mp.re(u) > 0 else mp.mpf(0),
    "step": lambda u: mp.mpf(mp.re(u) > 0),
    "above": lambda u: mp.mpf(mp.re(u) > 0),
    "reached": lambda u: mp.mpf(mp.re(u) >= 0),
    "softplus": lambda u: mp.log(1 + mp.exp(u)),
    "silu": _silu,
    "silu_slope": _silu_slope,
    "silu_integral": lambda u: u * mp.log1p(mp.exp(u)) + mp.polylog(2, -mp.exp(u)),
    "erf": mp.erf,
    "erf_slope": lambda u: 2 / mp.sqrt(mp.pi) * mp.exp(-(u**2)),
    "gauss": lambda u: mp.exp(-(u**2) / 2) / mp.sqrt(2 * mp.pi),
    "cumulative": _normal,
    "gelu": lambda u: u * _normal(u),
    "gelu_slope": lambda u: _normal(u) + u * mp.exp(-(u**2) / 2) / mp.sqrt(2 * mp.pi),
    "gelu_tanh": _gelu_tanh,
    "gelu_tanh_slope": _gelu_tanh_slope,
    "gelu_tanh_core": lambda u: mp.tanh(_inner(u)),
    "gelu_tanh_scale": lambda u: mp.sqrt(2 / mp.pi) * u,
}

#: So many digits that no sum cancels the last of them; a polylogarithm cancels none, and would take minutes.
DIGITS: Mapping[str, int] = {name: 130 if name == "silu_integral" else 700 for name in DEFINITIONS}

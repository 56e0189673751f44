r"""Params as a device holds them: rounded to few bits, and each a little off.

**Quantisation.** Each tensor has a uniform grid of its own, and each entry goes to the nearest value, halves to the
even one. With b bits and a = max \|w\|:

.. math::
   w \text{ of either sign:}\quad Q(w) = \Delta\,\mathrm{round}(w/\Delta),\quad \Delta = a / (2^{b-1} - 1)

   w \ge lo \ge 0 \text{ by its bounds:}\quad Q(w) = lo + \Delta\,\mathrm{round}((w - lo)/\Delta),\quad
   \Delta = (\max w - lo) / (2^b - 1)

The first grid is symmetric and holds 0, with one value less than b bits could name. Over the ``box``, a param with two
bounds has the :math:`2^b` values from lo to hi, whatever its entries are.

**Mismatch.** Each entry is then multiplied by :math:`1 + \sigma\varepsilon` with a normal :math:`\varepsilon` of its
own, and put back between its bounds. Other sets of params are left, as a device leaves them: mirrored entries of a
symmetric one are drawn apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from energyc.language.diagnostics import UserError
from energyc.language.settings import TrainOptions
from energyc.running.training.network import assign, learnable, params_kept

Over = Literal["tensor", "box"]
#: The bits that a grid may have: fewer hold no sign, more are lost in float32.
FEWEST, MOST = 2, 24
#: The largest mismatch: beyond it a third of all params would change sign.
LARGEST = 1.0


@dataclass(frozen=True)
class Precision:
    """How exactly a device holds params: ``bits`` (None: as they are) and the relative deviation ``mismatch``.

    Raises UserError E0970 for values that mean nothing.
    """

    bits: int | None = None
    mismatch: float = 0.0

    def __post_init__(self) -> None:
        if self.bits is not None and not (isinstance(self.bits, int) and FEWEST <= self.bits <= MOST):
            message = f"params cannot be held in {self.bits} bits"
            raise UserError(message, code="E0970", help=f"give whole numbers from {FEWEST} to {MOST}")
        if not 0 <= self.mismatch <= LARGEST:
            message = f"a mismatch of {self.mismatch:g} is not a relative deviation"
            raise UserError(message, code="E0970", help="give shares from 0 to 1, as 0.01 or 1%")

    @property
    def is_random(self) -> bool:
        """Whether each draw is another device."""
        return self.mismatch > 0

    def __str__(self) -> str:
        bits = [f"{self.bits} bits"] if self.bits is not None else []
        return ", ".join([*bits, *([f"{self.share} mismatch"] if self.mismatch else [])]) or "as trained"

    @property
    def share(self) -> str:
        """The mismatch in percent."""
        return f"{100 * self.mismatch:.3g}%"


@dataclass(frozen=True)
class Grid:
    """The values ``anchor + k * step`` from ``low`` to ``high``; a step of 0 holds every value as it is."""

    low: float
    high: float
    anchor: float
    step: float

    def nearest(self, values: Tensor) -> Tensor:
        """The nearest values of the grid."""
        if self.step == 0:
            return values.clone()
        exact = values.double()
        rounded = self.anchor + self.step * torch.round((exact - self.anchor) / self.step)
        return rounded.clamp(self.low, self.high).to(values.dtype)


def grid(
    values: Tensor, bits: int, bounds: tuple[float | None, float | None] = (None, None), over: Over = "tensor"
) -> Grid:
    """Return the grid of a tensor; ``bounds`` are those of its param."""
    low, high = bounds
    if over == "box" and low is not None and high is not None:
        return _between(low, high, bits)
    if low is not None and low >= 0:
        return _between(low, max(low, float(values.max())), bits)
    if high is not None and high <= 0:
        return _between(min(high, float(values.min())), high, bits)
    largest = float(values.abs().max())
    return Grid(-largest, largest, 0.0, largest / (2 ** (bits - 1) - 1))


def _between(low: float, high: float, bits: int) -> Grid:
    return Grid(low, high, low, (high - low) / (2**bits - 1))


@contextmanager
def held(net: Any, precision: Precision, *, seed: int = 0, over: Over = "tensor") -> Iterator[Any]:
    """A network whose params are, inside the context, as a device holds them; afterwards they are as before.

    ``seed`` draws the device. A tied param is the one tensor that it is.
    """
    params = learnable(net)
    random = torch.Generator().manual_seed(seed)
    with params_kept(params) as before:
        bounds = {name: net.param_bounds.get(name, (None, None)) for name in params}
        assign(params, {n: _as_held(value, precision, bounds[n], over, random) for n, value in before.items()})
        yield net


def as_deployed(net: Any, options: TrainOptions) -> AbstractContextManager[object]:
    """Give a network the params as they are used after a training with ``train.bits``: rounded."""
    return nullcontext() if options.bits is None else held(net, Precision(options.bits))


def _as_held(
    values: Tensor,
    precision: Precision,
    bounds: tuple[float | None, float | None],
    over: Over,
    random: torch.Generator,
) -> Tensor:
    if precision.bits is not None and values.numel():
        values = grid(values, precision.bits, bounds, over).nearest(values)
    if precision.is_random:
        drawn = torch.randn(values.shape, generator=random, dtype=torch.float64).to(values)
        values = values * (1 + precision.mismatch * drawn)
        values = values if bounds == (None, None) else values.clamp(*bounds)
    return values

"""Learning rates and nudges as pure functions of the update's number, so that a checkpoint needs no scheduler.

The weight of the Jacobian penalty is steered by the residual; its controller is kept in the checkpoint.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from energyc.language.settings import TrainOptions
from energyc.language.settings.train import JacobianPenalty, updates_of


def rate_factor(options: TrainOptions, step: int, total: int) -> float:
    """Return the factor on every peak rate at update ``step`` of ``total``.

    Warm-up rises linearly over the first ``warmup`` updates, or over that share of the run; then ``cosine`` and
    ``linear`` fall from 1 to final_lr / lr (0 without a final_lr), which the last update reaches.
    """
    warmup = options.warmup_updates(total)
    if step < warmup:
        return (step + 1) / warmup
    if options.schedule == "constant":
        return 1.0
    span = max(total - warmup - 1, 1)
    passed = min((step - warmup) / span, 1.0)
    remaining = 1 - passed if options.schedule == "linear" else (1 + math.cos(math.pi * passed)) / 2
    base = options.base_rate
    final = (options.final_lr or 0.0) / base if base > 0 else 0.0
    return final + (1 - final) * remaining


def beta_factor(options: TrainOptions, step: int, total: int) -> float:
    """Return the factor on the strength of the nudge at update ``step`` of ``total``.

    It goes from 1 to ``final``, which it reaches at the end of ``over`` (of the run where that is not set): by equal
    differences (``linear``), by equal ratios (``geometric``), or along half a cosine.
    """
    schedule = options.beta_schedule
    if schedule is None:
        return 1.0
    span = total if schedule.over is None else updates_of(schedule.over, total)
    passed = min(step / max(span - 1, 1), 1.0)
    if schedule.shape == "geometric":
        return schedule.final**passed
    if schedule.shape == "cosine":
        passed = (1 - math.cos(math.pi * passed)) / 2
    return 1 + (schedule.final - 1) * passed


# ------------------------------------------------------------------ the penalty's weight

_DECAY = 0.9  # of the running mean of the residual
_POWER = 0.3


@dataclass(frozen=True)
class Controller:
    """The weight lambda of the penalty and the running mean of the residual that steers it."""

    weight: float
    average: float | None = None

    @staticmethod
    def start(penalty: JacobianPenalty) -> Controller:
        """Return the controller of the first update, whose weight is the floor."""
        return Controller(penalty.floor)

    def after(self, residual: float, penalty: JacobianPenalty) -> Controller:
        """lambda <- clip(lambda * (EMA(residual) / target)^0.3, floor, ceiling); the floor lies above zero."""
        if not math.isfinite(residual):
            return Controller(penalty.ceiling, self.average)
        average = residual if self.average is None else _DECAY * self.average + (1 - _DECAY) * residual
        weight = self.weight * (average / penalty.target) ** _POWER
        return Controller(min(max(weight, penalty.floor), penalty.ceiling), average)

    def to_json(self) -> dict[str, float | None]:
        """Return the fields as plain values."""
        return asdict(self)

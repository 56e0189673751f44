"""The controller of the Jacobian penalty's weight."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from energyc.language.settings.train import JacobianPenalty

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

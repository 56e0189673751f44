"""How a run went: the samples that settled, the size of the gradient, and what is wrong with either.

It reads the rows of ``metrics.jsonl`` alone, so that a run says the same of itself while it trains, after resuming
and in ``energyc verify RUN``.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from energyc.train.metrics_log import Row
from energyc.train.network import Network
from energyc.train.numbers import format_number

#: Without a tolerance, the residual above which a state is called no equilibrium.
LOOSE = 1e-2
#: A smaller share of settled samples than this is a symptom.
ENOUGH = 0.95
#: A tolerance of fewer epsilons than this is within rounding of a relaxation.
ROUNDING = 8
#: Rules whose gradient is that of the steps taken, wherever they end.
OF_THE_STEPS = ("bptt",)


@dataclass(frozen=True)
class Relaxation:
    """The free phase as configured: ``tolerance`` None makes exactly ``steps`` steps. ``epsilon`` is the dtype's."""

    steps: int
    tolerance: float | None
    max_steps: int
    epsilon: float

    @staticmethod
    def of(net: Network, dtype: torch.dtype) -> Relaxation:
        """That of a network in a dtype."""
        most = net.relax_max_steps or 10 * net.relax_steps
        return Relaxation(net.relax_steps, net.relax_tolerance, most, torch.finfo(dtype).eps)

    @property
    def limit(self) -> float:
        """The largest residual of a sample that has settled."""
        return settled_within(self.tolerance)


def settled_within(tolerance: float | None) -> float:
    """The largest residual of a sample that has settled, by ``relax.tolerance``."""
    return LOOSE if tolerance is None else tolerance


@dataclass(frozen=True)
class Symptom:
    """What is wrong and why, and what would help; nothing where another symptom is the cause."""

    what: str
    helps: str = ""

    def __str__(self) -> str:
        return f"{self.what}; what helps: {self.helps}" if self.helps else self.what


@dataclass(frozen=True)
class RunHealth:
    """How a run went.

    ``settled`` is the share of samples whose residual was within ``limit``, over all updates, ``settled_test`` that of
    the last evaluation, ``residual`` the largest there; ``gradient`` is the median norm over the updates. None where
    the log has no such number.
    """

    limit: float
    settled: float | None
    settled_test: float | None
    residual: float | None
    gradient: float | None
    symptoms: tuple[Symptom, ...] = ()

    def __str__(self) -> str:
        """One line."""
        parts = []
        if self.settled is not None:
            parts.append(f"{self.settled:.0%} of samples settled (residual within {self.limit:.0e})")
        if self.settled_test is not None:
            parts.append(f"{self.settled_test:.0%} in the last evaluation")
        if self.gradient is not None:
            parts.append(f"gradient {self.gradient:.1e} (median)")
        return ", ".join(parts) or "no update was made"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"symptoms": [asdict(symptom) for symptom in self.symptoms]}


def vital_signs(row: Row) -> str:
    """``settled 97%, gradient 3.1e-03``: the health of one update."""
    norm = row.get("gradient_norm")
    gradient = "no gradient" if norm is None else f"gradient {norm:.1e}"
    return f"settled {format_number('settled', row['settled'])}, {gradient}"


def run_health(
    rows: Sequence[Row], relaxation: Relaxation, rule: str, best: str = "cost", best_step: int | None = None
) -> RunHealth:
    """The health of a run from its rows; its best evaluation, by the number ``best``, is that of ``best_step``."""
    updates = [row for row in rows if row.get("kind") == "train"]
    evaluation = next((row for row in reversed(rows) if row.get("kind") == "eval"), None)
    norms = [row["gradient_norm"] for row in updates if row.get("gradient_norm") is not None]
    symptoms = [*_unsettled(updates, evaluation, relaxation, rule), *_lost_in_rounding(updates, relaxation.epsilon)]
    if best_step == 0 and evaluation is not None and evaluation["step"] > 0:
        what = f"no evaluation had a better {best} than the one before any update (best: step 0)"
        symptoms.append(Symptom(what) if symptoms or not norms else _learned_nothing(what, updates))
    return RunHealth(
        relaxation.limit,
        _mean(updates, "settled"),
        None if evaluation is None else evaluation.get("settled"),
        None if evaluation is None else evaluation.get("residual_max"),
        statistics.median(norms) if norms else None,
        tuple(symptoms),
    )


def _unsettled(updates: Sequence[Row], evaluation: Row | None, relaxation: Relaxation, rule: str) -> Iterator[Symptom]:
    """Of the last tenth of the updates, or else of the last evaluation."""
    if rule in OF_THE_STEPS and relaxation.tolerance is None:
        return
    late = updates[-max(1, len(updates) // 10) :]
    tested = [] if evaluation is None else [evaluation]
    for name, part in (("training", late), ("test", tested)):
        share = _mean(part, "settled")
        if share is not None and share < ENOUGH:
            residuals = [row.get("residual_max", row["residual"]) for row in part]
            worst = max(math.inf if value is None else value for value in residuals)
            steps = max(row["relax_steps"] for row in part)
            what = f"{1 - share:.0%} of the last {name} samples did not settle (residual up to {worst:.1e})"
            yield _too_loose(what, steps, relaxation)
            return


def _too_loose(what: str, steps: float, relaxation: Relaxation) -> Symptom:
    """Why samples do not settle, as far as the settings tell."""
    tolerance = relaxation.tolerance
    if tolerance is None:
        why = f"relax has no tolerance, so exactly {relaxation.steps} steps are made, and the states are no equilibrium"
        return Symptom(f"{what}: {why}", "relax.tolerance with relax.max_steps, more relax.steps, a smaller relax.step")
    if tolerance < ROUNDING * relaxation.epsilon:
        why = f"relax.tolerance = {tolerance:g} is within rounding"
        return Symptom(f"{what}: {why}", "a higher relax.tolerance, or train.dtype = float64")
    why = f"relax.tolerance = {tolerance:g} is not reached in {steps:.0f} steps"
    more = f"more steps (relax.max_steps, now {relaxation.max_steps}), or a smaller relax.step"
    return Symptom(f"{what}: {why}", more)


def _lost_in_rounding(updates: Sequence[Row], epsilon: float) -> Iterator[Symptom]:
    """Most gradients are so small that params of order 1 cannot change the cost by more than its rounding."""
    pairs = [(row["gradient_norm"], row["cost"]) for row in updates if row.get("gradient_norm") is not None]
    faint = [norm for norm, cost in pairs if cost is not None and norm <= epsilon * abs(cost)]
    if 2 * len(faint) <= len(pairs):
        return
    what = f"the gradient is lost in rounding in {len(faint)} of {len(updates)} updates (norm {max(faint):.1e} or less)"
    if max(faint) == 0:
        helps = "a cost that the params can change: weights of zero and states at the edge of their set pass nothing on"
    else:
        helps = "train.dtype = float64, a larger nudge.beta, weights that are not too small, states off their bounds"
    yield Symptom(what, helps)


def _learned_nothing(what: str, updates: Sequence[Row]) -> Symptom:
    """Which way the training cost went, and the remedy for that."""
    tenth = max(1, len(updates) // 10)
    first, last = _mean(updates[:tenth], "cost"), _mean(updates[-tenth:], "cost")
    if first is None or last is None:
        return Symptom(what, "another train.lr")
    went = f"{what}; the training cost went from {first:.4g} to {last:.4g}"
    if last < 0.9 * first:
        return Symptom(f"{went}, so it overfits", "fewer updates, more data, or train.weight_decay")
    return Symptom(went, f"a {'lower' if last > first else 'higher'} train.lr")


def _mean(rows: Sequence[Row], name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return statistics.fmean(values) if values else None

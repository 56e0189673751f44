"""The health of a run: the samples that settled, the size of the gradient, and symptoms of either.

It depends only on the rows of ``metrics.jsonl``, so that it is the same during training, after resuming and in
``energyc verify RUN``; why samples do not settle is found by trying on the network.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from energyc.running.folder.logs import Row
from energyc.running.training.network import Network
from energyc.running.training.numbers import format_number
from energyc.running.training.saturation import Saturation
from energyc.runtime import NonConvergence, causes, convergence_threshold

#: The share of settled samples below which there is a symptom.
ENOUGH = 0.95
#: How many times its least mean over a tenth of the updates the mean training cost of the last tenth may be, the least
#: number of updates of which this is asked, and how many parts tenths are.
RISEN, LONG, TENTHS = 3.0, 50, 10
#: Rules whose gradient is that of the steps taken, whether or not these converge.
OF_THE_STEPS = ("bptt",)


#: A function that tries why samples do not settle.
FindNonConvergence = Callable[[], NonConvergence | None]


@dataclass(frozen=True)
class Relaxation:
    """The free phase as configured; ``tolerance`` is None for exactly ``steps`` steps, and ``epsilon`` the dtype's.

    With ``early`` the tolerance ends it outside of training alone, before its ``steps``. ``numbered`` steps differ from
    one another.
    """

    steps: int
    tolerance: float | None
    max_steps: int
    epsilon: float
    early: bool = False
    numbered: bool = False

    @staticmethod
    def of(net: Network, dtype: torch.dtype) -> Relaxation:
        """Return the relaxation of a network in a dtype."""
        max_steps = net.relax_max_steps or 10 * net.relax_steps
        early = net.relax_exit == "inference"
        return Relaxation(net.relax_steps, net.relax_tolerance, max_steps, torch.finfo(dtype).eps, early, net.numbered)

    @property
    def limit(self) -> float:
        """The largest residual of a settled sample."""
        return convergence_threshold(self.tolerance)

    def rests(self, rule: str) -> bool:
        """Whether states are to rest: not where a rule is of the steps, and no tolerance says when they have."""
        return self.tolerance is not None or rule not in OF_THE_STEPS


@dataclass(frozen=True)
class Symptom:
    """A problem with its cause, and its remedies, empty if another symptom is the cause."""

    what: str
    helps: str = ""

    @staticmethod
    def of(what: str, cause: NonConvergence) -> Symptom:
        """Return what was seen, with its cause."""
        return Symptom(f"{what}: {cause.why}", cause.helps)

    def __str__(self) -> str:
        return str(NonConvergence("seen", self.what, self.helps))


@dataclass(frozen=True)
class RunHealth:
    """The health of a run.

    ``settled`` is the share of samples with a residual within ``limit`` over all updates, and ``settled_test`` that of
    the last evaluation, whose largest residual is ``residual``. ``gradient`` is the median norm over the updates. A
    number that the log lacks is None. ``remark`` says why samples that did not settle are no symptom, and what helps.
    ``rests`` is False where a fixed number of steps is the network, so that no state is to rest. ``saturated`` are the
    units that rest on a bound in the last evaluation; None without states that have bounds.
    """

    limit: float
    settled: float | None
    settled_test: float | None
    residual: float | None
    gradient: float | None
    symptoms: tuple[Symptom, ...] = ()
    remark: str = ""
    rests: bool = True
    saturated: Saturation | None = None

    def __str__(self) -> str:
        """One line."""
        parts = []
        if self.rests and self.settled is not None:
            parts.append(f"{self.settled:.0%} of samples settled (residual within {self.limit:.0e})")
        if self.rests and self.settled_test is not None:
            parts.append(f"{self.settled_test:.0%} in the last evaluation")
        if self.gradient is not None:
            parts.append(f"gradient {self.gradient:.1e} (median)")
        line = ", ".join(parts) or "no update was made"
        return f"{line}; {self.remark}" if self.remark else line

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> RunHealth:
        """Return the health with these fields."""
        symptoms = tuple(Symptom(**symptom) for symptom in value["symptoms"])
        return RunHealth(**{**value, "symptoms": symptoms, "saturated": _saturated(value)})

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        saturated = None if self.saturated is None else self.saturated.to_json()
        return asdict(self) | {"symptoms": [asdict(symptom) for symptom in self.symptoms], "saturated": saturated}


def vital_signs(row: Row) -> str:
    """Describe the health of an update, as in ``settled 97%, residual 2.1e-04, gradient 3.1e-03``.

    What the row lacks is left out.
    """
    norm = row.get("gradient_norm")
    settled = [f"settled {format_number('settled', row['settled'])}"] if "settled" in row else []
    residual = [f"residual {format_number('residual', row['residual'])}"] if "residual" in row else []
    return ", ".join([*settled, *residual, "no gradient" if norm is None else f"gradient {norm:.1e}"])


def run_health(
    rows: Sequence[Row],
    relaxation: Relaxation,
    rule: str,
    best: str = "cost",
    best_step: int | None = None,
    find: FindNonConvergence = lambda: None,
) -> RunHealth:
    """Return the health of a run from its rows.

    ``best_step`` is the step of its best evaluation by ``best``. ``find`` is called if samples do not settle.
    """
    updates = [row for row in rows if row.get("kind") == "train"]
    evaluation = next((row for row in reversed(rows) if row.get("kind") == "eval"), None)
    norms = [row["gradient_norm"] for row in updates if row.get("gradient_norm") is not None]
    saturated = None if evaluation is None else _saturated(evaluation)
    symptoms = [
        *_unsettled(updates, evaluation, relaxation, rule, find),
        *_lost_in_rounding(updates, relaxation.epsilon),
        *_risen_again(updates),
        *saturated_symptoms(saturated, "test"),
    ]
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
        _no_symptom(updates, relaxation, rule, find) if _of_the_steps(relaxation, rule) else "",
        relaxation.rests(rule),
        saturated,
    )


def saturated_symptoms(saturated: Saturation | None, split: str) -> tuple[Symptom, ...]:
    """Return the symptoms of saturated units in the samples of a split."""
    return () if saturated is None else tuple(Symptom(*found) for found in saturated.symptoms(split))


def _saturated(row: Mapping[str, Any]) -> Saturation | None:
    """Return the saturated units of an evaluation; runs of older versions do not say."""
    found = row.get("saturated")
    return Saturation.from_json(found) if isinstance(found, Mapping) else None


def _of_the_steps(relaxation: Relaxation, rule: str) -> bool:
    """Whether the gradient is that of a fixed number of steps."""
    return rule in OF_THE_STEPS and (relaxation.tolerance is None or relaxation.early)


def _no_symptom(updates: Sequence[Row], relaxation: Relaxation, rule: str, find: FindNonConvergence) -> str:
    """Say why samples that do not settle in the last updates are no symptom, and what would settle them."""
    share = _mean(_last(updates), "settled")
    if share is None or share >= ENOUGH:
        return ""
    found = None if relaxation.numbered else find()
    return causes.steps_are_the_network(rule, relaxation.steps, relaxation.numbered, found)


def _last(updates: Sequence[Row]) -> Sequence[Row]:
    return updates[-max(1, len(updates) // 10) :]


def _unsettled(
    updates: Sequence[Row], evaluation: Row | None, relaxation: Relaxation, rule: str, find: FindNonConvergence
) -> Iterator[Symptom]:
    """Find samples that do not settle in the last tenth of the updates, or else in the last evaluation."""
    if _of_the_steps(relaxation, rule):
        return
    evaluations = [] if evaluation is None else [evaluation]
    for name, part in (("training", _last(updates)), ("test", evaluations)):
        share = _mean(part, "settled")
        if share is not None and share < ENOUGH:
            residuals = [row.get("residual_max", row["residual"]) for row in part]
            worst = max(math.inf if value is None else value for value in residuals)
            steps = max(row["relax_steps"] for row in part)
            what = f"{1 - share:.0%} of the last {name} samples did not settle (residual up to {worst:.1e})"
            yield _too_loose(what, steps, relaxation, find)
            return


def _too_loose(what: str, steps: float, relaxation: Relaxation, find: FindNonConvergence) -> Symptom:
    """Explain from the settings and from what was tried why samples do not settle."""
    tolerance = relaxation.tolerance
    if tolerance is not None and causes.rounds_away(tolerance, relaxation.epsilon):
        return Symptom.of(what, causes.within_rounding(tolerance))
    tried = find()
    if tried is not None:
        return Symptom.of(what, tried)
    if tolerance is None:
        return Symptom.of(what, causes.fixed_steps(relaxation.steps))
    return Symptom.of(what, causes.not_reached(tolerance, steps, relaxation.max_steps))


def _lost_in_rounding(updates: Sequence[Row], epsilon: float) -> Iterator[Symptom]:
    """Find whether most gradients are too small for params of order 1 to change the cost by more than rounding."""
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


def _risen_again(updates: Sequence[Row]) -> Iterator[Symptom]:
    """Find whether the training cost has risen again, far above where it was."""
    costs = [(row["step"], row["cost"]) for row in updates if row.get("cost") is not None]
    if not costs or costs[-1][0] - costs[0][0] < LONG or len(costs) < TENTHS:
        return
    tenth = len(costs) // TENTHS
    parts = [costs[k : k + tenth] for k in range(0, len(costs) - tenth + 1, tenth)]
    means = [statistics.fmean(cost for _, cost in part) for part in (*parts, costs[-tenth:])]
    least = min(range(len(parts)), key=means.__getitem__)
    if means[-1] > RISEN * means[least] > 0:
        what = (
            f"the training cost rose again: {means[least]:.4g} around update {parts[least][tenth // 2][0]:,},"
            f" {means[-1]:.4g} in the last tenth"
        )
        yield Symptom(what, "a lower train.lr, train.clip, or a wider set for states at the edge of theirs")


def _learned_nothing(what: str, updates: Sequence[Row]) -> Symptom:
    """Describe the trend of the training cost, with a remedy."""
    tenth = max(1, len(updates) // 10)
    first, last = _mean(updates[:tenth], "cost"), _mean(updates[-tenth:], "cost")
    if first is None or last is None:
        return Symptom(what, "another train.lr")
    trend = f"{what}; the training cost went from {first:.4g} to {last:.4g}"
    if last < 0.9 * first:
        return Symptom(f"{trend}, so it overfits", "fewer updates, more data, or train.weight_decay")
    return Symptom(trend, f"a {'lower' if last > first else 'higher'} train.lr")


def _mean(rows: Sequence[Row], name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return statistics.fmean(values) if values else None

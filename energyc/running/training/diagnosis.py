"""Trials of a run's network: why samples do not settle, and how far an unconverged free phase drifts."""

from __future__ import annotations

from typing import Any

import torch

from energyc.language.diagnostics import is_out_of_memory, listed
from energyc.running.training.feeds import Batch, Feed
from energyc.running.training.learner import Learner
from energyc.running.training.order import evenly_spread, key_noise
from energyc.running.training.session import Session
from energyc.runtime import (
    RULES,
    FreePhase,
    NonConvergence,
    RuleSettings,
    causes,
    free_phase,
    ordered_targets,
    prepared,
    trial_nudge,
)

#: The number of samples of each split among which those that do not settle are looked for.
SAMPLES = 64
#: The share of the nudge's displacement above which a drift is reported.
LARGE = 0.1


class Diagnosis:
    """Trials on the network of a session, on samples of the splits ``feeds``; they change no param."""

    def __init__(self, session: Session, learner: Learner, feeds: tuple[Feed, ...]) -> None:
        self._session, self._net, self._seed = session, session.net, session.options.seed
        self._rule, self._feeds = learner.rule, feeds

    def non_convergence(self) -> NonConvergence | None:
        """Return why samples of the first split that has such do not settle; None if all settle."""
        found = (self._net.non_convergence(self._samples(feed).clamps) for feed in self._feeds)
        return next(filter(None, found), None)

    def cause(self, what: str) -> str | None:
        """Return why ``what`` is not finite, and what helps: an extreme setting, an infinite slope, no convergence."""
        if self._session.extremes:
            return f"look at {listed(self._session.extremes)}: so extreme a value may be the cause"
        return "; ".join(self._slopes(what)) or self.why_unsettled()

    def _slopes(self, what: str) -> list[str]:
        """Return the infinite slopes that may be the cause: that of the term, or all if ``what`` names no term."""
        steep = self._session.steep
        if what in steep:
            return [steep[what]]
        return [] if what == "the cost" or what.startswith("energy term ") else list(steep.values())

    def why_unsettled(self) -> str | None:
        """Return in one line why samples do not settle, and what helps; None if all settle or no step can be made."""
        try:
            found = self.non_convergence()
        except (ArithmeticError, ValueError, RuntimeError) as error:
            if is_out_of_memory(error):
                raise
            return None
        return None if found is None else str(found)

    def drift(self) -> str:
        """Return a warning if a one-sided contrast reads the drift of the free phase, or an empty string."""
        if RULES[self._rule].order != 1:
            return ""
        batch = self._samples(self._feeds[0])
        gradients = self._net.gradients(batch.clamps, batch.targets, rule=self._rule, allow_biased=True)
        return drift_warning(self._net, gradients, batch, self._rule)

    def _samples(self, feed: Feed) -> Batch:
        key_noise(self._seed, 0)
        self._net.train(False)
        return feed.batch(evenly_spread(len(feed), SAMPLES), seed=self._seed)


@torch.no_grad()
def drift(net: Any, gradients: Any, samples: Batch, rule: str) -> float:
    """Return how far a state moves without a nudge, relative to how far the nudge moves it: the largest of all states.

    It is 0 for rules whose two nudged phases share the drift.
    """
    if RULES[rule].order != 1 or gradients.beta is None:
        return 0.0
    fixed, phase = prepared(net, samples.clamps), free_phase(net, None, None, None)
    states = [gradients.states[name] for name in net.state_names]
    free = FreePhase(states, gradients.residual, gradients.steps, gradients.health["frozen"], gradients.step)
    settings = RuleSettings(phase, phase._replace(steps=net.nudge_steps), None, net.points, 0.0, 0.0)
    trial = trial_nudge(net, free, fixed, ordered_targets(net, samples.targets, fixed), settings)
    if trial is None:
        return 0.0
    pairs = zip(trial.moves, trial.drifts, strict=True)
    return max((drifted / (abs(gradients.beta) * moved) for moved, drifted in pairs if moved > 0), default=0.0)


def drift_warning(net: Any, gradients: Any, samples: Batch, rule: str) -> str:
    """Return a warning about a large drift, or an empty string."""
    share = drift(net, gradients, samples, rule)
    return "" if share <= LARGE else str(causes.drifting(share))

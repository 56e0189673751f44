"""One update of the params: data, gradients by the rule, gate, health, clipping, optimiser."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from energyc.diagnostics import UserError
from energyc.train.feeds import Batch, Feed
from energyc.train.health import NotFinite, first_bad, passes_gate
from energyc.train.metrics_log import Row
from energyc.train.network import Gradients, learnable
from energyc.train.optimizers import make_optimizer, set_rates
from energyc.train.options import suggest
from energyc.train.order import Order, key_noise
from energyc.train.penalty import Controller
from energyc.train.schedule import rate_factor
from energyc.train.session import Session

#: An automatic beta is found anew after so many updates: it costs a nudged phase, and changes slowly.
BETA_EVERY = 50


class Learner:
    """Makes the updates of a session; what changes from one to the next is in params, optimiser and controller."""

    def __init__(self, session: Session, feed: Feed) -> None:
        self.net = session.net
        self.options = session.options
        self.rule = _chosen_rule(session)
        self.params = learnable(session.net)
        self.optimizer = make_optimizer(session.options, self.params)
        self.order = Order(session.options.seed, len(feed), session.options.batch)
        self.total = session.options.total_steps(self.order.updates)
        self.controller = None if session.options.penalty is None else Controller.start(session.options.penalty)
        self._feed = feed

    def update(self, step: int) -> Row:
        """Make update ``step`` (from 0) and say how it went. Raises NotFinite, and then has changed no param."""
        epoch, _ = self.order.place(step)
        batch = self._feed.batch(self.order.indices(step), seed=self.options.seed, epoch=epoch, augment=True)
        key_noise(self.options.seed, step)
        self.net.train(True)
        seen = self._gradients(batch, step)
        used, kept = self._gated(batch, seen, step)
        factor = rate_factor(self.options, step, self.total)
        norm = None if used is None else self._apply(kept, used, factor)
        self._steer(seen)
        return self._row(step, epoch, seen, used, norm, factor, gated=len(batch) - len(kept))

    def _gradients(self, batch: Batch, step: int, steadied: bool = True) -> Gradients:
        settings: dict[str, Any] = {"allow_biased": True} if self.options.allow_biased else {}
        if self.net.beta == "auto" and step % BETA_EVERY and self.net.last_beta is not None:
            settings["beta"] = self.net.last_beta
        if steadied:
            settings.update(self._weights())
        return self.net.gradients(batch.clamps, batch.targets, rule=self.rule, **settings)

    def _weights(self) -> dict[str, float]:
        """Of what keeps training healthy."""
        weights = {}
        if self.controller is not None:
            weights["penalty"] = self.controller.weight
        if self.options.residual_defence:
            weights["residual_defence"] = self.options.residual_defence
        return weights

    def _gated(self, batch: Batch, seen: Gradients, step: int) -> tuple[Gradients | None, Batch]:
        """The gradients of the samples that settled, computed anew only where some did not, and those samples.

        Penalty and defence are of all samples: those that did not settle need them most (Jacobian penalty and
        residual defence act off equilibrium too; the contrast means nothing there).
        """
        if self.options.gate is None:
            return seen, batch
        keep = passes_gate(seen.residual, self.options.gate)
        if bool(keep.all()):
            return seen, batch
        if not bool(torch.isfinite(seen.cost).any()):
            raise NotFinite(first_bad(self.net, batch, seen) or "the cost")
        kept, steadying = batch.select(keep), self._steadying(batch, seen)
        if not bool(keep.any()):
            return steadying, kept
        used = self._gradients(kept, step, steadied=False)
        for name, slope in steadying.params.items() if steadying is not None else ():
            used.params[name] += slope
        return used, kept

    def _steadying(self, batch: Batch, seen: Gradients) -> Gradients | None:
        """Penalty and defence alone, where the free phase of all samples ended; None where neither is asked for."""
        weights, finite = self._weights(), torch.isfinite(seen.cost) & torch.isfinite(seen.residual)
        if not weights or not bool(finite.any()):
            return None
        some, states = batch.select(finite), {name: value[finite] for name, value in seen.states.items()}
        return self.net.gradients(
            some.clamps, some.targets, rule=self.rule, states=states, steps=0, contrast=False, **weights
        )

    def _apply(self, batch: Batch, gradients: Gradients, factor: float) -> Tensor:
        """Move the params; gives the norm of the whole gradient before clipping."""
        what = first_bad(self.net, batch, gradients)
        if what is not None:
            raise NotFinite(what)
        self.optimizer.zero_grad(set_to_none=True)
        gradients.assign()
        limit = float("inf") if self.options.clip is None else self.options.clip
        norm = torch.nn.utils.clip_grad_norm_(self.params.values(), limit)
        set_rates(self.optimizer, self.options, factor)
        self.optimizer.step()
        self.net.project_params()
        return norm

    def _steer(self, seen: Gradients) -> None:
        if self.controller is not None and self.options.penalty is not None:
            self.controller = self.controller.after(float(seen.residual.mean()), self.options.penalty)

    def _row(
        self,
        step: int,
        epoch: int,
        seen: Gradients,
        used: Gradients | None,
        norm: Tensor | None,
        factor: float,
        gated: int,
    ) -> Row:
        shown = seen if used is None else used
        row: Row = {
            "step": step + 1,
            "kind": "train",
            "epoch": epoch,
            "cost": float(shown.cost.mean()),
            "residual": float(seen.residual.max()),
            "relax_steps": float(seen.steps.double().mean()),
            "beta": None if seen.beta is None else float(seen.beta),
            "gradient_norm": None if norm is None else float(norm),
            "lr": self.options.base_rate * factor,
        }
        if self.options.gate is not None:
            row["gated"] = gated
        if self.controller is not None:
            row["penalty"] = self.controller.weight
        return row


def _chosen_rule(session: Session) -> str:
    rules = session.net.rules
    rule = session.options.rule or rules[0]
    if rule not in rules:
        message = f"the network {session.net.name} was not compiled for the rule {rule}"
        raise UserError(message, code="E0502", help=suggest(rule, rules))
    return rule

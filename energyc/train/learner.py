"""Update the params: data, gradients by the rule, gate, health, clipping, optimiser."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from energyc.diagnostics import UserError, did_you_mean, listed
from energyc.runtime.unrest import settled_within
from energyc.train.feeds import Batch, Feed
from energyc.train.health import NotFinite, first_not_finite, vitals, within_gate
from energyc.train.metrics_log import Row
from energyc.train.network import Gradients, learnable
from energyc.train.optimizers import make_optimizer, set_rates, take_step
from energyc.train.order import Order, key_noise, noise_keys
from energyc.train.penalty import Controller
from energyc.train.schedule import rate_factor
from energyc.train.session import Session

#: The number of updates between choices of an automatic beta, which costs a nudged phase and changes slowly.
BETA_EVERY = 50


class Move(NamedTuple):
    """Gradients that move the params, and their samples."""

    batch: Batch
    gradients: Gradients


class Part(NamedTuple):
    """The gradients whose contrast is used, the move of the params, and the number of gated samples."""

    used: Gradients | None
    move: Move | None
    gated: int


class Learner:
    """The updates of a session; params, optimiser and controller are its only state."""

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
        self._limit = settled_within(session.net.relax_tolerance)

    def update(self, step: int) -> Row:
        """Make update ``step`` (from 0) and return its row. Raises NotFinite before any param has changed."""
        epoch, _ = self.order.place(step)
        indices = self.order.indices(step)
        batch = self._feed.batch(indices, seed=self.options.seed, epoch=epoch, augment=True)
        if self.net.noise_shapes:
            batch = batch.beside(self.net.draw_noise(noise_keys(self.options.seed, step, indices)))
        key_noise(self.options.seed, step)
        self.net.train(True)
        seen = self._gradients(batch, step)
        part = self._participants(batch, seen, step)
        factor = rate_factor(self.options, step, self.total)
        norm = None if part.move is None else self._apply(part.move, factor)
        row = self._row(step, epoch, seen, part, norm, factor)
        self._steer(seen)
        return row if self.controller is None else {**row, "residual_ema": self.controller.average}

    def _gradients(self, batch: Batch, step: int, steadied: bool = True) -> Gradients:
        settings: dict[str, Any] = {"allow_biased": True} if self.options.allow_biased else {}
        if self.net.beta == "auto" and step % BETA_EVERY and self.net.last_beta is not None:
            settings["beta"] = self.net.last_beta
        if steadied:
            settings.update(self._weights())
        return self.net.gradients(batch.clamps, batch.targets, rule=self.rule, **settings)

    def _weights(self) -> dict[str, float]:
        """Return the weights of the penalty and of the residual defence, if set."""
        weights = {}
        if self.controller is not None:
            weights["penalty"] = self.controller.weight
        if self.options.residual_defence:
            weights["residual_defence"] = self.options.residual_defence
        return weights

    def _participants(self, batch: Batch, seen: Gradients, step: int) -> Part:
        """Return the gradients of the samples that settled, recomputed only if some samples did not.

        Penalty and defence include all samples, since they act off equilibrium too, where the contrast is meaningless
        and they are needed most.
        """
        gate = float("inf") if self.options.gate is None else self.options.gate
        settled = within_gate(seen.residual, gate)
        if self.options.gate is None or bool(settled.all()):
            moves = bool(seen.kept.any()) or bool(self._weights())
            return Part(seen, Move(batch, seen) if moves else None, gated=0)
        if not bool(torch.isfinite(seen.cost).any()):
            raise NotFinite(first_not_finite(self.net, batch, seen) or "the cost")
        steadying, gated = self._steadying(batch, seen), int((~settled).sum())
        if not bool(settled.any()):
            return Part(None, steadying, gated)
        settled_batch = batch.select(settled)
        used = self._gradients(settled_batch, step, steadied=False)
        for name, gradient in steadying.gradients.params.items() if steadying is not None else ():
            used.params[name] += gradient
        moves = steadying is not None or bool(used.kept.any())
        return Part(used, Move(settled_batch, used) if moves else None, gated)

    def _steadying(self, batch: Batch, seen: Gradients) -> Move | None:
        """Return the gradients of penalty and defence alone, where the free phase of all samples ended.

        None if neither is set, or if the slopes of some samples overflow.
        """
        weights, finite = self._weights(), torch.isfinite(seen.cost) & torch.isfinite(seen.residual)
        if not weights or not bool(finite.any()):
            return None
        finite_batch, states = batch.select(finite), {name: value[finite] for name, value in seen.states.items()}
        gradients = self.net.gradients(
            finite_batch.clamps, finite_batch.targets, rule=self.rule, states=states, steps=0, contrast=False, **weights
        )
        return Move(finite_batch, gradients) if first_not_finite(self.net, finite_batch, gradients) is None else None

    def _apply(self, move: Move, factor: float) -> Tensor:
        """Move the params and return the norm of the whole gradient before clipping."""
        culprit = first_not_finite(self.net, move.batch, move.gradients)
        if culprit is not None:
            raise NotFinite(culprit)
        self.optimizer.zero_grad(set_to_none=True)
        move.gradients.assign()
        limit = float("inf") if self.options.clip is None else self.options.clip
        norm = torch.nn.utils.clip_grad_norm_(self.params.values(), limit)
        set_rates(self.optimizer, factor)
        take_step(self.optimizer)
        self.net.project_params()
        return norm

    def _steer(self, seen: Gradients) -> None:
        if self.controller is not None and self.options.penalty is not None:
            self.controller = self.controller.after(float(seen.residual.mean()), self.options.penalty)

    def _row(self, step: int, epoch: int, seen: Gradients, part: Part, norm: Tensor | None, factor: float) -> Row:
        shown = seen if part.used is None else part.used
        row: Row = {
            "step": step + 1,
            "kind": "train",
            "epoch": epoch,
            "cost": float(shown.cost.mean()),
            "residual": float(seen.residual.max()),
            "settled": float((seen.residual <= self._limit).double().mean()),
            "relax_steps": float(seen.steps.double().mean()),
            "beta": None if seen.beta is None else float(seen.beta),
            "gradient_norm": None if norm is None else float(norm),
            "lr": self.options.base_rate * factor,
            **vitals(seen, part.used),
        }
        if self.options.gate is not None:
            row["gated"] = part.gated
        if self.net.relax_auto:
            row["relax_step"] = max(seen.step)
        if self.controller is not None:
            row["penalty"] = self.controller.weight
        return row


def _chosen_rule(session: Session) -> str:
    rules = session.net.rules
    rule = session.options.rule or rules[0]
    if rule not in rules:
        message = f"the network {session.net.name} was not compiled for the rule {rule}"
        raise UserError(message, code="E0502", help=did_you_mean(rule, rules, f"it holds {listed(rules)}"))
    return rule

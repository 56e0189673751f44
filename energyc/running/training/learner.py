"""Update the params: data, gradients by the rule, gate, health, clipping, optimiser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from energyc.language.diagnostics import UserError, did_you_mean, is_out_of_memory, listed
from energyc.language.settings.train import ContractionPenalty
from energyc.running.folder.logs import Row
from energyc.running.training.feeds import Batch, Feed
from energyc.running.training.health import NotFinite, first_not_finite
from energyc.running.training.network import learnable, start_on_sets
from energyc.running.training.optimizers import Average, make_optimizer, set_rates, take_step
from energyc.running.training.order import Order, directions, key_noise, noise_keys
from energyc.running.training.precision import Precision, as_deployed, held
from energyc.running.training.schedule import Controller, beta_factor, rate_factor
from energyc.running.training.session import Session
from energyc.running.training.shares import Measured, Regularization, averaged_regularization, merged, sharing, vitals
from energyc.runtime import RULES, Gradients, convergence_threshold

#: The number of updates between choices of an automatic beta, which costs a nudged phase and changes slowly.
BETA_EVERY = 50
#: The number of samples on which it is chosen, the first of the update, so that all ranks choose the same.
BETA_SAMPLES = 32
#: The rule whose gradient is exact at an equilibrium.
EXACT = "implicit"


class Part(NamedTuple):
    """How params are moved: the contrast that is used, the regularization, and the number of gated samples."""

    used: Measured | None
    regularization: Regularization | None
    gated: int


class Learner:
    """The updates of a session; params, their average, optimiser and controller are its only state."""

    def __init__(self, session: Session, feed: Feed) -> None:
        self.net = session.net
        self.options = session.options
        self.rule = _chosen_rule(session)
        self.params = learnable(session.net)
        start_on_sets(session.net)
        self.optimizer = make_optimizer(session.options, self.params)
        self.average = None if session.options.ema is None else Average(session.net, session.options.ema)
        self.order = Order(session.options.seed, len(feed), session.options.batch)
        self.group = session.group
        self.total = session.options.total_steps(self.order.updates)
        controlled = session.options.controlled
        self.controller = None if controlled is None else Controller.start(controlled)
        self._feed = feed
        self._precision = Precision(session.options.bits, session.options.mismatch)
        _check_cosine(session)
        _check_beta_schedule(session, self.rule)
        self._limit = convergence_threshold(session.net.relax_tolerance)

    def update(self, step: int) -> Row:
        """Make update ``step`` (from 0) and return its row. Raises NotFinite before any param has changed."""
        epoch, _ = self.order.place(step)
        indices = self.order.indices(step)
        key_noise(self.options.seed, step)
        self.net.train(True)
        with self._on_device(step):
            self._choose_beta(indices, step)
            seen = self._contrast(indices, step)
            part = self._participants(seen, indices, step)
            cosine = self._cosine(seen, step)
        factor = rate_factor(self.options, step, self.total)
        norm = self._apply(part, factor)
        if self.average is not None:
            self.average.follow(step + 1)
        row = self._row(step, epoch, seen, part, norm, factor) | cosine
        self._steer(seen)
        return row if self.controller is None else {**row, "residual_ema": self.controller.average}

    @contextmanager
    def as_evaluated(self) -> Iterator[None]:
        """Give the network the params that are evaluated: their average, if the run keeps one, on its device's bits."""
        average = nullcontext() if self.average is None else self.average.in_place()
        with average, as_deployed(self.net, self.options):
            yield

    def _on_device(self, step: int) -> AbstractContextManager[object]:
        """Give the network the params as the device of update ``step`` holds them, for its gradients."""
        if self._precision == Precision():
            return nullcontext()
        return held(self.net, self._precision, seed=noise_keys(self.options.seed, step, np.zeros(1, np.int64))[0])

    def _cosine(self, seen: Measured, step: int) -> dict[str, float | None]:
        """Measure the cosine of the rule's gradient with the exact one, at this rank's samples, where it is due.

        None where the adjoint equation cannot be solved, as without an isolated equilibrium.
        """
        every = self.options.cosine_every
        if every is None or step % every or not bool(seen.own.kept.all()):
            return {}
        states: dict[str, Any] = {"states": seen.own.states} if self.net.state_shapes else {}
        try:
            exact = self.net.gradients(seen.batch.clamps, seen.batch.targets, rule=EXACT, **states).params
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise
            return {"cosine": None}
        pairs = [(seen.own.params[name].flatten().double(), exact[name].flatten().double()) for name in self.params]
        ours, theirs = (torch.cat(side) for side in zip(*pairs, strict=True))
        return {"cosine": float(torch.nn.functional.cosine_similarity(ours, theirs, dim=0))}

    def _read(self, indices: np.ndarray, step: int) -> Batch:
        """Return samples of update ``step`` with their augmentation and noise, which do not depend on the others."""
        epoch, _ = self.order.place(step)
        batch = self._feed.batch(indices, seed=self.options.seed, epoch=epoch, augment=True)
        if self.net.noise_shapes:
            batch = batch.beside(self.net.draw_noise(noise_keys(self.options.seed, step, indices)))
        return batch

    def _choose_beta(self, indices: np.ndarray, step: int) -> None:
        """Choose an automatic beta, from time to time, which the network keeps."""
        if self.net.beta == "auto" and "beta" in RULES[self.rule].settings and step % BETA_EVERY == 0:
            self._gradients(self._read(indices[:BETA_SAMPLES], step))

    def _contrast(self, indices: np.ndarray, step: int, **phase: Any) -> Measured:
        """Measure the gradients of samples, each rank those of its share; ``phase`` is of their free phases."""
        group = sharing(self.group, len(indices))
        shares = group.shares(len(indices))
        batch = self._read(indices[shares[group.rank]], step)
        settings = self._strength(step)
        return merged(
            group, batch, self._gradients(batch, **settings, **phase), [len(indices[share]) for share in shares]
        )

    def _strength(self, step: int) -> dict[str, float]:
        """Return the strength of the nudge at update ``step``, where it is not the network's own."""
        chosen = self.net.last_beta if self.net.beta == "auto" else self.net.beta
        if chosen is None or (self.net.beta != "auto" and self.options.beta_schedule is None):
            return {}
        return {"beta": float(chosen) * beta_factor(self.options, step, self.total)}

    def _gradients(self, batch: Batch, **settings: Any) -> Gradients:
        biased: dict[str, Any] = {"allow_biased": True} if self.options.allow_biased else {}
        try:
            return self.net.gradients(batch.clamps, batch.targets, rule=self.rule, **biased, **settings)
        except ValueError as error:
            if "clamped" not in RULES[self.rule].needs:
                raise
            help = "declare its set so that it holds all targets, or clamp it to values that lie on it"
            raise UserError(str(error), code="E0455", help=help) from None

    def _weights(self) -> dict[str, float]:
        """Return the weights of the penalty and of the residual defence, if set."""
        weights = {}
        if self.controller is not None:
            weights["penalty"] = self.controller.weight
        elif isinstance(self.options.penalty, ContractionPenalty):
            weights["penalty"] = self.options.penalty.weight
        if self.options.residual_defence:
            weights["residual_defence"] = self.options.residual_defence
        return weights

    def _participants(self, seen: Measured, indices: np.ndarray, step: int) -> Part:
        """Return the contrast of the samples that settled, measured again only if some samples did not.

        Penalty and defence include all samples, since they act off equilibrium too, where the contrast is meaningless
        and they are needed most.
        """
        gate = float("inf") if self.options.gate is None else self.options.gate
        settled = seen.residual <= gate  # not where it is not finite
        regularization = self._regularization(seen, indices, step)
        if self.options.gate is None or bool(settled.all()):
            return Part(seen, regularization, gated=0)
        if not bool(torch.isfinite(seen.cost).any()):
            raise NotFinite(seen.culprit(self.net) or "the cost")
        used = self._of_settled(seen, settled, indices, step) if bool(settled.any()) else None
        return Part(used, regularization, int((~settled).sum()))

    def _of_settled(self, seen: Measured, settled: Tensor, indices: np.ndarray, step: int) -> Measured:
        """Measure the samples that settled once more, from where they rest if the rule begins there.

        Ranks share them anew, so that none has all their states.
        """
        rest: dict[str, Any] = {}
        if seen.group.size == 1 and RULES[self.rule].begins_at_rest:
            rest = {"states": {name: value[settled] for name, value in seen.own.states.items()}, "steps": 0}
        return self._contrast(indices[settled.cpu().numpy()], step, **rest)

    def _regularization(self, seen: Measured, indices: np.ndarray, step: int) -> Regularization | None:
        """Return the gradients of penalty and defence, where the free phase of all samples ended.

        None if neither is set, or if the slopes of some samples overflow.
        """
        finite = torch.isfinite(seen.cost) & torch.isfinite(seen.residual)
        if not self._weights() or not bool(finite.any()):
            return None
        group, shares = seen.group, seen.group.shares(len(indices))
        mine, counts = shares[group.rank], [int(finite[share].sum()) for share in shares]
        own = self._own_regularization(seen, indices[mine], finite[mine], step) if counts[group.rank] else None
        if group.any(own is not None and first_not_finite(self.net, *own) is not None):
            return None
        return averaged_regularization(group, seen.params, None if own is None else own[1], counts)

    def _own_regularization(
        self, seen: Measured, indices: np.ndarray, finite: Tensor, step: int
    ) -> tuple[Batch, Gradients]:
        """Return this rank's samples whose values are ``finite``, and gradients of penalty and defence at them."""
        batch, states = seen.batch.select(finite), {name: value[finite] for name, value in seen.own.states.items()}
        keys = noise_keys(self.options.seed, step, indices[finite.cpu().numpy()])
        given = {"directions": directions(keys, states)} if self.controller is not None else {}
        return batch, self._gradients(batch, states=states, steps=0, contrast=False, **given, **self._weights())

    def _apply(self, part: Part, factor: float) -> Tensor | None:
        """Move the params and return the norm of the whole gradient, along their sets and before clipping.

        None if nothing moves them.
        """
        used = part.used if part.used is not None and bool(part.used.kept.any()) else None
        moves = [move.params for move in (used, part.regularization) if move is not None]
        if not moves:
            return None
        culprit = None if used is None else used.culprit(self.net)
        if culprit is not None:
            raise NotFinite(culprit)
        self.optimizer.zero_grad(set_to_none=True)
        whole = {n: moves[0][n] if len(moves) == 1 else moves[0][n] + moves[1][n] for n in self.params}
        along = self.net.project_gradients(whole)
        for name, param in self.params.items():
            param.grad = along[name]
        limit = float("inf") if self.options.clip is None else self.options.clip
        norm = torch.nn.utils.clip_grad_norm_(self.params.values(), limit)
        set_rates(self.optimizer, factor)
        take_step(self.optimizer)
        self.net.project_params()
        return norm

    def _steer(self, seen: Measured) -> None:
        if self.controller is not None and self.options.controlled is not None:
            self.controller = self.controller.after(float(seen.residual.mean()), self.options.controlled)

    def _row(self, step: int, epoch: int, seen: Measured, part: Part, norm: Tensor | None, factor: float) -> Row:
        shown = seen if part.used is None else part.used
        row: Row = {
            "step": step + 1,
            "kind": "train",
            "epoch": epoch,
            "cost": float(shown.cost.mean()),
            "residual": float(seen.residual.max()),
            "settled": float((seen.residual <= self._limit).double().mean()),
            "relax_steps": float(seen.steps.double().mean()),
            "beta": None if seen.own.beta is None else float(seen.own.beta),
            "gradient_norm": None if norm is None else float(norm),
            "lr": self.options.base_rate * factor,
            **vitals(seen, part.used, {} if part.regularization is None else part.regularization.values),
        }
        if self.options.gate is not None:
            row["gated"] = part.gated
        if self.net.relax_auto:
            row["relax_step"] = max(seen.own.step)
        if self.controller is not None:
            row["penalty"] = self.controller.weight
        return row


def _check_cosine(session: Session) -> None:
    """Raise UserError E0502 where there is no exact gradient to compare with."""
    if session.options.cosine_every is not None and EXACT not in session.net.rules:
        message = f"train.cosine_every compares with {EXACT}, which {session.net.name} does not admit"
        raise UserError(message, code="E0502", help="leave it out")


def _check_beta_schedule(session: Session, rule: str) -> None:
    """Raise UserError E0502 where a rule has no nudge whose strength could change, or each layer one of its own."""
    if session.options.beta_schedule is None:
        return
    if "beta" not in RULES[rule].settings:
        message = f"train.beta_schedule changes the strength of a nudge, and {rule} has none"
        nudging = [name for name in session.net.rules if "beta" in RULES[name].settings]
        help_text = f"leave it out, or train by {listed(nudging)}" if nudging else "leave it out"
        raise UserError(message, code="E0502", help=help_text)
    if layers := getattr(session.net, "layers", {}):
        message = f"train.beta_schedule changes one nudge, and {listed(layers)} of {session.net.name} have one each"
        raise UserError(message, code="E0502", help="leave it out, and set nudge.beta of each layer")


def _chosen_rule(session: Session) -> str:
    rules = session.net.rules
    rule = session.options.rule or rules[0]
    if rule not in rules:
        message = f"the network {session.net.name} was not compiled for the rule {rule}"
        raise UserError(message, code="E0502", help=did_you_mean(rule, rules, f"it holds {listed(rules)}"))
    return rule

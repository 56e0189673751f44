"""The training loop: updates, evaluations and checkpoints in order, with a clean end in every case.

After each update its row is written, then the network is evaluated and a checkpoint saved if these are due. A
checkpoint is therefore complete up to its step, and ``metrics.jsonl`` cut at that step is as it was then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from energyc.language.diagnostics import Option, UserError, arithmetic, listed, spoken
from energyc.running.folder import checkpoints
from energyc.running.folder.checkpoints import Checkpoint
from energyc.running.folder.fit import refuse_unfit_state
from energyc.running.folder.layout import RunFolder, claimed, locked, refuse_taken
from energyc.running.folder.logs import Row, Writer, read_rows
from energyc.running.loggers.protocol import Run, Telling
from energyc.running.training.diagnosis import Diagnosis
from energyc.running.training.evaluation import (
    Evaluation,
    Stopped,
    check_names,
    evaluate_split,
    is_better,
    relaxation_row,
)
from energyc.running.training.feeds import Feed
from energyc.running.training.health import NotFinite, not_finite_param
from energyc.running.training.identity import made_of, refuse_other, run_info
from energyc.running.training.learner import Learner
from energyc.running.training.numbers import shown
from energyc.running.training.outcome import Diverged, Interrupted, Numbers, Outcome, ending_of
from energyc.running.training.progress import Reporter
from energyc.running.training.run_health import Relaxation, RunHealth, run_health
from energyc.running.training.schedule import Controller
from energyc.running.training.session import Session
from energyc.running.training.signals import Signals
from energyc.running.training.snapshot import restore, take

#: Is given the row of each update; where it returns False, the run ends there as it would at its last update.
Watch = Callable[[Row], object]
#: The seconds from which on it is said how long evaluations take.
NOTICED = 1.0


def train(
    session: Session,
    *,
    resume: bool = False,
    reporter: Reporter | None = None,
    label: str | None = None,
    pictures: Callable[[], Sequence[Path]] | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Train ``session.net`` into ``session.out``; with ``resume`` continue from its newest intact checkpoint.

    ``label`` distinguishes the progress of this run from that of others (``seed 3``). ``pictures`` draws those of the
    finished run, for its loggers. With ranks, all of them call it.
    What ``watch`` raises is raised, after saving.
    The caller's random generators are unchanged. Raises UserError (options, data, folder, disk), Interrupted
    (Ctrl-C, SIGTERM, SIGHUP; after saving), Diverged (the last good checkpoint is kept), KeyboardInterrupt (a second
    Ctrl-C).
    """
    reporter = reporter or Reporter()
    telling = Telling(session.loggers if session.group.is_first else (), reporter.message)
    try:
        outcome = _trained(session, resume, reporter, label, telling, watch)
        if pictures is not None and session.group.is_first:
            telling.pictures(pictures())
    except BaseException as error:
        telling.finish(ending_of(error, telling.update))
        raise
    telling.finish(ending_of(outcome, outcome.steps))
    return replace(outcome, warnings=(*outcome.warnings, *telling.warnings))


def _trained(
    session: Session, resume: bool, reporter: Reporter, label: str | None, telling: Telling, watch: Watch | None
) -> Outcome:
    devices = range(torch.cuda.device_count()) if torch.device(session.device).type == "cuda" else ()
    with (
        torch.random.fork_rng(devices=list(devices)),
        Signals(notify=session.group.is_first) as signals,
        reporter as active_reporter,
    ):
        training = Training(session, signals, active_reporter, label, telling, watch)
        with training.resumed() if resume else training.begun():
            return training.run()


class Training:
    """The state of a run: the learner, the step it has reached, and the checkpoints it has saved."""

    def __init__(
        self,
        session: Session,
        signals: Signals,
        reporter: Reporter,
        label: str | None,
        telling: Telling,
        watch: Watch | None = None,
    ) -> None:
        _check_parts(session)
        self.session = session
        self.options = session.options
        self.group = session.group
        self.folder = RunFolder(session.out)
        self._feed = Feed(session.feeds, "train", session.device, session.dtype)
        self.learner = Learner(session, self._feed)
        self.step = 0
        self.best: dict[str, Any] | None = None  # step, value, numbers of the test, and of the validation part
        self.evaluated: dict[str, Any] | None = None  # step and numbers of the last evaluation
        self.idle = 0  # updates in which no sample took part
        self.partial = 0  # updates without the samples whose nudged phases diverged
        self._first, self._resumed = 0, False  # the first step of this session, and whether it continues a run
        self._held_out = Feed(session.feeds, "test", session.device, session.dtype)
        self._diagnosis = Diagnosis(session, self.learner, (self._held_out, self._feed))
        self._validation: Feed | None = None  # decides which checkpoint is the best, where there is one
        if session.feeds.has_validation:
            self._validation = Feed(session.feeds, "validation", session.device, session.dtype)
        self._writer = Writer(session.out, idle=not self.group.is_first)
        self._signals = signals
        self._reporter = reporter
        self._label = label or ""
        self._telling = telling
        self._watch = watch
        self._start = time.monotonic()
        self.group.knows(session.out)

    @property
    def total(self) -> int:
        """The number of updates of the whole run."""
        return self.learner.total

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Start a new run in its folder, which stays locked within this context."""
        if self.group.is_first:
            refuse_taken(self.session.out)
        with self._finite(), self._arithmetic("the evaluation"):
            check_names(self.session.net, self._held_out, self.options)
        with claimed(self.session.out) if self.group.is_first else nullcontext():
            self._begin(made_of(self.session, self._feed), self.session.files)
            yield

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Continue an existing run, whose folder stays locked within this context."""
        if self.group.is_first:
            self.folder.read_info()  # before the lock, which only a run folder may get
        self._resumed = True
        with locked(self.session.out) if self.group.is_first else nullcontext():
            identity = made_of(self.session, self._feed)
            checkpoint = self.group.announced(self._found(identity) if self.group.is_first else None)
            if checkpoint is None:
                self._begin(identity, {})  # the files are there, since run.json came after them
            else:
                restore(self.session.net, checkpoint, self.learner.optimizer)
                self._continue(checkpoint, identity)
            yield

    def _found(self, identity: Mapping[str, Any]) -> Checkpoint | None:
        """Return the newest intact checkpoint of the run, or None if it was killed before its first.

        Raises UserError if it is not of this network and these data.
        """
        checkpoints.recover(self.folder.checkpoints)
        self.folder.remove_unfinished()
        checkpoint = None if self._killed_at_once() else self._newest()
        refuse_other(self.session.out, self.folder.read_info().get("made_of", {}), identity)
        return checkpoint

    def _killed_at_once(self) -> bool:
        """Whether the run ended before its first checkpoint; a run that lost its checkpoints has rows of updates."""
        saved_steps = checkpoints.steps(self.folder.checkpoints)
        return not saved_steps and not any(row["step"] > 0 for row in read_rows(self.folder.metrics))

    def _newest(self) -> Checkpoint:
        """Return the newest intact checkpoint. Raises UserError if it does not fit."""
        self._refuse_fewer_updates()
        checkpoint = checkpoints.load_last(self.folder.checkpoints, self._reporter.message)
        refuse_unfit_state(checkpoint, self.options)
        self._check_samples(checkpoint.state["samples"])
        restore(self.session.net, checkpoint, self.learner.optimizer)
        return checkpoint

    def _begin(self, identity: Mapping[str, Any], files: Mapping[str, str]) -> None:
        """Fill the folder and save step 0, so that there is always a checkpoint."""
        self._writer.begin(files, run_info(self.session, self.learner, identity))
        self._save()

    def _continue(self, checkpoint: Checkpoint, identity: Mapping[str, Any]) -> None:
        """Continue from a restored checkpoint, and cut the log to its step."""
        if checkpoint.state.get("controller"):
            self.learner.controller = Controller(**checkpoint.state["controller"])
        if self.learner.average is not None:
            self.learner.average.take(checkpoint.average)
        self.step = checkpoint.step
        self.idle, self.partial = checkpoint.state.get("idle", 0), checkpoint.state.get("partial", 0)
        self.evaluated, self.best = checkpoint.state["evaluated"], checkpoint.state["best"]
        info = None
        if self.group.is_first:
            if self.best is not None and self.best["step"] not in checkpoints.steps(self.folder.checkpoints):
                self.best = None
            if self.total >= self.folder.read_info().get("steps", 0):  # --steps may stop a run earlier
                info = run_info(self.session, self.learner, identity)
        self.best = self.group.announced(self.best)
        best = None if self.best is None else self.best["step"]
        self._writer.resume(self.step, info, best, evaluated=self._is_evaluated)

    def run(self) -> Outcome:
        """Make the remaining updates."""
        label = f", {self._label}" if self._label else ""
        self._reporter.begin(f"{self.session.net.name} ({self.learner.rule}){label}", self.step, self.total)
        if self._resumed:
            self._reporter.message(f"resumes after update {self.step:,} of {self.total:,}")
        self._first = self.step
        if self.group.is_first:
            self._tell_start()
        self._finish_step()  # the evaluation of step 0, or one that was interrupted
        while self.step < self.total:
            with self._finite(), self._arithmetic(f"update {self.step + 1}"):
                row = self.learner.update(self.step)
            self.idle += row.get("gated", 0) + row["dropped"] == len(self.learner.order.indices(self.step))
            self.partial += row["dropped"] > 0
            self.step += 1
            self._record(row)
            ended = self._is_ended_by(row)
            self._finish_step(ended)
            if ended:
                break
        return self._outcome()

    def _tell_start(self) -> None:
        """Tell the loggers of the run, and what its log has of the update at which it continues."""
        name, rule, info = self.session.net.name, self.learner.rule, dict(self.folder.read_info())
        self._telling.start(Run(self.session.out, name, rule, self.step, self.total, self._label, info))
        self._tell([row for row in read_rows(self.folder.metrics) if row["step"] == self.step])

    def _tell(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._telling.row(str(row.get("split", row["kind"])), row)

    def _record(self, row: Row) -> None:
        if self.step % self.options.log_every == 0 or self.step == self.total:
            self._writer.row(row)
            self._tell([row])
        self._reporter.update(shown(row, self.session.rests))

    def _is_ended_by(self, row: Row) -> bool:
        """Whether the watch ends the run; what it raises is raised after saving."""
        if self._watch is None:
            return False
        try:
            return self._watch(dict(row)) is False
        except BaseException:
            self._save()
            raise

    def _finish_step(self, ended: bool = False) -> None:
        """Evaluate and save if due, as they are where the run ended. Raises Interrupted after a signal."""
        due, stopped = ended or self._evaluation_due(), self.group.any(self._signals.raised)
        if due and not stopped:
            self._evaluate()
            stopped = self.group.any(self._signals.raised)
        if due or stopped or self._save_due():
            self._save()
        if stopped:
            raise Interrupted(self.session.out, self.step)

    @property
    def _is_evaluated(self) -> bool:
        return self.evaluated is not None and self.evaluated["step"] == self.step

    def _evaluation_due(self) -> bool:
        return not self._is_evaluated and (self.step % self._eval_every == 0 or self.step == self.total)

    def _save_due(self) -> bool:
        return (
            self.options.save_every is not None
            and self.step % self.options.save_every == 0
            and self._writer.saved != self.step
        )

    @property
    def _eval_every(self) -> int:
        return self.options.evaluated_every(self.total, self.learner.order.updates)

    def _evaluate(self) -> None:
        start = time.monotonic()
        try:
            with self.learner.as_evaluated(), self._finite(), self._arithmetic("the evaluation"):
                validation = None if self._validation is None else self._measure(self._validation).numbers
                numbers, saturated, _ = self._measure(self._held_out, validation or {})
        except Stopped:
            return
        deciding = numbers if validation is None else validation
        also = {} if validation is None else {"validation": validation}
        self.evaluated = {"step": self.step, "numbers": numbers, **also}
        value = deciding[self.options.best]
        if is_better(self.options, value, None if self.best is None else self.best["value"]):
            self.best = {"step": self.step, "value": value, "numbers": numbers, **also}
        row: Row = {"step": self.step, "kind": "eval", "split": "test", **numbers}
        row |= {} if saturated is None else {"saturated": saturated.to_json()}
        rows = [] if validation is None else [{"step": self.step, "kind": "validation", **validation}]
        waited = {"waited": self.group.seconds} if self.group.size > 1 else {}
        self._writer.evaluation([*rows, row], {"seconds": self._seconds, **waited}, self._followed())
        self._tell([*rows, row])
        self._reporter.evaluation(shown(row, self.session.rests))
        if self.step == self._first:
            self._plan(time.monotonic() - start)

    def _plan(self, seconds: float) -> None:
        """Say how long evaluations take, after the first one of a session, where that is to be noticed."""
        if seconds >= NOTICED and self.step < self.total:
            every = "update" if self._eval_every == 1 else f"{self._eval_every} updates"
            self._reporter.message(f"an evaluation takes {seconds:.0f} s, every {every}")

    def _followed(self) -> Row | None:
        """Return how a few test samples relax; None of layers, each of which has an energy of its own."""
        if not self.group.is_first or self.session.info.get("layers"):
            return None
        energies = self.session.info.get("energies") != []
        with self.learner.as_evaluated(), self._arithmetic("the evaluation"):
            return relaxation_row(
                self.session.net, self._held_out, self.step, energies=energies, seed=self.options.seed
            )

    def _measure(self, feed: Feed, thresholds: Mapping[str, float] = MappingProxyType({})) -> Evaluation:
        """Evaluate a part. Raises NotFinite, Stopped."""
        return evaluate_split(
            self.session.net,
            feed,
            self.options,
            samples=self.options.evaluated_samples(self._eval_every),
            stop=lambda: self._signals.raised,
            thresholds=thresholds,
            group=self.group,
            bounds=self.session.bounds,
        )

    def _save(self) -> None:
        bad = not_finite_param(self.learner.params)
        if bad is not None:
            raise self._diverged(bad)
        self._refuse_drift()
        average = {} if self.learner.average is None else self.learner.average.values
        checkpoint = take(self.session.net, self.learner.optimizer, self.step, self._state(), average)
        self._writer.save(checkpoint, None if self.best is None else self.best["step"])

    def _refuse_drift(self) -> None:
        """Raise UserError E0519 if the params are not the same at all ranks, which make the same updates of them."""
        sums = self.group.collected([float(param.detach().double().sum()) for param in self.learner.params.values()])
        if any(other != sums[0] for other in sums):
            message = f"after {self.step} updates the params are not the same at all ranks"
            raise UserError(message, code="E0519", help="start all ranks on the same kind of processor or GPU")

    def _state(self) -> dict[str, Any]:
        epoch, position = self.learner.order.place(self.step)
        return {
            "epoch": epoch,
            "position": position,
            "samples": self.learner.order.samples,
            "seed": self.options.seed,
            "best": self.best,
            "evaluated": self.evaluated,
            "idle": self.idle,
            "partial": self.partial,
            "controller": None if self.learner.controller is None else self.learner.controller.to_json(),
        }

    def _refuse_fewer_updates(self) -> None:
        """Raise UserError E0502 if the run has made more updates than ``total``; damaged checkpoints count."""
        completed = max(checkpoints.steps(self.folder.checkpoints), default=0)
        if self.total < completed:
            message = f"{self.session.out} has already made {completed} updates, more than {self.total}"
            raise UserError(
                message, code="E0502", help=spoken(f"leave out {{}}, or give {completed} or more", Option("steps"))
            )

    def _check_samples(self, samples: int) -> None:
        if samples != self.learner.order.samples:
            message = f"the run was made with {samples} training samples, the data now has {self.learner.order.samples}"
            raise UserError(
                message, code="E0520", help=spoken("give the data that the run was started with by {}", Option("data"))
            )

    def _diverged(self, what: str) -> Diverged:
        return Diverged(self.session.out, self.step, what, self._writer.saved, self._diagnosis.cause(what))

    def _arithmetic(self, doing: str) -> AbstractContextManager[None]:
        return arithmetic(doing, self.session.extremes, self._diagnosis.why_unsettled)

    @contextmanager
    def _finite(self) -> Iterator[None]:
        try:
            yield
        except NotFinite as bad:
            raise self._diverged(bad.what) from None

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._start

    def _outcome(self) -> Outcome:
        final = {} if self.evaluated is None else self.evaluated["numbers"]
        best, step = ({}, None) if self.best is None else (self.best["numbers"], self.best["step"])
        validation = {} if self.best is None else self.best.get("validation", {})
        if not self.group.is_first:
            return Outcome(self.session.out, self.step, final, best, step, self._seconds, first=self._first)
        health = self._health(step)
        warnings = [*self._warnings(final), *map(str, health.symptoms)]
        if warnings and self.session.extremes:
            warnings.append(f"look at {listed(self.session.extremes)}: so extreme a value may be the cause")
        return Outcome(
            self.session.out,
            self.step,
            final,
            best,
            step,
            self._seconds,
            tuple(warnings),
            health,
            self._first,
            validation,
            {part: self.session.feeds.size(part) for part in ("test", "validation")},
        )

    def _health(self, best_step: int | None) -> RunHealth:
        relaxation = Relaxation.of(self.session.net, self.session.dtype)
        rows = read_rows(self.folder.metrics)
        find = self._diagnosis.non_convergence
        return run_health(rows, relaxation, self.learner.rule, self.options.best, best_step, find)

    def _warnings(self, final: Numbers) -> Iterator[str]:
        """Yield the warnings of the summary."""
        why = f"energyc verify {self.session.out} says why the network does not settle"
        if self.idle:
            settled = "" if self.options.gate is None else f"none settled below train.gate = {self.options.gate:g}, or "
            reason = f"{settled}all nudged phases diverged"
            effect = f"no sample took part in {self.idle} of {self.step} updates"
            yield f"{effect}, and there the cost moved no param: {reason}; {why}"
        drift = self._diagnosis.drift() if self.step else ""
        if drift:
            yield drift
        if self.partial:
            yield f"nudged phases diverged in {self.partial} of {self.step} updates, whose samples were left out; {why}"
        names = [name for name, value in final.items() if not math.isfinite(value)]
        if names:
            yield f"not finite in the last evaluation: {', '.join(names)}; {why}"


def _check_parts(session: Session) -> None:
    """Raise UserError E0503 for settings that need a part of the samples which there is not."""
    if session.options.needs_validation and not session.feeds.has_validation:
        message = "train.metrics: the best threshold is chosen on a validation part, and there is none"
        raise UserError(message, code="E0503", help="add validation = 1/5, or leave out threshold = best")
    if session.options.folds is not None and session.feeds.division.fold is None:
        message = f"train.folds = {session.options.folds} asks for as many runs, and this is one"
        raise UserError(message, code="E0503", help="energyc train makes them, and training.seeds.train_each")

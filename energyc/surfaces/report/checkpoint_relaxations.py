"""Relaxations of a run that recorded none, computed from the checkpoints that it keeps."""

from __future__ import annotations

import json
from collections.abc import Callable

from energyc.language.diagnostics import SpecError, UserError
from energyc.running.folder import checkpoints
from energyc.running.folder.checkpoints import Damaged
from energyc.running.folder.formats import RelaxationRow, parse_relaxation
from energyc.running.runs.prepare import reopen
from energyc.running.runs.saved import SavedRun
from energyc.running.training.feeds import Feed
from energyc.running.training.relaxations import relaxation_row
from energyc.running.training.snapshot import restore


def relaxations_of_checkpoints(run: SavedRun, notify: Callable[[str], None]) -> tuple[list[RelaxationRow], str]:
    """Return a row for each checkpoint, oldest first, and where they are from or why there is none."""
    try:
        prepared = reopen(run.folder.path)
        session = prepared.session(run.folder.path)
        feed = Feed(session.feeds, "test", session.device, session.dtype)
    except (UserError, SpecError) as error:
        notify(f"no relaxations of {run.folder.path}: {error}")
        return [], f"no relaxation is recorded in this run, and none can be computed: {error}"
    rows = []
    for step in reversed(checkpoints.steps(run.folder.checkpoints)):
        try:
            restore(session.net, checkpoints.load(run.folder.checkpoints, step))
        except Damaged as damage:
            notify(f"the checkpoint of step {step} is damaged ({damage})")
            continue
        energies = bool(prepared.network.energies)
        row = relaxation_row(session.net, feed, step, energies=energies, seed=session.options.seed)
        rows.append(parse_relaxation(json.dumps(row)))
    return rows, "computed now from the checkpoints that the run keeps"

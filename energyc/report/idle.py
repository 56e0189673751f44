"""Settings that do nothing on this network, which nobody would see."""

from __future__ import annotations

from collections.abc import Iterator

from energyc.analysis.classes import Classes
from energyc.resolve.network import Network


def idle_settings(network: Network, classes: Classes) -> Iterator[str]:
    """A sentence on each."""
    relax, nudge, train = network.relax, network.nudge, network.train
    if relax.max_steps is not None and relax.max_steps < relax.steps:
        yield f"relax.max_steps = {relax.max_steps} does nothing: relax.steps = {relax.steps} are made in any case"
    every = nudge.options.get("snapshots")
    if isinstance(every, int) and 2 * every > nudge.steps:
        reason = f"two snapshots are compared, and nudge.steps = {nudge.steps} has room for {nudge.steps // every}"
        yield f"nudge.snapshots = {every} does nothing: {reason}"
    if train.get("penalty") is not None and not classes.unproved:
        yield "train.penalty does nothing: every term is conservative, so there is no J_nc to penalise"
    if train.get("folds") is not None:
        yield "train.folds does nothing: no data have folds yet"

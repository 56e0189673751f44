"""Which runs several ranks can share."""

from __future__ import annotations

from energyc.language.diagnostics import UserError, listed
from energyc.language.network import Network
from energyc.language.settings import TrainOptions
from energyc.running.ranks.group import Group


def refuse_unshared(network: Network, options: TrainOptions, group: Group) -> None:
    """Raise UserError for a batch that does not divide, and for samples that depend on the others of their batch."""
    if group.size == 1:
        return
    batch, size = options.batch, group.size
    if batch % size:
        message = f"train.batch = {batch} is the batch of all {size} ranks together, and {size} does not divide it"
        raise UserError(message, code="E0502", help=f"train.batch = {size * max(1, round(batch / size))}")
    parts = [network, *(layer.network for layer in network.layers.values())]
    for part in parts:
        coupled = listed(part.batch_mates) or ("relax.step = auto" if part.relax.step is None else "")
        if coupled:
            message = f"{size} ranks cannot share a batch of {part.name}, where samples depend on each other: {coupled}"
            raise UserError(message, code="E0519", help="train it in one process")

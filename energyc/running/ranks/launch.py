"""Join the group of processes that ``torchrun`` has started, by the variables that it sets."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import torch

from energyc.language.diagnostics import UserError
from energyc.running.ranks.group import ALONE, Group

#: Seconds for which a rank waits for another in a call.
TIME_LIMIT = 300.0


def launched() -> bool:
    """Whether this process is one of several that a launcher has started."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def leave(status: int) -> None:
    """End the process of a rank at once; do nothing where there is one process alone.

    While the interpreter is taken down, a thread of torch's may abort a process that has done and saved everything,
    and the launcher would call the run failed.
    """
    if launched():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


def own_device(device: str) -> str:
    """Return the device of this rank: ``cuda`` is that of its place on its machine."""
    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if launched() and device == "cuda" else device


@contextmanager
def joined(device: str, limit: float | None) -> Iterator[Group]:
    """Join the group, if there is one, and leave it at the end; a failure of any rank ends the run at all of them.

    ``device`` is the rank's own. ``limit`` is the time in seconds that a call may wait for another rank. Raises
    UserError E0519 if a rank dies or is late, EndedElsewhere where another rank gives the reason.
    """
    if not launched():
        yield ALONE
        return
    import torch.distributed as dist
    from torch.distributed.distributed_c10d import PrefixStore, _get_default_store

    from energyc.running.ranks.processes import Processes

    place = torch.device(device)
    seconds = TIME_LIMIT if limit is None else limit
    if place.type == "cuda":
        torch.cuda.set_device(place)
    os.environ.setdefault("TORCH_NCCL_BLOCKING_WAIT", "1")  # a call of nccl that takes too long raises an exception
    try:
        dist.init_process_group("nccl" if place.type == "cuda" else "gloo", timeout=timedelta(seconds=seconds))
    except (ValueError, RuntimeError) as error:
        message = f"cannot join the other ranks: {error}"
        help_text = "start it by torchrun --nproc-per-node N -m energyc train ..., or unset WORLD_SIZE"
        raise UserError(message, code="E0519", help=help_text) from None
    store = PrefixStore(f"energyc/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", _get_default_store())
    group = Processes(place if place.type == "cuda" else torch.device("cpu"), store, seconds)
    with group.ending():
        yield group
    dist.destroy_process_group()  # after a failure it could wait for a rank that is gone; the process ends at once

"""A rank that trains all cases into folders of OUT: ``torchrun -m tests.ranks.worker OUT [stop | resume]``."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import torch

from energyc.running.folder.logs import Row
from energyc.running.ranks.launch import joined, leave
from energyc.running.training.loop import train
from energyc.running.training.outcome import Interrupted
from energyc.running.training.progress import Reporter
from tests.ranks.cases import CASES


class Stopping(Reporter):
    """Sends this process SIGTERM after update 8."""

    def update(self, row: Row) -> None:
        """Report an update."""
        if row["step"] == 8:
            os.kill(os.getpid(), signal.SIGTERM)


torch.set_num_threads(1)
out, mode = Path(sys.argv[1]), sys.argv[2]
with joined("cpu", 60) as group:
    reporter = Stopping() if mode == "stop" and group.rank == group.size - 1 else None
    for name, case in CASES.items():
        with suppress(Interrupted):
            train(case.session(out / name, group), resume=mode == "resume", reporter=reporter)
leave(0)

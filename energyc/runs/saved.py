"""Read a run folder, for ``energyc.load("runs/x")``, ``eval``, ``verify`` and ``--resume``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from energyc.diagnostics import Source, UserError
from energyc.settings import TrainOptions
from energyc.train.checkpoint import Checkpoint, load_best, load_last
from energyc.train.folder import RunFolder
from energyc.train.formats import RunInfo
from energyc.train.metrics_log import Row, read_rows
from energyc.train.network import Network
from energyc.train.snapshot import restore

Which = Literal["best", "last"]


@dataclass(frozen=True)
class SavedRun:
    """A run on disk."""

    folder: RunFolder
    info: RunInfo

    @cached_property
    def options(self) -> TrainOptions:
        """The options of the run."""
        return TrainOptions.from_json(self.info.get("options", {}))

    @property
    def rule(self) -> str:
        """The rule that trains the run."""
        return self.info.get("rule") or self.options.trained_by

    @cached_property
    def source(self) -> Source:
        """The resolved spec."""
        name = "spec.energy"
        return Source(str(self.folder.path / name), self.text(name))

    def text(self, name: str) -> str:
        """Read a file of the run. Raises UserError E0511 if it is missing."""
        try:
            return (self.folder.path / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            message = f"the run {self.folder.path} has no readable {name}"
            raise UserError(message, code="E0511", help="give a folder that energyc train made") from None

    def data_paths(self, moved: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """Return the paths of the data, with new paths for ``moved``. Raises UserError E0913 for a missing path."""
        recorded = self.info.get("data", {})
        for name, path in recorded.items():
            if name not in moved and not Path(path).exists():
                message = f"{self.folder.path} was made with the data {name} from {path}, and nothing is there now"
                raise UserError(message, code="E0913", help=f"give the new path: --data {name}=PATH")
        return {**recorded, **moved}

    def rows(self) -> list[Row]:
        """Read all rows of metrics.jsonl."""
        return read_rows(self.folder.metrics)

    def checkpoint(self, which: Which = "best", notify: Callable[[str], None] = lambda text: None) -> Checkpoint:
        """Return the best or the newest intact checkpoint. Raises UserError E0512 if there is none."""
        read = load_best if which == "best" else load_last
        return read(self.folder.checkpoints, notify)

    def load_into(
        self, net: Network, which: Which = "best", notify: Callable[[str], None] = lambda text: None
    ) -> Checkpoint:
        """Load the weights into a network of the same spec, and return their checkpoint."""
        checkpoint = self.checkpoint(which, notify)
        restore(net, checkpoint)
        return checkpoint


def load_run(path: Path | str) -> SavedRun:
    """Open a run folder. Raises UserError E0511 if ``path`` is none, or the folder of several seeds."""
    folder = RunFolder(Path(path))
    if folder.of_several:
        names = ", ".join(map(str, folder.runs))
        raise UserError(
            f"{path} holds the runs of several {folder.runs[0].name.partition('-')[0] if folder.runs else 'seed'}s",
            code="E0511",
            help=f"give one of them: {names}",
        )
    return SavedRun(folder, folder.read_info())

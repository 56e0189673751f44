"""The inputs of a training run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from energyc.language.settings import TrainOptions
from energyc.running.loggers.protocol import Logger
from energyc.running.ranks.group import ALONE, Group
from energyc.running.training.feeds import Feeds
from energyc.running.training.network import Network
from energyc.running.training.run_health import Relaxation
from energyc.running.training.saturation import Bounds


@dataclass(frozen=True)
class Session:
    """A network, its data, its options and the folder of the run.

    ``files`` maps names of files in the run folder to their texts (``spec.energy``, the generated module). ``info`` is
    added to run.json (versions, presets, chosen kernels). ``sources`` are the paths of bindings that were read from
    files. ``steep`` maps terms (``energy term e``, ``the cost``) to descriptions of their infinite slopes, which are
    reported if the run diverges. ``extremes`` are the settings with extreme values, as ``train.lr = 1e+300``. ``net``
    is already on ``device`` and in ``dtype``. ``group`` are the ranks that share the samples of each update; the first
    of them tells ``loggers`` how the run goes. ``bounds`` are those of the states that have such.
    """

    net: Network
    feeds: Feeds
    options: TrainOptions
    out: Path
    files: Mapping[str, str] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    sources: Mapping[str, str] = field(default_factory=dict)
    steep: Mapping[str, str] = field(default_factory=dict)
    extremes: tuple[str, ...] = ()
    group: Group = ALONE
    loggers: tuple[Logger, ...] = ()
    bounds: Mapping[str, Bounds] = field(default_factory=dict)

    @property
    def rests(self) -> bool:
        """Whether the states are to rest: not where a fixed number of steps is the network."""
        return Relaxation.of(self.net, self.dtype).rests(self.options.rule or self.net.rules[0])

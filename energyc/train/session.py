"""Everything that one training run needs, put together by whoever starts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from energyc.settings import TrainOptions
from energyc.train.feeds import Feeds
from energyc.train.network import Network


@dataclass(frozen=True)
class Session:
    """A network, its data, its options and where the run goes.

    ``files`` are texts that the run folder keeps by their names (``spec.energy``, the generated module); ``info`` goes
    into run.json beside the options (versions, presets, chosen kernels). ``sources`` are the paths that
    bindings were read from, if any. ``steep`` says of a term (``energy term e``, ``the cost``) where its slope is
    infinite, for a run that diverges. ``net`` is on ``device`` and computes in ``dtype`` already.
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

"""The content of ``run.json``."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from energyc.running.training.learner import Learner
from energyc.running.training.session import Session


def run_info(session: Session, learner: Learner, made_of: Mapping[str, Any]) -> dict[str, Any]:
    """Return options, seed, sizes and versions, with the session's own ``info``."""
    return {
        "format": 1,
        "network": session.net.name,
        "rule": learner.rule,
        "options": session.options.to_json(),
        "steps": learner.total,
        "training_samples": learner.order.samples,
        "params": {name: list(param.shape) for name, param in learner.params.items()},
        "bindings": {"clamps": dict(session.feeds.clamps), "targets": dict(session.feeds.targets)},
        "files": list(session.files),
        "made_of": dict(made_of),
        **({} if session.feeds.division.fold is None else {"fold": session.feeds.division.fold}),
        "device": session.device,
        "dtype": str(session.dtype).removeprefix("torch."),
        "threads": torch.get_num_threads(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
        **session.info,
    }

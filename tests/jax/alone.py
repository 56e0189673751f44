"""A generated JAX module in a process that cannot import energyc: what its network gives.

``python alone.py FOLDER MODULE CLASS GIVEN TAKEN`` reads clamps and targets, and writes what was found.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import Any

import numpy as np


class Blocked:
    """A finder of modules that refuses energyc, whether or not it is installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Refuse energyc and what is in it. Raises ImportError."""
        if name.partition(".")[0] == "energyc":
            raise ImportError(f"{name} is blocked")
        return None


def measured(net: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The states at rest, and the gradient of the first rule that is not for trajectories, where there is a cost."""
    clamps = {name: x for name, x in given.items() if name in net.names["clamps"]}
    targets = {name: x for name, x in given.items() if name in net.names["targets"]}
    rest = net.relax(clamps)
    found = {f"state {name}": np.asarray(x) for name, x in rest.states.items()}
    if targets and net.rules:
        found |= {f"slope {name}": np.asarray(x) for name, x in net.gradients(clamps, targets).items()}
    return found


if __name__ == "__main__":
    _, folder, module, class_name, given, taken = sys.argv
    sys.meta_path.insert(0, Blocked())  # type: ignore[arg-type]
    sys.path.insert(0, folder)
    network = getattr(import_module(module), class_name)(seed=1)
    np.savez(taken, **measured(network, np.load(given)))
    assert not any(name.partition(".")[0] == "energyc" for name in sys.modules)

"""A generated module in a process that cannot import energyc: what its public members give.

``python alone.py FOLDER MODULE CLASS GIVEN TAKEN`` reads clamps and targets, and writes what was found; of a module in
JAX these are files of NumPy, ``.npz``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import Any

import numpy as np
import torch
from torch import Tensor

Inputs = dict[str, Tensor]


class Blocked:
    """A finder of modules that refuses some packages, whatever is installed."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Refuse a package and what is in it. Raises ImportError."""
        if any(name == each or name.startswith(f"{each}.") for each in self.names):
            raise ImportError(f"{name} is blocked")
        return None


def measured(net: Any, clamps: Inputs, targets: Inputs) -> list[Tensor]:
    """A relaxation with its trace, what is read off it, the gradient of each rule, and that of a host network.

    Networks of layers skip what only networks without layers have; networks without a cost skip gradients.
    """
    whole = not hasattr(net, "layers")
    torch.manual_seed(0)  # for noise
    rest = net.relax(clamps, record=("energy", "residual") if whole else ())
    states = rest.states
    found = [*states.values(), rest.residual, *rest.trace.values()]
    found += [net.energy(states, clamps), *net.terms(states, clamps).values()] if whole else []
    found += net.force(states, clamps).values() if whole else []
    found += net.readout(states, clamps).values()
    if net.target_shapes:
        found.append(net.cost(states, clamps, targets))
        for rule in net.rules:
            found += net.gradients(clamps, targets, rule, allow_biased=True).params.values()
    out = net(clamps, rule=net.rules[0] if net.rules == ("bptt",) else None)
    torch.stack([x.sum() for x in out.values()]).sum().backward()
    return [x.detach() for x in (*found, *out.values(), *(p.grad for p in net.parameters() if p.grad is not None))]


def measured_in_jax(net: Any, given: Mapping[str, Any]) -> dict[str, Any]:
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
    sys.meta_path.insert(0, Blocked(["energyc"]))
    sys.path.insert(0, folder)
    kind = getattr(import_module(module), class_name)
    if given.endswith(".npz"):
        np.savez(taken, **measured_in_jax(kind(seed=1), np.load(given)))
    else:
        network = kind(dtype=torch.float64, seed=1)
        result = measured(network, *torch.load(given))
        kernels = getattr(network, "kernels", None)
        assert kernels is None or kernels.failure is None, kernels.failure
        torch.save(result, taken)
    assert not any(name.partition(".")[0] == "energyc" for name in sys.modules)

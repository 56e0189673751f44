"""A generated module in a process without energyc: what its public members give.

``python alone.py MODULE CLASS GIVEN TAKEN`` reads clamps and targets, and writes what was found.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import torch
from torch import Tensor

Inputs = dict[str, Tensor]


def measured(net: Any, clamps: Inputs, targets: Inputs) -> list[Tensor]:
    """A relaxation with its trace, what is read off it, the gradient of each rule, and that of a host network.

    What only a whole without layers has is left out of a network of layers.
    """
    whole = not hasattr(net, "layers")
    rest = net.relax(clamps, record=("energy", "residual") if whole else ())
    states = rest.states
    found = [*states.values(), rest.residual, *rest.trace.values()]
    found += [net.energy(states, clamps), *net.terms(states, clamps).values()] if whole else []
    found += net.force(states, clamps).values() if whole else []
    found += net.readout(states, clamps).values()
    found.append(net.cost(states, clamps, targets))
    for rule in net.rules:
        found += net.gradients(clamps, targets, rule, allow_biased=True).params.values()
    out = net(clamps)
    torch.stack([x.sum() for x in out.values()]).sum().backward()
    return [x.detach() for x in (*found, *out.values(), *(p.grad for p in net.parameters() if p.grad is not None))]


def made(path: str) -> Any:
    """The module of a file."""
    where = importlib.util.spec_from_file_location("made", path)
    assert where is not None and where.loader is not None
    module = importlib.util.module_from_spec(where)
    sys.modules["made"] = module
    where.loader.exec_module(module)
    return module


if __name__ == "__main__":
    _, source, class_name, given, taken = sys.argv
    network = getattr(made(source), class_name)(dtype=torch.float64, seed=1)
    inputs, aims = torch.load(given)
    result = measured(network, inputs, aims)
    assert not any(name.partition(".")[0] == "energyc" for name in sys.modules)
    torch.save(result, taken)

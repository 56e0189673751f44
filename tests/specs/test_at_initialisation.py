"""Every shipped spec, as it is written, on its own data: the free phase reaches its tolerance before any training.

It does so within the steps that are always taken, so that nothing has to be added.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from energyc.language.network import Network
from energyc.pipeline import Choices, emit, instantiate, read, resolve
from energyc.running.data import find_adapter
from tests.independent import UNROLLED, Random, Tensors
from tests.specs.judging import SPECS

BATCH = 4
#: Draws of the params; of more than ``MANY`` entries fewer, since their means hardly vary.
SEEDS, FEW, MANY = 5, 2, 10**6
pytestmark = pytest.mark.slow


def inputs(network: Network) -> Tensors:
    """Clamps of a few training samples; normal numbers where a spec leaves a clamp to its user."""
    samples: dict[str, dict[str, Any]] = {}
    for name, binding in network.bindings.items():
        dataset = find_adapter(binding.adapter).open(cast(Any, binding.options), None)
        samples[name] = dataset.split("train").batch(np.arange(BATCH))
    given: Tensors = {}
    for name, clamp in network.clamps.items():
        if clamp.source is None:
            given[name] = Random(0).normal(BATCH, *(network.extents[dim] for dim in clamp.node.dims))
        else:
            data, field = clamp.source
            given[name] = torch.as_tensor(samples[data][field])
    return given


RESTING = [path for path in sorted(SPECS.glob("*.energy")) if path.stem not in UNROLLED]


@pytest.mark.sampled
@pytest.mark.parametrize("path", RESTING, ids=lambda path: path.stem)
def test_the_free_phase_reaches_its_tolerance(path: Path) -> None:
    network = resolve(read(path))
    if network.relax.tolerance is None:
        pytest.skip("a finite unroll by design")
    module, clamps = emit(network, ["implicit"], Choices(), "torch"), inputs(network)
    entries = sum(math.prod(network.extents[dim] for dim in param.node.dims) for param in network.params.values())
    for seed in range(FEW if entries > MANY else SEEDS):
        net = instantiate(module, "cpu", torch.float32, seed)
        relaxed = net.relax(clamps)
        residual, steps = float(relaxed.residual.max()), int(relaxed.steps.max())
        assert residual <= network.relax.tolerance, f"seed {seed}: {residual:.1e}"
        assert steps <= net.relax_steps, f"seed {seed}: {steps} steps"

"""A relaxation holds no trajectory: its memory does not grow with the number of steps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import few

ROOT = Path(__file__).parents[2]
SCRIPT = """
import resource, sys, torch, energyc
torch.set_num_threads(1)
net = energyc.load(sys.argv[1], settings={"relax.solver": "gradient"})
random = torch.Generator().manual_seed(0)
clamps = {n: torch.rand(8, *shape, generator=random) if classes is None else torch.zeros(8, *shape, dtype=torch.int64)
          for n, (shape, classes) in net.clamp_shapes.items()}
peaks = []
for steps in (10, 20, 80):
    net.relax(clamps, steps=steps, step=1e-3)
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
states = sum(8 * 4 * torch.Size(shape).numel() for shape in net.state_shapes.values())
print(peaks[2] - peaks[1], states)
"""


@pytest.mark.slow
@pytest.mark.parametrize("spec", few(["thick", "deep_hopfield"], ["deep_hopfield"]))
def test_memory_does_not_grow_with_the_steps(spec: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, f"specs/{spec}.energy"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=ROOT,
    )
    grown, states = map(int, done.stdout.split())
    print(f"{grown} bytes more after 60 more steps; the states have {states}")
    assert grown < max(10 * states, 2**21)

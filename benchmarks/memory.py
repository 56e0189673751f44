"""Memory that one gradient of ``thick`` takes: tracking-AEP beside backpropagation through 150 steps.

    python benchmarks/memory.py

Each way runs in a process of its own. After a first small call the kernel's mark of the largest resident set is
reset (Linux: /proc/self/clear_refs); how far it rises during the gradient is what the gradient takes. The C library
is told to give freed memory back at once: with its own habits the rise is smaller by what happens to lie free, and
differs from run to run.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from correction import SPEC, not_conservative

import energyc

MIB = 1024
GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak() -> int:
    """The largest resident set so far, in KiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())
    assert found is not None
    return int(found.group(1))


def resident() -> int:
    """The resident set now, in KiB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", STATUS.read_text())
    assert found is not None
    return int(found.group(1))


def rise(gradient: Callable[[], object]) -> float:
    """By how many MiB a call raises the resident set at its height."""
    RESET.write_text("5")
    before = resident()
    gradient()
    return (peak() - before) / MIB


def way(name: str, net: Any, clamps: dict[str, Any], targets: dict[str, Any], steps: int) -> Callable[[], object]:
    """One gradient, by its name."""
    if name == "autograd, bptt":
        return lambda: by_autograd(net, clamps, targets, steps)
    rule = name.removeprefix("generated, ")
    return lambda: net.gradients(clamps, targets, rule, steps=steps)


def by_autograd(net: Any, clamps: dict[str, Any], targets: dict[str, Any], steps: int) -> None:
    """Backpropagation through the steps as autograd keeps them."""
    params = {name: value.detach().requires_grad_() for name, value in net.params.items()}
    given = params["tok"][clamps["idx"]] + params["pos"]
    z, (step,) = given, net.relax_step
    for _ in range(steps):
        z = z + step * (given - 2 * z + not_conservative(params, z))
    F.cross_entropy((z @ params["W_head"]).transpose(1, 2), targets["label"]).backward()


WAYS = ("generated, tracking-aep", "generated, aep", "generated, bptt", "autograd, bptt")


def measured(name: str, batch: int, dims: dict[str, int], steps: int) -> float:
    """The rise of one way, in this process; the library's own first allocations are made before."""
    torch.set_num_threads(1)
    net = energyc.load(SPEC, dims=dims, rules=["tracking-aep", "aep", "bptt"], dtype=torch.float32)
    random = torch.Generator().manual_seed(0)
    (length,), characters = net.clamp_shapes["idx"]
    clamps = {"idx": torch.randint(characters, (batch, length), generator=random)}
    targets = {"label": torch.randint(characters, (batch, length), generator=random)}
    way(name, net, clamps, targets, 2)()
    return rise(way(name, net, clamps, targets, steps))


def main() -> None:
    """Print the rise of each way, each measured in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--way", choices=WAYS, help="measure this one here")
    for name, size in (("T", 64), ("D", 128), ("H", 4)):
        parser.add_argument(f"--{name}", type=int, default=size)
    options = parser.parse_args()
    if options.way:
        dims = {name: getattr(options, name) for name in "TDH"}
        print(f"{measured(options.way, options.batch, dims, options.steps):.1f}")
        return
    environment = {**os.environ, **GIVE_BACK}
    for name in WAYS:
        command = [sys.executable, *sys.argv, "--way", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        print(f"{name:<26} {float(done.stdout):9.1f} MiB")


if __name__ == "__main__":
    main()

"""Memory of one gradient of ``thick``: tracking-AEP against backpropagation through 150 steps.

    python -m benchmarks.memory

Each method runs in its own process. After a small warm-up call the peak resident set is reset (Linux:
/proc/self/clear_refs), and its growth during the gradient is the figure. The C library is configured to return freed
memory at once; by default the growth is smaller by whatever is free at the moment, and varies from run to run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

import energyc
from benchmarks.correction import SPEC, not_conservative
from benchmarks.resident import GIVE_BACK, peak_growth


def gradient(name: str, net: Any, clamps: dict[str, Any], targets: dict[str, Any], steps: int) -> Callable[[], object]:
    """A function that computes one gradient by the named method."""
    if name == "autograd, bptt":
        return lambda: by_autograd(net, clamps, targets, steps)
    rule = name.removeprefix("generated, ")
    return lambda: net.gradients(clamps, targets, rule, steps=steps)


def by_autograd(net: Any, clamps: dict[str, Any], targets: dict[str, Any], steps: int) -> None:
    """Backpropagation through the steps by autograd."""
    params = {name: value.detach().requires_grad_() for name, value in net.params.items()}
    given = params["tok"][clamps["idx"]] + params["pos"]
    z, (step,) = given, net.relax_step
    for _ in range(steps):
        z = z + step * (given - 2 * z + not_conservative(params, z))
    F.cross_entropy((z @ params["W_head"]).transpose(1, 2), targets["label"]).backward()


WAYS = ("generated, tracking-aep", "generated, aep", "generated, bptt", "autograd, bptt")


def measured(name: str, batch: int, dims: dict[str, int], steps: int) -> float:
    """The growth for one method, in this process, after a warm-up for the library's own allocations."""
    torch.set_num_threads(1)
    net = energyc.load(SPEC, dims=dims, rules=["tracking-aep", "aep", "bptt"], dtype=torch.float32)
    random = torch.Generator().manual_seed(0)
    (length,), characters = net.clamp_shapes["idx"]
    clamps = {"idx": torch.randint(characters, (batch, length), generator=random)}
    targets = {"label": torch.randint(characters, (batch, length), generator=random)}
    gradient(name, net, clamps, targets, 2)()
    return peak_growth(gradient(name, net, clamps, targets, steps))


def main() -> None:
    """Print the growth for each method, each measured in its own process."""
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
        command = [sys.executable, "-m", "benchmarks.memory", *sys.argv[1:], "--way", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        print(f"{name:<26} {float(done.stdout):9.1f} MiB")


if __name__ == "__main__":
    main()

"""The antisymmetric correction (J_nc - J_nc^T) v of ``thick``: generated code against torch.func's jvp and vjp.

    python -m benchmarks.correction --seconds 20

One thread, float32. The figure is the minimum over many rounds; every variant runs in each round, so that other load on
the machine affects all alike. In *tracking* the states change at every step; in *frozen* they are fixed, and the parts
without v are computed once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import jvp, vjp

import energyc
from energyc.runtime.equations.inputs import prepared
from energyc.studies.bench.step import least

SPEC = Path(__file__).parents[1] / "specs" / "thick.energy"
Params = dict[str, Tensor]


def attention(params: Params, z: Tensor) -> Tensor:
    """The force of the attention at z, [batch, T, D]."""
    normed = F.layer_norm(z, z.shape[2:], params["g1"], params["h1"])
    query, key, value = (torch.einsum("btd,hda->bhta", normed, params[name]) for name in ("W_q", "W_k", "W_v"))
    scores = query @ key.transpose(2, 3) / key.shape[3] ** 0.5
    later = torch.ones(scores.shape[2:], dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(later, -torch.inf).softmax(3) @ value
    return torch.einsum("bhta,had->btd", mixed, params["W_o"])


def feed_forward(params: Params, z: Tensor) -> Tensor:
    """The force of the feed-forward at z, [batch, T, D]."""
    normed = F.layer_norm(z, z.shape[2:], params["g2"], params["h2"])
    return F.gelu(normed @ params["W1"] + params["b1"], approximate="tanh") @ params["W2"] + params["b2"]


def not_conservative(params: Params, z: Tensor) -> Tensor:
    """The sum of both forces."""
    return attention(params, z) + feed_forward(params, z)


def by_functions(force: Callable[[Tensor], Tensor], z: Tensor, v: Tensor) -> Tensor:
    """J v by forward mode minus J^T v by reverse mode."""
    _, forward = jvp(force, (z,), (v,))
    _, back = vjp(force, z)
    return forward - back(v)[0]


def variants(batch: int, dims: dict[str, int]) -> dict[str, Callable[[], Tensor]]:
    """The variants to time; they agree to float32 precision."""
    rules = ["aep", "tracking-aep"]
    net: Any = energyc.load(SPEC, dims=dims, rules=rules, dtype=torch.float32)
    random = torch.Generator().manual_seed(0)
    shape = (batch, *net.state_shapes["z"])
    z, v = (0.5 * torch.randn(shape, generator=random) for _ in range(2))
    (length,), characters = net.clamp_shapes["idx"]
    fixed = prepared(net, {"idx": torch.randint(characters, (batch, length), generator=random)})
    params = {name: value.detach() for name, value in net.params.items()}
    held = net._hold([z], fixed)
    timed = {
        "generated, tracking": lambda: net._correction([z], fixed, [v])[0],
        "generated, frozen": lambda: net._held_correction(held, fixed, [v])[0],
        "torch.func": lambda: by_functions(partial(not_conservative, params), z, v),
    }
    _agree({name: call() for name, call in timed.items()})
    return timed


def _agree(results: dict[str, Tensor]) -> None:
    expected = results["torch.func"]
    for name, value in results.items():
        error = float((value - expected).norm() / expected.norm())
        assert error < 1e-4, (name, error)


def main() -> None:
    """Print the minimum time of each variant, and how much slower torch.func is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--batch", type=int, default=16)
    for name, size in (("T", 64), ("D", 128), ("H", 4)):
        parser.add_argument(f"--{name}", type=int, default=size)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with torch.no_grad():
        times = least(variants(options.batch, {name: getattr(options, name) for name in "TDH"}), options.seconds)
    for name, seconds in times.items():
        ratio = times["torch.func"] / seconds
        print(f"{name:<22} {1e3 * seconds:8.3f} ms   torch.func takes {ratio:.2f} times as long")


if __name__ == "__main__":
    main()

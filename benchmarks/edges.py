"""Attention over the edges of a graph: time and memory of one step, and of its gradient by bptt.

    python benchmarks/edges.py --nodes 50000 --edges 4000000

The graph is drawn; the sizes besides are those of the Energy Transformer's anomaly detector (D = 64, H = 2, Y = 32,
K = 128), in float32. Each way runs in its own process: as generated, and by hand, as the energy written with
``index_select`` and ``index_add`` whose force is taken by autograd and differentiated again. A dense mask of the same
graph has N * E entries: it is refused before anything is allocated. The peak resident set counts the clamps, the
params and the library too.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from typing import Any

import torch
from torch import Tensor

import energyc

SPEC = """# One step of attention over the edges of a graph, and memories.
network graph_attention

dim N = 50000, E = 4000000, D = 64, H = 2, Y = 32, K = 128
const beta = 1/5
clamp  x[N, D], src[E] : N, dst[E] : N
target t[N, D]
param W_q[Y, H, D], W_k[Y, H, D] ~ normal(0.1), xi[K, D] ~ normal(0.02)
state z[N, D]
start z[n,d] = x[n,d]
let q[h,n,y] = sum[d](W_q[y,h,d] * z[n,d])
let k[h,n,y] = sum[d](W_k[y,h,d] * z[n,d])
let s[h,e]   = beta * sum[y](k[h,src[e],y] * q[h,dst[e],y])
energy att = -1/beta * sum[h,n](logsumexp[e | dst[e] == n](s[h,e]))
energy mem = -1/2 * sum[n,j](relu(sum[d](xi[j,d] * z[n,d]))^2)
readout out[n,d] = z[n,d]
cost mse = mean[n,d]((z[n,d] - t[n,d])^2)
relax { step = 1/10, steps = 1 }
train { rule = bptt }
"""
STEP = 0.1
GIB = 2**20


def drawn(nodes: int, edges: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Clamps and targets of one sample."""
    random = torch.Generator().manual_seed(0)
    ends = [torch.randint(0, nodes, (1, edges), generator=random) for _ in range(2)]
    x, t = (torch.randn(1, nodes, 64, generator=random) for _ in range(2))
    return {"x": x, "src": ends[0], "dst": ends[1]}, {"t": t}


def energy(z: Tensor, clamps: dict[str, Tensor], params: dict[str, Tensor], beta: float = 0.2) -> Tensor:
    """The energy by hand, of one sample."""
    src, dst, nodes = clamps["src"][0], clamps["dst"][0], len(z)
    q, k = (torch.einsum("nd,yhd->nhy", z, params[name]) for name in ("W_q", "W_k"))
    s = beta * (k.index_select(0, src) * q.index_select(0, dst)).sum(2)
    index = dst[:, None].expand(s.shape)
    top = s.new_full((nodes, s.shape[1]), float("-inf")).scatter_reduce(0, index, s.detach(), "amax")
    top = top.masked_fill(top == float("-inf"), 0)
    total = torch.zeros_like(top).index_add(0, dst, (s - top.index_select(0, dst)).exp())
    some = total > 0
    level = torch.where(some, torch.log(torch.where(some, total, 1)) + top, 0)
    return -level.sum() / beta - (z @ params["xi"].T).relu().square().sum() / 2


def by_hand(net: Any, clamps: dict[str, Tensor], targets: dict[str, Tensor], *, learn: bool) -> dict[str, Tensor]:
    """One step, and the gradient through it by autograd twice."""
    params = {name: value.detach().requires_grad_(learn) for name, value in net.params.items()}
    z = clamps["x"][0].clone().requires_grad_()
    (slope,) = torch.autograd.grad(energy(z, clamps, params), z, create_graph=learn)
    moved = z - STEP * slope
    if not learn:
        return {"z": moved}
    cost = (moved - targets["t"][0]).square().mean()
    return dict(zip(params, torch.autograd.grad(cost, list(params.values())), strict=True))


def peak() -> int:
    """The peak resident set of this process, in bytes; Linux counts it in KiB."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(way: str, nodes: int, edges: int) -> None:
    """Print the seconds of a step and of its gradient, and the peak resident set in GiB."""
    torch.set_num_threads(1)
    net = energyc.load(SPEC, dims={"N": nodes, "E": edges}, rules=["bptt"], dtype=torch.float32, seed=0)
    clamps, targets = drawn(nodes, edges)
    learn = {"step": False, "gradient": True}
    seconds = {}
    for name, wanted in learn.items():
        start = time.process_time()
        if way == "by hand":
            found = by_hand(net, clamps, targets, learn=wanted)
        elif wanted:
            found = dict(net.gradients(clamps, targets, "bptt", steps=1).params)
        else:
            found = dict(net.relax(clamps, steps=1).states)
        seconds[name] = time.process_time() - start
        norms = ", ".join(f"|{key}| = {float(value.norm()):.6g}" for key, value in found.items())
        print(f"{way:10s} {name:8s} {seconds[name]:7.2f} s  peak {peak() / GIB:5.2f} GiB  {norms}", flush=True)


def main() -> None:
    """Measure each way in a process of its own, under a limit of memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--edges", type=int, default=4_000_000)
    parser.add_argument("--limit", type=float, default=20.0, help="GiB of address space for each way")
    parser.add_argument("--way", choices=("generated", "by hand"))
    arguments = parser.parse_args()
    if arguments.way:
        limit = int(arguments.limit * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        return measure(arguments.way, arguments.nodes, arguments.edges)
    print(f"N = {arguments.nodes}, E = {arguments.edges}", flush=True)
    for way in ("generated", "by hand"):
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--way", way], check=False)
    return None


if __name__ == "__main__":
    main()

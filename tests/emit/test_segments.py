"""Reductions over the edges into a node: against the interpreter, against a dense mask, and without a table."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import energyc
from energyc.code.plan import Passes, force_flops
from energyc.derivation.derive import derive
from energyc.language.diagnostics import SpecError
from energyc.runtime.equations.inputs import prepared
from tests.drawing import seeds
from tests.emit.judge import disagreements, distance, judged, resolved, routines
from tests.emit.random_edges import edge_spec
from tests.quick import few

ROOT = Path(__file__).parents[2]


def agree(seed: int, passes: Passes = Passes()) -> None:
    text = edge_spec(seed)
    print(f"seed {seed}\n{text}")
    assert disagreements(judged(resolved(text), np.random.default_rng(seed), passes)) == {}


@pytest.mark.abridged
@pytest.mark.parametrize("seed", few(range(30), range(10)))
def test_every_routine(seed: int) -> None:
    agree(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(130))
def test_every_routine_at_length(seed: int) -> None:
    agree(seed)


@pytest.mark.abridged
@pytest.mark.parametrize("seed", few(range(200, 216), range(200, 206)))
def test_every_mixture_of_passes(seed: int) -> None:
    on = [bool(seed >> k & 1) for k in range(3)]
    agree(seed, Passes(hoist=on[0], share=on[1], segments=on[2]))


ODD = """network odd
dim N = 5, E = 9, D = 3, M = 4
clamp src[E] : N, dst[E] : N, root : N, way[N, M] : E
clamp x[N, D]
target t[N, D]
param w[E], b[D] ~ normal(1)
state z[N, D]
energy own = 1/2 * sum[n,d]((z[n,d] - x[n,d])^2) + 0.1 * sum[e,d](w[e] * b[d]) * sum[n,d](z[n,d])
readout out[n,d] = z[n,d]
cost c = sum[n,d]((z[n,d] - t[n,d])^2)
energy odd = """
#: What looks like a reduction over the edges into a node, or nearly.
ENERGIES = {
    "either end": "sum[n](logsumexp[e | dst[e] == n or src[e] == n](z[src[e],0] * w[e]))",
    "the node before": "sum[n in N](logsumexp[e | dst[e] == n + 1](z[src[e],0] * w[e]))",
    "no edge into it": "sum[n](logsumexp[e | not dst[e] == n](z[src[e],0] * w[e]))",
    "both ends": "sum[n,m in N](logsumexp[e | dst[e] == n and src[e] == m](z[src[e],0] * w[e]) * z[n,1] * z[m,1])",
    "a chain of equalities": "sum[n,m in N](sum[e | n == dst[e] == m](z[src[e],0] * w[e])^2)",
    "from one node": "sum[n](z[n,0] * sum[e | dst[e] == n and src[e] == root](w[e] * z[src[e],1])^2)",
    "pairs of edges": "sum[e](logsumexp[f in E | dst[e] == dst[f]](z[src[e],0] * z[src[f],1]))",
    "edges of a node": "sum[n](logsumexp[m | src[way[n,m]] == n](z[dst[way[n,m]],1]))",
    "nodes of an edge": "sum[e](logsumexp[n,m | way[n,m] == e](z[n,1] * w[e]))",
    "along another axis": "sum[n,e](logsumexp[d | dst[e] == n](z[n,d]) * w[e])",
    "over the node": "sum[e](sum[n](softmax[n | dst[e] == n](z[n,0]) * z[n,1]) * w[e])",
    "over both": "sum[d](max[n,e | dst[e] == n](z[n,d] * w[e]))",
    "what is frozen": "sum[n](z[n,0] * logsumexp[e | dst[e] == n](frozen(z[src[e],1]) * z[n,1]))",
    "a maximum of weights": "sum[n](max[e in E](softmax[e | dst[e] == n](z[src[e],0])) * z[n,1])",
}


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("energy", ENERGIES.values(), ids=list(ENERGIES))
def test_what_is_nearly_such_a_reduction(energy: str) -> None:
    assert disagreements(judged(resolved(f"{ODD}{energy}\n"), np.random.default_rng(1))) == {}


# ---------------------------------------------------------------- no table of nodes by edges

SCORES = """# Scores of nodes and edges inside the reductions.
network scores
dim N = 31, E = 67, D = 2, H = 1, Y = 2, R = 2, G = 3
clamp src[E] : N, dst[E] : N, kind[E] : R, graph[N] : G
clamp x[N, D]
target t[N, D]
param W_q[Y, H, D], W_k[Y, H, D] ~ normal(0.2)
state z[N, D]
let q[h,n,y] = sum[d](W_q[y,h,d] * z[n,d])
let k[h,n,y] = sum[d](W_k[y,h,d] * z[n,d])
let a[h,n,e] = sum[y](q[h,n,y] * k[h,src[e],y]) - 0.1 * (n - e)
let w[h,n,e] = softmax[e | dst[e] == n and src[e] != n](a[h,n,e])
energy own = 1/2 * sum[n,d]((z[n,d] - x[n,d])^2)
energy att = -sum[h,n](logsumexp[e | dst[e] == n](a[h,n,e]))
energy val = -sum[h,n,d](tanh(sum[e](w[h,n,e] * z[src[e],d])))
energy top = sum[h,n](max[e | dst[e] == n and kind[e] == 1](a[h,n,e]))
energy far = -sum[h,n,e | dst[e] == n](w[h,n,e] * log(w[h,n,e] + 0.01))
energy avg = sum[n,d](mean[e | dst[e] == n](z[src[e],d]) * z[n,d])
energy who = sum[g,d](mean[n | graph[n] == g](z[n,d])^2)
energy sel = sum[n](sum[e](where(dst[e] == n, z[src[e],0] * z[n,1], 0))^2)
force msg on z[n,d] = sum[h,e | dst[e] == n](w[h,n,e] * z[src[e],d])
readout out[n,d] = z[n,d]
cost c = sum[n,d]((z[n,d] - t[n,d])^2)
"""

PLAIN = """# Attention over the edges into each node.
network plain
dim N = 31, E = 67, D = 2, H = 2, Y = 3
const beta = 1/2
clamp src[E] : N, dst[E] : N
clamp x[N, D]
target t[N, D]
param W_q[Y, H, D], W_k[Y, H, D] ~ normal(0.5)
state z[N, D]
start z[n,d] = x[n,d]
let q[h,n,y] = sum[d](W_q[y,h,d] * z[n,d])
let k[h,n,y] = sum[d](W_k[y,h,d] * z[n,d])
let s[h,e]   = beta * sum[y](k[h,src[e],y] * q[h,dst[e],y])
energy own = sum[n,d](z[n,d]^2) - sum[n,d](z[n,d] * x[n,d])
energy att = -1/beta * sum[h,n](logsumexp[e | dst[e] == n](s[h,e]))
readout out[n,d] = z[n,d]
cost c = sum[n,d]((z[n,d] - t[n,d])^2)
"""


class Shapes(TorchDispatchMode):
    """Keeps the shapes of tensors that are made with an axis of ``n`` and one of ``e``, or with ``most`` entries."""

    def __init__(self, n: int, e: int, most: float) -> None:
        super().__init__()
        self.n, self.e, self.most = n, e, most
        self.seen: dict[str, tuple[int, ...]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, list | tuple) else [made]:
            if isinstance(tensor, Tensor):
                both = self.n in tensor.shape and self.e in tensor.shape
                if both or tensor.numel() >= self.most:
                    self.seen[str(func)] = tuple(tensor.shape)
        return made


@pytest.mark.abridged
@pytest.mark.parametrize("text", [PLAIN, SCORES], ids=["plain", "scores"])
def test_no_tensor_of_nodes_by_edges_is_made(text: str) -> None:
    """Sizes that no other dim has; forward, force, Jv, J^T v, energies' gradients and a whole gradient of each rule."""
    j = judged(resolved(text), np.random.default_rng(3))
    assert disagreements(j) == {}
    with Shapes(31, 67, 31 * 67) as made, torch.no_grad():
        routines(j)
    assert made.seen == {}
    with Shapes(31, 67, math.inf) as made, torch.no_grad():  # GMRES has a basis of that size
        for rule in ("bptt", "implicit", "centered-ep", "aep"):
            j.module.gradients(j.clamps, j.targets, rule=rule, steps=2, step=0.01, allow_biased=True)
    assert made.seen == {}


def test_without_the_pass_there_is_such_a_table() -> None:
    j = judged(resolved(PLAIN), np.random.default_rng(3), Passes(segments=False))
    with Shapes(31, 67, math.inf) as made, torch.no_grad():
        routines(j)
    assert made.seen != {}


# ---------------------------------------------------------------- a dense mask

MASK = (
    PLAIN.replace("dim N = 31, E = 67,", "dim N = 31, Yes = 2,")
    .replace("clamp src[E] : N, dst[E] : N", "clamp adj[N, N] : Yes")
    .replace("let s[h,e]   = beta * sum[y](k[h,src[e],y] * q[h,dst[e],y])\n", "")
    .replace(
        "logsumexp[e | dst[e] == n](s[h,e])",
        "logsumexp[m in N | adj[n,m] == 1](beta * sum[y](k[h,m,y] * q[h,n,y]))",
    )
)


def graphs(random: np.random.Generator, batch: int, nodes: int, edges: int) -> tuple[Tensor, Tensor, Tensor]:
    """Source and target of distinct edges, another list for each sample, and the mask; some nodes have no edge."""
    ends = np.stack([random.choice((nodes - 3) * nodes, edges, replace=False) for _ in range(batch)])
    dst, src = ends // nodes, ends % nodes
    mask = np.zeros((batch, nodes, nodes), dtype=np.int64)
    for sample in range(batch):
        mask[sample, dst[sample], src[sample]] = 1
    return torch.from_numpy(src), torch.from_numpy(dst), torch.from_numpy(mask)


def test_edge_lists_equal_a_dense_mask() -> None:
    """Energies, forces, equilibria and gradients of four rules, to 1e-12 in float64."""
    random = np.random.default_rng(11)
    src, dst, adj = graphs(random, 3, 31, 67)
    rules = ["implicit", "bptt", "centered-ep", "aep"]
    settings = {"nudge.beta": 0.5, "nudge.steps": 20}  # a small beta divides the rounding errors of two phases
    nets = [energyc.load(t, rules=rules, dtype=torch.float64, seed=4, settings=settings) for t in (PLAIN, MASK)]
    x, t, z = (torch.from_numpy(random.normal(size=(3, 31, 2))) for _ in range(3))
    clamps: Sequence[dict[str, Tensor]] = ({"x": x, "src": src, "dst": dst}, {"x": x, "adj": adj})
    assert bool((adj.sum(2) == 0).any()) and bool((src == dst).any())
    found: list[dict[str, Tensor]] = []
    for net, given in zip(nets, clamps, strict=True):
        values = {**net.terms({"z": z}, given), "force": net.force({"z": z}, given)["z"]}
        values["rest"] = net.relax(given, steps=20, step=0.1).states["z"]
        for rule in rules:
            gradients = net.gradients(given, {"t": t}, rule, steps=20, step=0.1).params
            values |= {f"{rule} {name}": value for name, value in gradients.items()}
        found.append(values)
    assert found[0].keys() == found[1].keys()
    for name, value in found[0].items():
        assert float(value.abs().max()) > 0
        assert distance(value.numpy(), found[1][name].numpy()) < 1e-12, name


def by_hand(z: Tensor, clamps: dict[str, Tensor], params: dict[str, Tensor]) -> Tensor:
    """The energy of PLAIN by loops over samples, heads and nodes, for autograd."""
    total = (z.square() - z * clamps["x"]).sum()
    for sample, values in enumerate(z):
        for head in range(2):
            q, k = values @ params["W_q"][:, head].T, values @ params["W_k"][:, head].T
            for node in range(len(values)):
                edges = clamps["dst"][sample] == node
                if bool(edges.any()):
                    scores = k[clamps["src"][sample][edges]] @ q[node]
                    total = total - 2 * torch.logsumexp(scores / 2, 0)
    return total


def test_against_autograd() -> None:
    """Repeated edges, self loops and lone nodes; the force, J^T v, Jv and the energy's gradients, to 1e-9."""
    random = np.random.default_rng(5)
    net = energyc.load(PLAIN, rules=["centered-ep", "aep", "implicit"], dtype=torch.float64, seed=1)
    clamps = {name: torch.from_numpy(random.integers(0, 12, (2, 67))) for name in ("src", "dst")}
    clamps["x"], start, seed = (torch.from_numpy(random.normal(size=(2, 31, 2))) for _ in range(3))
    z = start.clone().requires_grad_()
    params = {name: value.detach().clone().requires_grad_() for name, value in net.params.items()}
    energy = by_hand(z, clamps, params)
    (slope,) = torch.autograd.grad(energy, z, create_graph=True)
    expected = dict(
        zip(["W_q", "W_k"], torch.autograd.grad(energy, list(params.values()), retain_graph=True), strict=True)
    )
    back, *mixed = torch.autograd.grad(-(slope * seed).sum(), [z, *params.values()])
    fixed = prepared(net, clamps)
    with torch.no_grad():
        assert distance(net.force({"z": start}, clamps)["z"].numpy(), -slope.detach().numpy()) < 1e-9
        for name, value in net._energy_gradient([start], fixed).items():
            assert distance(value.numpy(), expected[name].numpy()) < 1e-9
        found, slopes = net._force_vjp([start], fixed, [seed])
        assert distance(found[0].numpy(), back.numpy()) < 1e-9
        for name, value in zip(params, mixed, strict=True):
            assert distance(slopes[name].numpy(), value.numpy()) < 1e-9
    terms = net.terms({"z": start}, clamps)
    assert float(sum(value.sum() for value in terms.values())) == pytest.approx(float(energy.detach()), rel=1e-12)


def test_large_scores_are_stable() -> None:
    net = energyc.load(PLAIN, rules=["implicit"], dtype=torch.float32, seed=1)
    random = torch.Generator().manual_seed(0)
    clamps = {name: torch.randint(0, 31, (1, 67), generator=random) for name in ("src", "dst")}
    clamps["x"] = torch.zeros(1, 31, 2)
    z = 300 * torch.randn(1, 31, 2, generator=random)
    assert bool(net.force({"z": z}, clamps)["z"].isfinite().all())
    assert all(bool(value.isfinite().all()) for value in net.terms({"z": z}, clamps).values())


# ---------------------------------------------------------------- a disjoint union

UNION = """# Graphs side by side: one sample of many, each answered by a mean over its nodes.
network union
dim N = 5, E = 8, D = 3, G = 1
clamp src[E] : N, dst[E] : N, graph[N] : G
clamp x[N, D]
target t[G, D]
param W[D, D] ~ normal(0.4)
state z[N, D]
energy own = 1/2 * sum[n,d]((z[n,d] - x[n,d])^2)
energy att = -sum[n](logsumexp[e | dst[e] == n](sum[d,f in D](z[src[e],d] * W[d,f] * tanh(z[dst[e],f]))))
readout pooled[g,d] = mean[n | graph[n] == g](z[n,d])
cost c = sum[g,d]((mean[n | graph[n] == g](z[n,d]) - t[g,d])^2)
"""


def test_a_disjoint_union_is_its_graphs() -> None:
    """Three graphs of different sizes in one sample, and each alone: equilibria, answers, costs, gradients."""
    random = np.random.default_rng(8)
    sizes = [(4, 7), (2, 1), (6, 12)]
    shared = energyc.load(
        UNION, dims={"N": 12, "E": 20, "G": 3}, rules=["implicit", "bptt"], dtype=torch.float64, seed=0
    )
    parts: list[tuple[dict[str, Tensor], dict[str, Tensor], Any]] = []
    for nodes, edges in sizes:
        net = energyc.load(UNION, dims={"N": nodes, "E": edges}, rules=["implicit", "bptt"], dtype=torch.float64)
        net.load_state_dict(shared.state_dict())
        clamps = {name: torch.from_numpy(random.integers(0, nodes, (1, edges))) for name in ("src", "dst")}
        clamps |= {
            "graph": torch.zeros(1, nodes, dtype=torch.int64),
            "x": torch.from_numpy(random.normal(size=(1, nodes, 3))),
        }
        parts.append((clamps, {"t": torch.from_numpy(random.normal(size=(1, 1, 3)))}, net))
    offsets = np.cumsum([0, *(nodes for nodes, _ in sizes)])
    whole = {"x": torch.cat([clamps["x"] for clamps, _, _ in parts], 1)}
    for name in ("src", "dst"):
        whole[name] = torch.cat([c[name] + int(o) for (c, _, _), o in zip(parts, offsets, strict=False)], 1)
    whole["graph"] = torch.cat([c["graph"] + k for k, (c, _, _) in enumerate(parts)], 1)
    target = {"t": torch.cat([t["t"] for _, t, _ in parts], 1)}
    options = {"steps": 30, "step": 0.2}
    rests = [net.relax(clamps, **options).states["z"] for clamps, _, net in parts]
    rest = shared.relax(whole, **options).states["z"]
    assert distance(rest.numpy(), torch.cat(rests, 1).numpy()) < 1e-12
    answers = [net.readout({"z": z}, c)["pooled"] for (c, _, net), z in zip(parts, rests, strict=True)]
    assert distance(shared.readout({"z": rest}, whole)["pooled"].numpy(), torch.cat(answers, 1).numpy()) < 1e-12
    for rule in ("implicit", "bptt"):
        alone = [net.gradients(c, t, rule, **options).params["W"] for c, t, net in parts]
        together = shared.gradients(whole, target, rule, **options).params["W"]
        assert distance(together.numpy(), torch.stack(alone).sum(0).numpy()) < 1e-11, rule


# ---------------------------------------------------------------- estimates, text


def test_memory_and_operations_are_those_of_the_edges() -> None:
    """E0801 is for the mask of as many nodes; what a step costs grows with the edges, not with their product."""
    many = resolved(PLAIN, N=50_000, E=4_000_000)
    twice = resolved(PLAIN, N=100_000, E=4_000_000)
    costs = [force_flops(derive(network)) for network in (many, twice)]
    edges, nodes, heads, keys, width = 4_000_000, 50_000, 2, 3, 2
    assert costs[0] < 10 * heads * keys * (edges + nodes * width)
    assert costs[1] - costs[0] < 10 * heads * keys * nodes * width
    with pytest.raises(SpecError) as refused:
        resolved(MASK, N=500_000)
    assert [d.code for d in refused.value.diagnostics] == ["E0801"]


def test_the_text_reads_as_gathers_and_segments(tmp_path: Path) -> None:
    source = energyc.load(PLAIN, rules=["implicit"]).source
    force = source.split("def _force(")[1].split("def _readouts(")[0]
    assert "k_src = rt.ops.gather(k, fixed.src, 2)" in force
    assert "rt.ops.segment_softmax(s, fixed.dst[:, None, :], N)" in force
    assert "mask" not in force and "positions" not in force
    (tmp_path / "edges.py").write_text(source)
    command = [sys.executable, "-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    command += ["--ignore", "RUF012,B905,E501,E741", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 0, done.stdout


def test_a_count_of_a_segment_is_spread_over_the_other_dims() -> None:
    """The gradient of a sum over gathered rows: how often each row was read, alike in all columns."""
    net = energyc.load(
        "network n\ndim N = 4, E = 6, D = 3\nclamp dst[E] : N\nparam W[N, D] ~ normal(1)\ntarget t[D]\nstate z[D]\n"
        "energy e = 1/2 * sum[d](z[d]^2)\ncost c = mean[d]((z[d] - t[d])^2) + sum[e,d](W[dst[e], d])\n",
        dtype=torch.float64,
    )
    dst = torch.tensor([[0, 0, 2, 3, 3, 3], [1, 1, 1, 1, 1, 2]])
    slope = net.gradients({"dst": dst}, {"t": torch.zeros(2, 3, dtype=torch.float64)}, rule="implicit").params["W"]
    counts = torch.nn.functional.one_hot(dst, 4).sum(1).double().mean(0)
    torch.testing.assert_close(slope, counts[:, None].expand(4, 3), rtol=1e-12, atol=1e-12)

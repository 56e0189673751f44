"""Products inside of groups, for Triton: what is in memory no more, and the same numbers at sizes that fit no block."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import torch

from benchmarks.roofline import kernels
from energyc import pipeline
from energyc.code.loops import Kernel, NotLowered
from energyc.code.loops.memory import layout
from energyc.code.loops.nest import Group, MatrixProduct
from energyc.code.loops.tiles import FEWEST, MOST, RIGHT, WIDEST, rows_at_hand
from energyc.code.targets.triton.groups import is_alone
from energyc.code.targets.triton.phases import launches
from tests.emit.judge import resolved
from tests.emit.kernels import SPEC_OF, SPECS, TARGETS, agrees, drawn, kernel_module, needs_interpreter
from tests.emit.test_triton import compiled_for_a_gpu

TOLERANCE = 1e-9
#: Pairs of tokens: the force on a token sums over what it looks at and over what looks at it.
PAIRS = """\
network pairs
dim N = {tokens}, D = {width}, H = {heads}, A = {inner}
clamp x[N, D]
target t[N, D]
param W_q[H, D, A], W_k[H, D, A] ~ normal(1/2)
state z[N, D]
let q[h,n,a] = sum[d](z[n,d] * W_q[h,d,a])
let k[h,m,a] = sum[d](z[m,d] * W_k[h,d,a])
energy leak = sum[n,d](z[n,d]^2) - sum[n,d](x[n,d] * z[n,d])
energy pairs = -1/2 * sum[h,n](logsumexp[m{where}](sum[a](q[h,n,a] * k[h,m,a])))
readout o[n,d] = z[n,d]
cost mse = 1/2 * sum[n,d]((z[n,d] - t[n,d])^2)
relax {{ step = 1/5, steps = 10, tolerance = none }}
nudge {{ beta = 1/4, steps = 4 }}
"""
#: Layers of units, each moved by the products with those beside it.
LAYERS = """\
network layers
dim I = {first}, J = {second}, K = {third}
clamp x[I]
target t[K]
param W[I, J], V[J, K] ~ normal(1/2)
state s[I] in [0, 1], u[J] in [0, 1], y[K] in [-1, 2]
energy leak = 1/2 * sum[i](s[i]^2) + 1/2 * sum[j](u[j]^2) + 1/2 * sum[k](y[k]^2) - sum[i](x[i] * s[i])
energy links = -sum[i,j](s[i] * W[i,j] * u[j]) - sum[j,k](u[j] * V[j,k] * y[k])
readout o[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - t[k])^2)
relax {{ step = 1/5, steps = 10, tolerance = none }}
nudge {{ beta = 1/4, steps = 4 }}
"""


def in_memory(kernel: Kernel) -> list[int]:
    """The sizes of what lies between the blocks of a step."""
    return [math.prod(buffer.sizes) for buffer in layout(kernel.body).offsets]


def tiles(kernel: Kernel) -> list[tuple[int, int, int]]:
    """How many products each group makes of what is in memory, for itself, and of its own rows."""
    made = [block.tiles for block in kernel.body if isinstance(block, Group)]
    return [(len(x.reads), len(x.within), len(x.of)) for x in made if x.every]


# ------------------------------------------------------------------ what is in memory


def test_no_scores_of_attention_are_in_memory() -> None:
    free, nudged, _ = kernels(SPEC_OF["thick"], pipeline.Choices())
    tokens, heads = 64, 4
    for kernel in (free, nudged):
        assert heads * tokens * tokens not in in_memory(kernel)
        assert (1, 0, 1) in tiles(kernel)


def test_an_energy_of_pairs_makes_its_weights_twice_and_keeps_none() -> None:
    free, _ = kernels(SPEC_OF["cet"], pipeline.Choices())
    heads, tokens = 12, 121
    assert heads * tokens * tokens not in in_memory(free)
    assert tiles(free) == [(1, 0, 1), (1, 0, 1)]
    again = [block for block in free.body if isinstance(block, Group) and block.tiles.every][1]
    assert not any(statement.fold for statement in again.statements)


def test_rows_that_are_too_wide_leave_their_weights_in_memory() -> None:
    free = next(kernel for kernel in kernels(SPEC_OF["et_image"], pipeline.Choices()))
    assert tiles(free) == [(1, 0, 0)]
    assert 12 * 196 * 196 in in_memory(free)


@pytest.mark.parametrize("name", ["hopfield", "modern_hopfield", "deq"])
def test_phases_of_small_networks_are_one_launch(name: str) -> None:
    for kernel in (k for k in kernels(SPEC_OF[name], pipeline.Choices()) if k.walk == "relax"):
        assert is_alone(kernel) and launches(kernel) == 1 and not in_memory(kernel)


def test_products_of_large_matrices_stay_with_torch() -> None:
    """Those by which a group would be longer at work than they take to go through memory."""
    free, *_ = kernels(SPEC_OF["thick"], pipeline.Choices())
    apart = [block for block in free.body if isinstance(block, MatrixProduct)]
    assert {(x.inner.count, x.columns.count) for x in apart} == {(128, 32), (128, 128), (128, 512), (512, 128)}
    for kernel in (k for path in SPECS for k in _all(path)):
        for group in (block for block in kernel.body if isinstance(block, Group) and block.tiles.every):
            assert FEWEST <= rows_at_hand(group) <= MOST
            for tile in (*group.tiles.within, *group.tiles.of):
                assert tile.product.inner.count * tile.product.columns.count <= RIGHT
            assert all(tile.product.columns.count <= WIDEST for tile in group.tiles.reads)


def _all(path: Path) -> list[Kernel]:
    try:
        return kernels(path, pipeline.Choices())
    except NotLowered:
        return []


# ------------------------------------------------------------------ the same numbers


@needs_interpreter
@pytest.mark.parametrize("where", ["", " | m != n", " | m <= n"])
@pytest.mark.parametrize(("tokens", "width", "heads", "inner"), [(5, 3, 2, 4), (17, 6, 1, 19), (33, 4, 3, 16)])
def test_pairs(where: str, tokens: int, width: int, heads: int, inner: int) -> None:
    text = PAIRS.format(tokens=tokens, width=width, heads=heads, inner=inner, where=where)
    network = resolved(text)
    net = kernel_module(network, ["centered-ep"], target="triton")
    assert "block_dot" in pipeline.emit(network, ["centered-ep"], target="triton").text
    assert agrees(net).keys() >= {"free", "nudged"}


@needs_interpreter
@pytest.mark.parametrize(("first", "second", "third"), [(4, 5, 6), (16, 33, 4), (70, 17, 31)])
def test_layers(first: int, second: int, third: int) -> None:
    """Whole phases in one launch, of 1 to 70 samples, in steps of different numbers."""
    network = resolved(LAYERS.format(first=first, second=second, third=third))
    net = kernel_module(network, ["centered-ep"], target="triton")
    assert all(phase.whole for phase in net.kernels.phases.values())
    agrees(net, steps=7)
    random = torch.Generator().manual_seed(3)
    for samples in (1, 16, 70):
        clamps = drawn(net.clamp_shapes, random, net, batch=samples)
        whole = net.relax(clamps, steps=9).states
        kept, net.kernels = net.kernels, type(net.kernels)({})
        plain = net.relax(clamps, steps=9).states
        net.kernels = kept
        assert max(float((whole[name] - plain[name]).abs().max()) for name in whole) < TOLERANCE


def test_a_phase_of_one_launch_reads_before_it_writes() -> None:
    """Between the loads of a step and its stores is a barrier, and one before the next step; loads ahead are off."""
    text = pipeline.emit(pipeline.resolve(pipeline.read(SPEC_OF["hopfield"])), target="triton").text
    (loop, _) = re.findall(r"    for _ in tl\.range\(0, steps, num_stages=1\):\n((?:        .*\n)+)", text)
    before, stores, after = loop.partition("tl.debug_barrier()\n")[0], loop.split("tl.debug_barrier()\n")[1], loop
    assert "tl.store" not in before and "tl.load" in before
    assert stores.count("tl.store") == 2 and "tl.load" not in stores
    assert after.rstrip().endswith("tl.debug_barrier()")


#: What a group makes for a product that sums over its places, and nothing else: an associative memory of clamps.
CLAMPED = """\
network associations
dim N = 21, M = 6, A = 5, D = 7
clamp x[N, A]
target t[M, D]
param W[D, A] ~ normal(1)
state z[M, D] in [-1, 1]
let k[m,a] = sum[d](z[m,d] * W[d,a])
energy e = 1/2 * sum[m,d](z[m,d]^2) - sum[n,m]({outer}(sum[a](x[n,a] * k[m,a]))^2)
readout o[m,d] = z[m,d]
cost c = sum[m,d]((o[m,d] - t[m,d])^2)
relax {{ step = 1/5, steps = 10, tolerance = none }}
nudge {{ beta = 1/4, steps = 4 }}
"""
#: Rows that are walked along: what one walk stores the next one would read.
LONG = """\
network long
dim N = {size}
clamp x[N]
target t[N]
state z[N] in [-1, 1], y[N]
let m = sum[i](z[i]) / 30
let s = sum[i](tanh(z[i] + m)) / 30
force f on z[i] = tanh(m) * x[i] - z[i] + where(i >= 1, z[i - 1], 0)
force g on y[i] = s * z[i] - y[i] + x[i]
readout o[i] = z[i]
cost c = sum[i]((o[i] - t[i])^2)
relax {{ step = 1/5, steps = 10, tolerance = none }}
train {{ rule = bptt }}
"""


@needs_interpreter
@pytest.mark.parametrize("outer", ["relu", "tanh"])
def test_pairs_with_clamps(outer: str) -> None:
    net = kernel_module(resolved(CLAMPED.format(outer=outer)), ["centered-ep"], target="triton")
    agrees(net)


@needs_interpreter
@pytest.mark.parametrize("size", [300, 4100])
def test_phases_whose_rows_are_walked_along_are_no_one_launch(size: int) -> None:
    net = kernel_module(resolved(LONG.format(size=size)), target="triton")
    assert net.kernels.phases["free"].whole == (size == 300)
    agrees(net)


@needs_interpreter
@pytest.mark.parametrize(
    "score",
    [
        "h * sum[a](q[h,n,a] * k[h,m,a])",
        "where(abs(kind - 3) < 2, 1, 2) * sum[a](q[h,n,a] * k[h,m,a])",
        "sum[a](q[h,n,a] * k[h,m,a]) + where(abs(kind - h) <= 1, 1/2, 0)",
    ],
)
def test_numbers_of_a_program_are_tensors(score: str, tmp_path: Path) -> None:
    """Labels and integers that are the same for all places of a program: in the interpreter, and compiled."""
    text = PAIRS.format(tokens=9, width=6, heads=3, inner=5, where="").replace("sum[a](q[h,n,a] * k[h,m,a])", score)
    text = text.replace("clamp x[N, D]", "dim V = 7\nclamp x[N, D]\nclamp kind : V")
    network = resolved(text)
    net = kernel_module(network, ["centered-ep"], target="triton")
    agrees(net)
    text = pipeline.emit(network, ["centered-ep"], target="triton").text
    assert compiled_for_a_gpu(text, tmp_path)


@needs_interpreter
@pytest.mark.parametrize("spread", ["1/4", "1/2", "1"])
def test_weights_that_are_made_twice_in_bfloat16(spread: str) -> None:
    """A force beside that in float64: no worse than as torch operations with the same products, within a half."""
    text = PAIRS.format(tokens=24, width=16, heads=2, inner=16, where="").replace("normal(1/2)", f"normal({spread})")
    rounded = pipeline.Choices(None, {"train.products": "bfloat16"})
    network = pipeline.resolve(pipeline.read(text), rounded)
    net = kernel_module(network, ["centered-ep"], target="triton", dtype=torch.float32)
    random = torch.Generator().manual_seed(5)
    clamps = drawn(net.clamp_shapes, random, net)
    start = {name: torch.randn(len(clamps["x"]), *s, generator=random) for name, s in net.state_shapes.items()}
    found = {}
    for products, kernels_ in (("bfloat16", net.kernels), ("bfloat16", type(net.kernels)({})), ("float32", None)):
        net.products = products
        own, net.kernels = net.kernels, kernels_ or type(net.kernels)({})
        found[len(found)] = net.relax(clamps, states=start, steps=1).states["z"]
        net.kernels = own
    far = [float((found[k] - found[2]).square().mean().sqrt()) for k in (0, 1)]
    assert 0 < far[0] < 1.5 * far[1], far


#: Of samples and of none, in one sum.
MIXED = """\
network mixed
dim N = 17, D = 17, E = 7, K = 6
clamp x[N, D]
target t[N, D]
param V[D, E], W[K, E], Y[E, D], P[N, K] ~ normal(1/2)
state z[N, D] in [-1, 1]
let h[n,o] = tanh({sum})
force f on z[n,o] = sum[i](h[n,i] * Y[i,o]) + x[n,o] - z[n,o]
readout out[n,o] = z[n,o]
cost c = sum[n,o]((out[n,o] - t[n,o])^2)
relax {{ step = 1/5, steps = 10, tolerance = none }}
train {{ rule = bptt }}
"""
PRODUCTS = ["sum[i](tanh(P[n,i]) * W[i,o])", "sum[j](z[n,j] * V[j,o])"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", [PRODUCTS, PRODUCTS[::-1]])
def test_sums_of_products_of_samples_and_of_none(order: list[str], target: str) -> None:
    net = kernel_module(resolved(MIXED.format(sum=" + ".join(order))), target=target)
    agrees(net)

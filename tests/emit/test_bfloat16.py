"""Products of operands rounded to bfloat16 in C++: the routines, steps of phases, and gradients."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import nullcontext
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from energyc import pipeline
from energyc.code.loops import kernel_text
from energyc.code.module.context import Options
from energyc.code.targets.kernels import all_kernels, kernels_of
from energyc.resources import folder
from energyc.runtime.equations.inputs import prepared
from energyc.runtime.equations.products import PRODUCTS
from energyc.runtime.networks.network import EnergyNetwork
from tests.emit.kernels import drawn, loaded_with, needs_compiler, pointer

ENTRY = """
extern "C" void whole(const float* left, const Int* rows, Int row_count, const Int* left_terms, const float* right,
                      const Int* right_terms, Int term_count, const Int* columns, Int column_count, float* out,
                      Int out_gap, float factor, bool adds, Int several, Int apart) {
    const Places row(rows, rows + row_count), inner(left_terms, left_terms + term_count);
    const Places other(right_terms, right_terms + term_count), column(columns, columns + column_count);
    const Int size = term_count * padded<float>(column_count);
    std::vector<float> packed(several * size);
    for (Int which = 0; which < several; ++which)
        pack<BFloat16>(right + which * apart, other, column, packed.data() + which * size);
    const Places out_row = places({{row_count, column_count + out_gap}});
    multiply<BFloat16>(left, row, row_count, inner, packed.data(), out, out_row, column_count, factor, adds,
                       {several, size, row_count * (column_count + out_gap)});
}
"""
PORTABLE = "-mno-avx512bf16"


def product(flags: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The function that packs a right matrix and multiplies by it."""
    monkeypatch.setenv("CXXFLAGS", flags)
    return loaded_with(["kernels.h", "bfloat16.h"], ENTRY).whole


def rounded(array: np.ndarray) -> np.ndarray:
    """To bfloat16 by torch, in float64."""
    return torch.from_numpy(array).bfloat16().double().numpy()


def laid(random: np.random.Generator, sizes: Sequence[int], order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, and the places of a matrix among them: its rows, its terms, or runs of terms next to each other."""
    rows, terms = sizes
    gap = int(random.integers(0, 3))
    if order == 0:
        places = np.arange(rows) * (terms + gap), np.arange(terms)
    elif order == 1:
        places = np.arange(rows), np.arange(terms) * (rows + gap)
    else:
        run = int(random.choice([2, 3, 8]))
        places = np.arange(rows) * (run + gap), np.arange(terms) // run * rows * (run + gap) + np.arange(terms) % run
    numbers = random.normal(size=int(places[0][-1] + places[1][-1]) + 1).astype(np.float32)
    return numbers, places[0].astype(np.int64), places[1].astype(np.int64)


@pytest.mark.abridged
@needs_compiler
@pytest.mark.parametrize("flags", ["", PORTABLE, "-O1 -fsanitize=undefined -fno-sanitize-recover=all"])
def test_they_are_products_of_rounded_operands(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the product in float64 of operands that torch rounded, at odd sizes and in any order in memory."""
    function = product(flags, monkeypatch)
    seed = Random().randrange(10**9)
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    whole = ctypes.c_int64
    for _ in range(120):
        rows, terms = int(random.integers(1, 70)), int(random.choice([1, 2, 7, 16, 33, 63, 129, 517, 1100]))
        columns, several, gap = int(random.integers(1, 80)), int(random.integers(1, 4)), int(random.integers(0, 3))
        left, row, left_terms = laid(random, (rows, terms), int(random.integers(3)))
        right, column, right_terms = laid(random, (columns, terms), int(random.integers(3)))
        right = random.normal(size=several * len(right)).astype(np.float32)
        apart = len(right) // several
        out = random.normal(size=(several, rows, columns + gap)).astype(np.float32)
        factor, adds = -0.5, bool(random.integers(2))
        a = rounded(left[row[:, None] + left_terms])
        b = np.stack([rounded(right[which * apart :][column + right_terms[:, None]]) for which in range(several)])
        before = out.copy()
        exact = factor * a @ b + (before[..., :columns] if adds else 0)
        bound = abs(a) @ abs(b) + abs(before[..., :columns])
        function(
            pointer(left), pointer(row), whole(rows), pointer(left_terms), pointer(right), pointer(right_terms),
            whole(terms), pointer(column), whole(columns), pointer(out), whole(gap), ctypes.c_float(factor),
            ctypes.c_bool(adds), whole(several), whole(apart),
        )  # fmt: skip
        case = rows, columns, terms, several, adds
        assert np.all(abs(out[..., :columns] - exact) <= 20 * np.finfo(np.float32).eps * bound), case
        assert np.array_equal(out[..., columns:], before[..., columns:]), case


@needs_compiler
@pytest.mark.parametrize("flags", ["", PORTABLE])
def test_ties_go_to_the_even_number(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of one term is exact in float32: numbers between two of 8 bits, at and beside the middle, times 1."""
    function, whole = product(flags, monkeypatch), ctypes.c_int64
    bits = np.random.default_rng(3).integers(0x3F000000, 0x42000000, 64, dtype=np.uint32) & 0xFFFF0000
    left = np.concatenate([bits + np.uint32(end) for end in (0x7FFF, 0x8000, 0x8001, 0)]).view(np.float32)
    left = np.concatenate([left, -left])
    places, one, none = np.arange(len(left)), np.ones(1, np.float32), np.zeros(1, np.int64)
    out = np.zeros(len(left), np.float32)
    function(
        pointer(left), pointer(places), whole(len(left)), pointer(none), pointer(one), pointer(none), whole(1),
        pointer(none), whole(1), pointer(out), whole(0), ctypes.c_float(1), ctypes.c_bool(False), whole(1), whole(0),
    )  # fmt: skip
    assert np.array_equal(out, rounded(left).astype(np.float32))


# -------------------------------------------------------------------- steps


class OperandsRounded(TorchFunctionMode):
    """Products of rounded operands whose results are not rounded, as those of kernels."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in PRODUCTS and sum(isinstance(x, Tensor) for x in args) > 1:
            args = [x.bfloat16().float() if isinstance(x, Tensor) else x for x in args]
        return function(*args, **(kwargs or {}))


#: Sizes of which each product is worth rounding, none of them a multiple of a vector.
SIZES = {
    "thick": {"T": 19, "D": 36, "H": 2},
    "cet": {"C": 1, "S": 12, "P": 4, "stride": 2, "D": 35, "H": 2, "A": 17, "M": 41},
    "deep_hopfield": {"I": 40, "J1": 39, "J2": 37, "K": 18},
}


def module(name: str, rules: Sequence[str], dims: Any = None, **settings: object) -> Any:
    """A module in C++ with products in bfloat16, and its weights."""
    given = {"train.products": "bfloat16", **{key.replace("_", ".", 1): value for key, value in settings.items()}}
    path = next(folder("specs").rglob(f"{name}.energy"))
    choices = pipeline.Choices.of(dims=SIZES.get(name, {}) if dims is None else dims, settings=given)
    compiled = pipeline.emit(pipeline.resolve(pipeline.read(path), choices), rules, target="cpp")
    assert compiled.fallback is None
    return pipeline.instantiate(compiled, "cpu", torch.float32, 0)


def step_of(net: Any, way: Any, mode: Any = nullcontext) -> Tensor:
    random = torch.Generator().manual_seed(4)
    with torch.no_grad():
        clamps = drawn(net.clamp_shapes, random, net)
        fixed = prepared(net, clamps)
        states = [x.clone() for x in net._start(fixed)]
        states = [x + 0.3 * torch.randn(x.shape, generator=random) for x in states]
        net._project_(states)
        with mode():
            way(net, states, fixed, 0, 1, net.relax_step)
    return torch.cat([x.flatten().double() for x in states])


@pytest.mark.abridged
@needs_compiler
@pytest.mark.parametrize("flags", ["-O1", f"-O1 {PORTABLE}"])
@pytest.mark.parametrize("name", list(SIZES))
def test_a_step_is_that_of_rounded_operands(name: str, flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", flags)
    net = module(name, ["implicit"])
    kernels = step_of(net, type(net)._steps_)
    assert "free_bfloat16_phase" in net.kernels.libraries[torch.float32].ran
    net.products = "float32"
    plain, expected = (step_of(net, EnergyNetwork._steps_, mode) for mode in (nullcontext, OperandsRounded))
    assert float((kernels - expected).norm()) < 0.05 * float((plain - expected).norm()) > 0


def gradients(net: Any, rule: str, **options: Any) -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(5)
    clamps, targets = drawn(net.clamp_shapes, random, net), drawn(net.target_shapes, random, net)
    found = net.gradients(clamps, targets, rule, **options)
    return {name: x.double().flatten() for name, x in found.params.items()}


@pytest.mark.abridged
@needs_compiler
@pytest.mark.parametrize("rule", ["tracking-aep", "implicit", "bptt", "aep"])
def test_gradients_of_each_param_are_those_in_float32(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contrasts are small differences: the forces of their phases are not rounded, all else is."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    settings = {"relax_step": 0.4, "relax_steps": 40, "relax_tolerance": "none", "nudge_steps": 20}
    net = module("thick", [rule], **settings)
    with torch.no_grad():
        for name in ("W_o", "W2"):
            net.params[name].mul_(3)
    found = gradients(net, rule, allow_biased=True)
    assert any(name.endswith("_bfloat16_phase") for name in net.kernels.libraries[torch.float32].ran)
    net.products = "float32"
    expected = gradients(net, rule, allow_biased=True)
    cosines = {n: float(found[n] @ x / (found[n].norm() * x.norm())) for n, x in expected.items()}
    assert min(cosines.values()) > 0.9995, cosines
    assert all(not torch.equal(found[n], x) for n, x in expected.items() if n in ("W1", "W_q"))


@needs_compiler
def test_a_free_phase_begins_with_them_and_comes_to_its_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O1")
    settings = {"relax_step": 0.4, "relax_exit": "early", "relax_chunk": 5, "relax_tolerance": 1e-5}
    net, random = module("thick", ["implicit"], **settings), torch.Generator().manual_seed(5)
    clamps, entries, run = drawn(net.clamp_shapes, random, net), list[str | None](), net.kernels.run

    def ran(
        name: str, states: Any, given: Any, scalars: Any, steps: int, change: Any = None, products: Any = None
    ) -> Any:
        entries.append(products)
        return run(name, states, given, scalars, steps, change, products)

    net.kernels.run = ran
    found = net.relax(clamps)
    assert float(found.residual.max()) <= 1e-5
    assert entries[0] == "bfloat16"
    assert entries[-1] == "float32"
    assert "bfloat16" not in entries[len(entries) - entries[::-1].index("bfloat16") :]


@needs_compiler
def test_threads_do_not_change_a_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O1")
    net = module("thick", ["bptt"], relax_steps=4, relax_tolerance="none")
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            found.append(gradients(net, "bptt"))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(found[0][name], x) for name, x in other.items())


# -------------------------------------------------------------------- which products


def lines(name: str, rule: str, dims: Any = None, **settings: object) -> dict[str, list[str]]:
    """The lines of products of each kernel."""
    path = next(folder("specs").rglob(f"{name}.energy"))
    given = {key.replace("_", ".", 1): value for key, value in settings.items()}
    network = pipeline.resolve(pipeline.read(path), pipeline.Choices.of(dims=dims, settings=given))
    options = Options((rule,), "spec", "test")
    kernels = all_kernels(kernels_of(options.plan(network), options))
    return {k.name: [x for x in kernel_text(k).splitlines() if " product " in x] for k in kernels}


def test_forces_of_contrasted_phases_are_not_rounded() -> None:
    found = lines("thick", "tracking-aep", train_products="bfloat16")
    low = {name: [x for x in products if x.endswith("in bfloat16")] for name, products in found.items()}
    assert low["free"] == found["free"]
    assert low["nudged"] == []
    assert any("v_n1 @ W_v" in x for x in low["tracking"])
    assert sum("n2 @ W1" in x for x in found["tracking"]) == 4
    assert sum("n2 @ W1" in x for x in low["tracking"]) == 2  # those of the correction


def test_small_products_are_not_rounded() -> None:
    found = lines("hopfield", "centered-ep", dims={"K": 13}, train_products="bfloat16")
    assert found["free"]
    assert not any("bfloat16" in x for products in found.values() for x in products)


def test_a_free_phase_alone_may_begin_with_them() -> None:
    found = lines("thick", "tracking-aep", relax_products="bfloat16")
    assert all(x.endswith("in bfloat16") for x in found["free"])
    assert not any("bfloat16" in x for name in ("nudged", "tracking") for x in found[name])


def test_without_the_setting_nothing_is_there_for_it() -> None:
    network = pipeline.resolve(pipeline.read(folder("specs") / "thick.energy"))
    text = pipeline.emit(network, target="cpp").text
    assert "bfloat16" not in text[text.index("SOURCE = ") :]

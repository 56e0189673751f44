"""Functions of groups: equal ones once, sizes by the names of dims, addresses by Horner's rule."""

from __future__ import annotations

import math

import pytest

from energyc.code.loops import NotLowered
from energyc.code.loops.nest import Buffer, Group, Kernel, Load, Statement
from energyc.code.module.context import Options
from energyc.code.targets.cpp import groups as cpp_groups
from energyc.code.targets.functions import Functions
from energyc.code.targets.kernels import all_kernels, kernels_of
from energyc.code.targets.sums import address, size, times, total
from energyc.code.targets.triton import groups as triton_groups
from energyc.code.tree import cpp
from energyc.code.tree.expressions import Name, Number
from energyc.code.tree.extents import Extent, named
from energyc.mathematics.ir.indexing import axis
from tests.emit.judge import resolved
from tests.emit.kernels import SPECS, shipped

FORCE = """\
network forced
dim D = 3
clamp x[D]
state z[D]
force drive on z[d] = {function}(z[d]) + x[d] - 2 * z[d]
"""
SIZES = named({"T": 6, "D": 8}, {"T": "T_", "D": "D_"})


def test_a_size_is_a_number_that_knows_its_dims() -> None:
    size_t, size_d = SIZES.values()
    product = math.prod([size_t, 2, size_d])
    assert product == 96 and isinstance(product, Extent) and product.multiple == 2
    assert cpp.expression(size(product)) == "2 * T_ * D_"
    assert (size_t + 0, 0 * size_t, size_t + 1) == (6, 0, 7)
    assert not isinstance(0 * size_t, Extent) and cpp.expression(size(size_t + 1)) == "T_ + 1"


def test_addresses_by_horners_rule() -> None:
    (size_t, size_d), (b, i, r) = SIZES.values(), map(Name, "bir")

    def written(*terms: tuple[int, Name | Number]) -> str:
        return cpp.expression(total([times(step, label) for step, label in address(terms)]))

    assert written((size_t * size_d, b), (size_d, i), (1, r)) == "(b * T_ + i) * D_ + r"
    assert written((size_t * size_d, b), (1, r)) == "b * T_ * D_ + r"
    assert written((size_t * size_d, b), (size_t, i), (1, r)) == "T_ * D_ * b + i * T_ + r"
    assert written((48, b), (8, i), (1, r)) == "48 * b + 8 * i + r"


def doubled(names: str) -> tuple[Kernel, Group]:
    """A group that doubles a buffer into another one, under some names."""
    source, target, extents = names[0], names[1], tuple(SIZES.values())
    read, written = Buffer(source, extents, True, "state"), Buffer(target, extents, True, "state")
    expr = 2.0 * Load(read, (axis(0), axis(1)))
    group = Group(extents[:1], True, [Statement(written, extents, expr, label=f"{target} = 2 {source}")])
    return Kernel(names, "", (read,), (written,), (), (), (group,), SIZES), group


def test_groups_that_are_equal_up_to_names_share_a_function() -> None:
    for write in (cpp_groups.function, triton_groups.function):
        functions = Functions(write, "{}_end")
        first, second = (functions.of(*doubled(names)) for names in ("xy", "uv"))
        assert first is second and first.name == "y_end"
        kernel, group = doubled("uv")
        group.batched = False
        assert functions.of(kernel, group) is not first


def test_kernels_hold_only_functions_that_their_target_writes() -> None:
    """A target has a form for a function, or its formula: a made-up one has neither for sin."""
    options = Options(("implicit",), "spec", "test")
    sine, softsign = (options.plan(resolved(FORCE.format(function=name))) for name in ("sin", "softsign"))
    assert all_kernels(kernels_of(softsign, options, "paper"))
    for target in ("cpp", "triton"):
        assert all_kernels(kernels_of(sine, options, target))
    with pytest.raises(NotLowered, match="no kernel computes sin"):
        kernels_of(sine, options, "paper")


def test_thick_has_fewer_functions_than_groups() -> None:
    (path,) = (path for path in SPECS if path.stem == "thick")
    network = shipped(path)
    functions, count = Functions(triton_groups.function, "{}_kernel"), 0
    options = Options(("tracking-aep",), "spec", "test")
    for kernel in all_kernels(kernels_of(options.plan(network), options, "triton", "registers")):
        for group in (block for block in kernel.body if isinstance(block, Group)):
            functions.of(kernel, group)
            count += 1
    assert (len(functions.made), count) == (14, 18)

"""Names in kernels: nothing that C, C++, Python or Triton knows by a name of a spec breaks a kernel."""

from __future__ import annotations

import builtins
import keyword
import re
import subprocess

import pytest

from energyc.code.targets.names import POINTER, SIZE, VALUE, Names
from energyc.resources import resource
from energyc.runtime.kernels import triton_functions, triton_kernels
from energyc.runtime.kernels.library import FLAGS
from tests.emit.judge import resolved
from tests.emit.kernels import TARGETS, agrees, kernel_module, needs_compiler

SPEC = """network {0}
dim N = 3, M = 4
clamp {1}[N], {2}[M]
target {3}[M]
param {4}[N, M] ~ normal(1/2), {5}[M] = 1/2, {6}[N] = 1/3, {7}[M, M] ~ normal(1/3)
state {8}[N] in [0, 1], {9}[M], {10}[M]
let {11}[j] = tanh(sum[i]({4}[i, j] * {8}[i]))
energy well = sum[i]({8}[i]^2)/2 + sum[j]({9}[j]^2)/2 + sum[j]({10}[j]^2)/2 - sum[i]({1}[i] * {6}[i] * {8}[i])
energy pull = -sum[j]({11}[j] * {9}[j]) - sum[j,k]({7}[j,k] * {9}[j] * tanh({10}[k])) - sum[j]({5}[j] * {2}[j] * {10}[j])
readout out[j] = {9}[j]
cost c = sum[j]((out[j] - {3}[j])^2)/2
relax {{ steps = 3, step = 1/4 }}
train {{ rule = centered-ep }}
"""  # noqa: E501
#: Macros of C headers, words of C++20, Python and Triton, and what kernels call their own.
NAMES = (
    "M_PI REAL EINVAL SIZE_MAX NULL errno INFINITY NAN EOF assert linux unix "
    "double T Int n now packed memory std main free_phase pack multiply "
    "concept co_await requires char8_t co_yield consteval signbit y0 gamma isnan real samples "
    "None True async match print len tl triton torch place inside given "
    "__class__ x_ x_ptr x_2 x__2 free_kernel kernels beta step_s scalars r sample "
    "matrix room cdiv k p jit then free_group_1 free_step nudged_step None_ block_tanh "
    "i j b t q s inside_here samples x a e l"
).split()


def network_of(turn: int) -> str:
    """A spec that is called by twelve of the names."""
    return SPEC.format(*NAMES[12 * turn : 12 * turn + 12])


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("turn", range(len(NAMES) // 12))
def test_names_of_a_spec_stay_names(turn: int, target: str) -> None:
    assert "nudged" in agrees(kernel_module(resolved(network_of(turn)), target=target))


def has_a_shape(name: str) -> bool:
    return any(re.fullmatch(shape.format("[A-Za-z][A-Za-z0-9_]*"), name) for shape in (VALUE, POINTER, SIZE))


def test_names_have_a_shape_of_their_own() -> None:
    """Names are safe for any wish, also where two wishes have the same letters."""
    names = Names()
    made = [names.new(wish) for wish in ("double", "T", "a b", "a_b", "α", "β", "_x", "__x", "x", "x_2", "", "T);//")]
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*_", name) for name in made)


def test_python_has_no_such_names() -> None:
    """Nor have the functions that kernels call."""
    known = [*keyword.kwlist, *keyword.softkwlist, *dir(builtins)]
    known += [*vars(triton_kernels), *vars(triton_functions)]
    assert [name for name in known if has_a_shape(name)] == []


@needs_compiler
def test_headers_have_no_such_macros() -> None:
    header = str(resource("codegen") / "cpp" / "kernels.h")
    command = ["c++", *FLAGS, "-DREAL=float", "-dM", "-E", "-x", "c++", header]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    macros = [line.split()[1].partition("(")[0] for line in done.stdout.splitlines()]
    assert len(macros) > 1000 and "M_PI" in macros
    assert [name for name in macros if has_a_shape(name)] == []

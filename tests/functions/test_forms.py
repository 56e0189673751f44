"""All forms of a function are the same function over the range of floats: NumPy, mpmath, torch, C++, Triton, SPICE."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import torch

from energyc.mathematics.expressions import U, call, where
from energyc.mathematics.functions import FUNCTIONS, ScalarFunction, scalar_function
from energyc.mathematics.functions.deduced import Derivative
from energyc.mathematics.functions.table import table
from energyc.proofs.enclosures.intervals import Interval, NoEnclosure, mapped
from energyc.proofs.enclosures.multiprecision import Multiprecision
from energyc.resources import resource
from energyc.runtime.kernels import triton_functions
from energyc.runtime.kernels.triton_functions import interpreted
from energyc.runtime.tensors import functions as runtime
from tests.emit.test_cpp import built, needs_compiler
from tests.emit.test_triton import interpreted_function
from tests.functions.definitions import DEFINITIONS, DIGITS
from tests.functions.test_functions import in_mpmath
from tests.quick import few

#: From 0 by subnormal numbers to the largest.
SIZES = [0.0, 5e-324, 1e-310, 2.3e-308, 1e-300, 1e-200, 1e-100, 1e-30, 1e-9, 1e-3, 0.4, 1.3, 5.0, 20.0]
LARGE = [1e3, 1e9, 1e30, 1e100, 1e200, 1e300, 1.7e308]
FINITE = np.array([sign * size for size in [*SIZES, *LARGE] for sign in (1, -1)])
ENDS = np.array([np.inf, -np.inf, np.nan])
#: Where a square overflows beside a factor that is 0, and where mpmath's own definition does.
LARGEST = {"gelu_tanh_slope": 1e150, "silu_integral": 1e150}
LARGEST_IN_MPMATH = {"silu_integral": 1e3, "cumulative": 1e5, "gelu": 1e5, "gelu_slope": 1e5}
#: 1 for a condition that NaN fails, as any comparison.
SELECTING = {"step", "above", "reached", "sign"}
#: Right to rounding of 1 where they are small: by 1 + erf or 1 + tanh, which cancel far left.
CANCELLING = {"cumulative", "gelu", "gelu_slope", "gelu_tanh", "gelu_tanh_slope"}


def arguments(entry: ScalarFunction) -> np.ndarray:
    """The floats where a function is defined."""
    u = FINITE[np.abs(FINITE) < LARGEST.get(entry.name, np.inf)]
    if entry.domain is None:
        return u
    return u[u >= 0] if entry.domain.zero else u[u > 0]


def compared(entry: ScalarFunction, form: Callable[[np.ndarray], np.ndarray], *, cancels: bool = False) -> None:
    """A form against the value in NumPy: to a few units, 0 for what is too small for a normal number."""
    u = arguments(entry)
    with np.errstate(all="ignore"):
        found, expected = form(u), entry.value(u)
        ends, limits = form(ENDS), entry.value(ENDS)
    scale = np.maximum(np.abs(expected), np.maximum(1, np.abs(u)) if cancels else 0)
    same = (found == expected) | (np.abs(found - expected) <= 1e-12 * scale + 1e-300)
    assert same.all(), (u[~same], found[~same], expected[~same])
    # At infinity a form may have no value, as inf / inf has none, but no wrong one; NaN stays NaN.
    for at_end, limit in zip(ends[:2], limits[:2], strict=True):
        assert math.isnan(at_end) or math.isnan(limit) or at_end == limit
    assert math.isnan(ends[2]) or entry.name in SELECTING, "NaN is lost"


def with_form(target: str) -> list[str]:
    return [n for n, entry in FUNCTIONS.items() if any(form.target == target for form in entry.forms)]


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("name", few(FUNCTIONS, lambda name: name != "silu_integral"))
def test_values_in_numpy(name: str) -> None:
    entry = FUNCTIONS[name]
    u = arguments(entry)
    u = u[np.abs(u) < LARGEST_IN_MPMATH.get(name, np.inf)]
    with np.errstate(all="ignore"):
        found = entry.value(u)
    with mp.workdps(DIGITS[name]):
        for x, value in zip(u, found, strict=True):
            expected = DEFINITIONS[name](mp.mpf(x))
            tolerance = max(4e-14 * abs(expected), mp.mpf("1e-300"))
            huge = abs(expected) > 1.79e308 and math.isinf(value)
            assert huge or abs(value - expected) <= tolerance, (x, value, mp.nstr(expected, 20))


@pytest.mark.parametrize("name", few(FUNCTIONS, lambda name: name != "silu_integral"))
def test_values_in_many_digits(name: str) -> None:
    entry, digits = FUNCTIONS[name], Multiprecision({}, {})
    u = arguments(entry)
    u = u[(np.abs(u) < 1e3) & (np.abs(u) > 1e-50)]
    found = digits.map(entry, digits.array(u))
    with mp.workdps(DIGITS[name]):
        for x, value in zip(u, found, strict=True):
            expected = DEFINITIONS[name](mp.mpf(x))
            assert abs(mp.mpf(value) - expected) <= mp.mpf("1e-100") * max(1, abs(expected)), x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_enclosures_hold_the_values(name: str) -> None:
    entry = FUNCTIONS[name]
    u = arguments(entry)
    u = u[(np.abs(u) < 600)]
    with np.errstate(all="ignore"):
        expected = entry.value(u)
        try:
            box = mapped(entry, Interval(u, u))
        except NoEnclosure:
            assert name == "silu_integral"
            return
    assert np.all(box.low <= expected) and np.all(expected <= box.high)


@pytest.mark.parametrize("name", with_form("torch"))
def test_forms_in_torch(name: str) -> None:
    scope = {**vars(runtime), "functional": torch.nn.functional, "math": math, "torch": torch}

    def form(u: np.ndarray) -> np.ndarray:
        return eval(FUNCTIONS[name].form("torch").of("u", "u"), {**scope, "u": torch.from_numpy(u)}).numpy()

    compared(FUNCTIONS[name], form, cancels=name in CANCELLING)


@pytest.mark.parametrize("name", with_form("torch"))
def test_forms_in_torch_can_be_differentiated(name: str) -> None:
    """By autograd, twice: layers and readouts are trained through whatever a spec writes, slopes too."""
    entry, scope = FUNCTIONS[name], {**vars(runtime), "functional": torch.nn.functional, "math": math, "torch": torch}
    points = [0.21, 0.37, 0.83] if entry.domain is not None else [-3.25, -0.4, 0.3, 1.75, 6.0]
    u = torch.tensor(points, dtype=torch.float64, requires_grad=True)
    value = eval(entry.form("torch").of("u", "u"), {**scope, "u": u})
    for derivative in (entry.derivative, Derivative(lambda other: FUNCTIONS[other].derivative)(entry.derivative)):
        if value.requires_grad:
            (value,) = torch.autograd.grad(value.sum(), u, create_graph=True, materialize_grads=True)
        else:
            value = torch.zeros_like(u)
        with mp.workdps(60):
            expected = torch.tensor([float(in_mpmath(derivative, mp.mpf(x))) for x in points], dtype=torch.float64)
        assert torch.allclose(value, expected, rtol=1e-9, atol=1e-12), (value, expected)


SOURCE = """
extern "C" void {name}_of(const Real* u, Real* y, Int count) {{
    for (Int k = 0; k < count; ++k) y[k] = {form};
}}
"""


@needs_compiler
def test_forms_in_cpp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O1")
    names = with_form("cpp")
    forms = [FUNCTIONS[name].form("cpp").of("u[k]", "u[k]").replace("T(", "Real(") for name in names]
    loops = [SOURCE.format(name=name, form=form) for name, form in zip(names, forms, strict=True)]
    kernels = resource("codegen", "cpp", "kernels.h").read_text(encoding="utf-8")
    library = built("\n".join([kernels, *loops]), "double").loaded

    def form(name: str, u: np.ndarray) -> np.ndarray:
        u, y = np.ascontiguousarray(u), np.empty_like(u)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (u, y)]
        library[f"{name}_of"](*pointers, ctypes.c_int64(len(u)))
        return y

    for name in names:
        compared(FUNCTIONS[name], lambda u, name=name: form(name, u), cancels=name in CANCELLING)


@pytest.mark.skipif(not (triton_functions.has_triton() and interpreted()), reason="triton does not interpret here")
@pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
@pytest.mark.parametrize("name", with_form("triton"))
def test_forms_in_triton(name: str) -> None:
    text = FUNCTIONS[name].form("triton").of("u", "u")
    compared(FUNCTIONS[name], lambda u: interpreted_function(text, u), cancels=name in CANCELLING)


SPICE: dict[str, Any] = {
    "exp": np.exp,
    "ln": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sgn": np.sign,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "max": np.maximum,
    "u": lambda x: np.where(x > 0, 1.0, 0.0),
}


@pytest.mark.parametrize("name", with_form("spice"))
def test_forms_in_spice(name: str) -> None:
    text = FUNCTIONS[name].form("spice").of("x", "x")

    def form(u: np.ndarray) -> np.ndarray:
        return eval(text, {**SPICE, "x": u})

    compared(FUNCTIONS[name], form, cancels=name in {*CANCELLING, "tanh"})


# ------------------------------------------------------------------ what follows from a formula


@pytest.mark.parametrize("name", [name for name, entry in FUNCTIONS.items() if entry.formula is not None])
def test_stated_derivatives_are_those_of_the_formula(name: str) -> None:
    entry = FUNCTIONS[name]
    assert entry.formula is not None
    deduced = Derivative(lambda other: FUNCTIONS[other].derivative)(entry.formula)
    with mp.workdps(60):
        for u in (-3.25, -0.5, 0.25, 1.75, 6.0):
            apart = in_mpmath(deduced, mp.mpf(u)) - in_mpmath(entry.derivative, mp.mpf(u))
            assert abs(apart) < mp.mpf("1e-50"), u


def defined(**fields: Any) -> ScalarFunction:
    """A made-up function, complete."""
    entries = {**FUNCTIONS, "made_up": ScalarFunction(name="made_up", **fields)}
    return table(entries)["made_up"]


MADE_UP = {
    "mish": (U * call("tanh", call("softplus")), lambda u: u * mp.tanh(mp.log(1 + mp.exp(u))), 0),
    "elu": (where(U > 0, U, call("exp") - 1), lambda u: u if u > 0 else mp.expm1(u), 0),
    "bump": (1 / (1 + U**2), lambda u: 1 / (1 + u**2), 1),
    "cubic": (U**3 - 3 * U, lambda u: u**3 - 3 * u, -1),
    "square_of_relu": (call("relu") ** 2 / 2, lambda u: max(u, 0) ** 2 / 2, 0),
}


@pytest.mark.parametrize("name", MADE_UP)
def test_a_formula_is_enough(name: str) -> None:
    formula, exact, parity = MADE_UP[name]
    entry = defined(formula=formula)
    u = np.array([-3.0, -0.7, 0.2, 1.5, 4.0])
    np.testing.assert_allclose(entry.value(u), [float(exact(mp.mpf(x))) for x in u], rtol=1e-14)
    slopes = [float(in_mpmath(entry.derivative, mp.mpf(x))) for x in u]
    np.testing.assert_allclose(slopes, [float(mp.diff(exact, x)) for x in u], rtol=1e-12)
    assert entry.parity == parity
    assert entry.latex.format("u") == r"\operatorname{made\_up}(u)"
    assert {form.target for form in entry.forms} >= {"torch", "cpp", "triton", "energy"}
    box = mapped(replace(entry, monotone=0), Interval(u - 0.01, u + 0.01))
    assert np.all(box.low <= entry.value(u)) and np.all(entry.value(u) <= box.high)


def test_an_entry_needs_a_formula_or_its_value_and_slope() -> None:
    with pytest.raises(ValueError, match="made_up states neither"):
        defined(value=np.exp)


def test_powers_have_forms_of_their_own() -> None:
    assert scalar_function("power", Fraction(-2)).form("spice").of("x", "x") == "(1 / (x * x))"
    assert scalar_function("power", Fraction(1, 2)).form("energy").of("u", "u") == "u^(1/2)"

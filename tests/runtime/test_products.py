"""Products of rounded operands: what they compute, and where a relaxation rests that begins with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import energyc
from energyc.language.diagnostics import SpecError, UserError
from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.products import FORMATS, TAKEN, products_in, with_products
from energyc.runtime.relaxation.step_methods import GradientDescent
from tests.cli.run import energyc as command
from tests.cli.run import written
from tests.emit.kernels import needs_compiler

SPEC = """\
network bowl
dim D = 6
clamp x[D]
target y[D]
param A[D, D] ~ normal(0.4), k[D] = 1
state z[D]
let u[e] = sum[d](A[e,d] * z[d])
energy pull = 1/2 * sum[d](k[d] * z[d]^2) - sum[d](z[d] * x[d]) + 1/2 * sum[e](u[e]^2)
relax { step = 0.3, steps = 60, tolerance = 1e-5, chunk = 10, max_steps = 600 }
readout out[d] = z[d]
cost mse = sum[d]((z[d] - y[d])^2)
train { rule = centered-ep }
"""
BATCH, CPU = 5, torch.device("cpu")


def loaded(spec: Any = SPEC, rules: Any = None, **settings: object) -> Any:
    named = {name.replace("_", ".", 1): value for name, value in settings.items()}
    target = named.pop("target", "torch")
    return energyc.load(spec, rules=rules, seed=3, dtype=torch.float32, settings=named, target=str(target))


def inputs() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    random = torch.Generator().manual_seed(2)
    x, y = (torch.randn(BATCH, 6, generator=random) for _ in range(2))
    return {"x": x}, {"y": y}


def at_rest(net: Any, clamps: dict[str, Tensor]) -> Tensor:
    """The bowl's equilibrium (K + A^T A)^-1 x, in float64."""
    a, k = (net.params[name].detach().double() for name in ("A", "k"))
    return torch.linalg.solve(torch.diag(k) + a.T @ a, clamps["x"].double().T).T


def low(x: Tensor) -> Tensor:
    """To 8 bits of mantissa, to the nearest and to even."""
    bits = x.contiguous().view(torch.int32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & ~0xFFFF).view(torch.float32)


def flat(gradients: Any) -> Tensor:
    return torch.cat([p.double().flatten() for p in gradients.params.values()])


def cosine(one: Tensor, two: Tensor) -> float:
    return float(one @ two / (one.norm() * two.norm()))


# -------------------------------------------------------------------- products


def test_operands_and_result_are_rounded_and_the_sum_is_not() -> None:
    random = torch.Generator().manual_seed(0)
    a, b = torch.randn(7, 900, generator=random), torch.randn(900, 5, generator=random)
    exact = low(low(a).double().mm(low(b).double()).float())
    ways = {
        "@": lambda: a @ b,
        "matmul": lambda: torch.matmul(a, b),
        "method": lambda: a.matmul(b),
        "einsum": lambda: torch.einsum("ij,jk->ik", a, b),
    }
    for name, way in ways.items():
        with products_in("bfloat16", CPU):
            found = way()
        assert found.dtype == torch.float32
        one_apart = (found - exact).abs() <= 2**-7 * exact.abs() + 1e-6  # the order of the sum may round the other way
        assert bool(one_apart.all()), name
        assert float((found == exact).double().mean()) > 0.9, name
        assert float((way() - exact).abs().max()) > 1e-3, name


def test_a_convolution_is_a_product() -> None:
    random = torch.Generator().manual_seed(0)
    x, w = torch.randn(2, 3, 9, 9, generator=random), torch.randn(4, 3, 3, 3, generator=random)
    with products_in("bfloat16", CPU):
        found = F.conv2d(x, w)
    torch.testing.assert_close(found, F.conv2d(low(x), low(w)), rtol=2**-7, atol=1e-3)
    assert not torch.equal(found, F.conv2d(x, w))


def test_other_dtypes_and_what_is_no_product_stay() -> None:
    random = torch.Generator().manual_seed(0)
    a = torch.randn(4, 4, generator=random)
    with products_in("bfloat16", CPU):
        double = a.double() @ a.double()
        complex_ = a.to(torch.complex64) @ a.to(torch.complex64)
        others = a * a, torch.einsum("ij->j", a), a.softmax(1), a + a
    assert torch.equal(double, a.double() @ a.double())
    assert torch.equal(complex_, a.to(torch.complex64) @ a.to(torch.complex64))
    expected = a * a, torch.einsum("ij->j", a), a.softmax(1), a + a
    assert all(torch.equal(x, y) for x, y in zip(others, expected, strict=True))


def test_the_force_is_that_of_rounded_products() -> None:
    net, (clamps, _) = loaded(train_products="bfloat16"), inputs()
    z = torch.randn(BATCH, 6, generator=torch.Generator().manual_seed(4))
    a, k = (net.params[name].detach() for name in ("A", "k"))
    u = low(low(z) @ low(a).T)
    expected = clamps["x"] - k * z - low(low(u) @ low(a))
    found = net.force({"z": z}, clamps)["z"]
    torch.testing.assert_close(found, expected, rtol=0, atol=2**-7 * float(u.abs().max()))
    assert float((found - expected).abs().median()) < 1e-6
    with with_products(net, "float32"):
        assert float((net.force({"z": z}, clamps)["z"] - expected).abs().max()) > 1e-4
    assert net.products == "bfloat16"


def test_every_equation_is_rounded_or_not() -> None:
    """Steps, projections, what is drawn and what only calls others are none."""
    others = {"_force_adjoint", "_cost_force", "_cost_gradient", "_project_adjoint", "_at", "_noise", "_extended"}
    others |= {"_param", "_constant", "_owners", "_ties", "_precise", "_rounding", "_rounds_steps", "_initialize"}
    others |= {"_prediction_errors", "_prediction_gradient", "_serving", "_ran", "_holds"}
    others |= {"_weights", "_weights_vjp", "_whole_force", "_proximal_adjoint", "_at_edges", "_kink_gradient"}
    classes = [kind for kind in Equations.__mro__ if kind.__module__.startswith("energyc.")]
    members = {name: value for kind in classes for name, value in vars(kind).items()}
    methods = {name for name, value in members.items() if callable(value) and re.fullmatch("_[a-z_]*[a-z]", name)}
    assert TAKEN.keys() == methods - others - {"_residual", "_contrasting"}


@pytest.mark.parametrize("products", ["float32", "tf32"])
def test_the_settings_of_torch_are_afterwards_what_they_were(products: str) -> None:
    flags: Any = torch.backends.cuda.matmul, torch.backends.cudnn.conv  # type: ignore[attr-defined]
    for before in ("ieee", "tf32"):
        kept = [flag.fp32_precision for flag in flags]
        try:
            for flag in flags:
                flag.fp32_precision = before
            with pytest.raises(KeyError), products_in(products, torch.device("cuda")):
                assert [flag.fp32_precision for flag in flags] == [FORMATS[products]] * 2
                raise KeyError
            assert [flag.fp32_precision for flag in flags] == [before] * 2
        finally:
            for flag, value in zip(flags, kept, strict=True):
                flag.fp32_precision = value


def test_on_a_cpu_tf32_says_that_it_has_no_effect() -> None:
    (clamps, targets), plain = inputs(), loaded()
    with pytest.warns(RuntimeWarning, match="products in tf32 are products in float32 on the device cpu"):
        found = loaded(train_products="tf32").gradients(clamps, targets)
    assert torch.equal(flat(found), flat(plain.gradients(clamps, targets)))


def test_a_network_in_float64_rounds_nothing() -> None:
    settings = {"train.products": "bfloat16", "relax.products": "bfloat16"}
    clamps, targets = ({n: x.double() for n, x in part.items()} for part in inputs())
    pair = [energyc.load(SPEC, seed=3, dtype=torch.float64, settings=s) for s in ({}, settings)]
    one, two = (flat(net.gradients(clamps, targets)) for net in pair)
    assert torch.equal(one, two)


def test_the_implicit_solve_is_in_full_precision() -> None:
    (clamps, targets), plain = inputs(), loaded(rules=["implicit"])
    net = loaded(rules=["implicit"], train_products="bfloat16")
    one, two = (flat(n.gradients(clamps, targets, "implicit")) for n in (net, plain))
    assert 1e-5 < float((one - two).norm() / two.norm()) < 2e-2


def test_newton_solves_in_full_precision() -> None:
    clamps, _ = inputs()
    net = loaded(train_products="bfloat16", relax_solver="newton", relax_steps=3)
    torch.testing.assert_close(net.relax(clamps, steps=3).states["z"].double(), at_rest(net, clamps), rtol=0, atol=1e-5)


@pytest.mark.parametrize("rule", ["centered-ep", "ep"])
def test_forces_whose_difference_is_the_gradient_are_not_rounded(rule: str) -> None:
    """A nudge is as strong as in float32, and the free phase ends in it."""
    clamps, targets = inputs()
    plain, net = loaded(rules=[rule]), loaded(rules=[rule], train_products="bfloat16")
    assert (plain._rounding(), net._rounding()) == (2.0**-23, 2.0**-7)
    calls = counted(net)
    found, usual = net.gradients(clamps, targets, rule), plain.gradients(clamps, targets, rule)
    assert found.beta == usual.beta
    assert float(found.residual.max()) <= 1e-5
    assert cosine(flat(found), flat(usual)) > 0.99999
    assert 0 < calls.count("bfloat16") < calls.count("contrast" if rule == "centered-ep" else "float32") + 60
    assert "bfloat16" not in calls[-2 * plain.nudge_steps :]
    assert net.products == "bfloat16"


@pytest.mark.parametrize("rule", ["holomorphic-ep", "holomorphic-aep"])
def test_the_radius_of_a_circle_is_that_of_float32(rule: str) -> None:
    clamps, targets = inputs()
    chosen = [
        loaded(rules=[rule], **settings).gradients(clamps, targets, rule).beta
        for settings in ({}, {"train_products": "bfloat16"})
    ]
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize(
    ("settings", "changed", "products"),
    [({}, "float32", {"float32"}), ({"relax_tolerance": "none"}, None, {"bfloat16"})],
    ids=["changed to float32", "exactly so many steps"],
)
def test_a_whole_phase_has_the_same_products(settings: dict[str, Any], changed: str | None, products: set[str]) -> None:
    net, (clamps, _) = loaded(train_products="bfloat16", **settings), inputs()
    net.products = changed or net.products
    calls = counted(net)
    found = net.relax(clamps)
    assert set(calls) == products
    assert changed is None or torch.equal(found.states["z"], loaded().relax(clamps).states["z"])


@pytest.mark.filterwarnings("ignore:products in tf32 are products in float32")
def test_a_phase_that_begins_in_tf32_does_not_end_in_bfloat16() -> None:
    net, (clamps, _) = loaded(train_products="bfloat16", relax_products="tf32"), inputs()
    calls = counted(net)
    assert float(net.relax(clamps).residual.max()) <= 1e-5
    assert "bfloat16" not in calls


def test_a_trajectory_that_comes_to_a_tolerance_is_not_rounded() -> None:
    """Its steps are all alike; the steps back are rounded."""
    net, (clamps, targets) = loaded(rules=["bptt"], train_products="bfloat16", relax_exit="early"), inputs()
    calls = counted(net)
    found = net.gradients(clamps, targets, "bptt")
    assert set(calls) == {"float32"}
    assert float(found.residual.max()) <= 1e-5
    usual = loaded(rules=["bptt"], relax_exit="early").gradients(clamps, targets, "bptt")
    assert 1e-6 < 1 - cosine(flat(found), flat(usual)) < 1e-3


# -------------------------------------------------------------------- a relaxation that begins with them


def counted(net: Any) -> list[str]:
    """The products of each evaluation of the force, in a list that fills."""
    calls: list[str] = []
    plain = net._force

    def force(*arguments: Any) -> Any:
        calls.append(net.products)
        return plain(*arguments)

    net._force = force
    return calls


@pytest.mark.parametrize("exit_", ["settled", "early"])
def test_it_rests_where_float32_does(exit_: str) -> None:
    net, (clamps, _) = loaded(relax_products="bfloat16", relax_exit=exit_), inputs()
    calls = counted(net)
    found = net.relax(clamps)
    assert float(found.residual.max()) <= 1e-5
    torch.testing.assert_close(found.states["z"].double(), at_rest(net, clamps), rtol=0, atol=3e-5)
    rough = calls.count("bfloat16")
    assert rough % 11 == 0  # a chunk, and a look
    assert 0 < rough < int(found.steps.max())
    last = max(k for k, products in enumerate(calls) if products == "bfloat16")
    assert len(calls) - 1 - last >= 10  # a chunk in full precision at the end
    with with_products(net, "bfloat16"):
        coarse = net.relax(clamps, steps=200).states["z"].double()
    assert float((coarse - at_rest(net, clamps)).abs().max()) > 1e-3


@pytest.mark.parametrize("steps", [0, 5, 19, 20, 41, 60])
def test_a_number_of_steps_is_kept(steps: int) -> None:
    net, (clamps, _) = loaded(relax_products="bfloat16"), inputs()
    calls = counted(net)
    found = net.relax(clamps, steps=steps)
    assert found.steps.tolist() == [steps] * BATCH
    looks = calls.count("bfloat16") // 11
    assert len(calls) == steps + 2 * looks + 1
    assert (looks > 0) == (steps >= 20)


def test_a_sample_that_does_not_come_nearer_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    net, (clamps, _) = loaded(relax_products="bfloat16"), inputs()
    steps_ = GradientDescent.steps_

    def spoiling(method: GradientDescent, states: list[Tensor], *arguments: Any) -> None:
        steps_(method, states, *arguments)
        if method.net.products == "bfloat16":
            states[0][0] = float("nan")
            states[0][1] += 1e3

    monkeypatch.setattr(GradientDescent, "steps_", spoiling)
    found = net.relax(clamps)
    assert float(found.residual.max()) <= 1e-5
    torch.testing.assert_close(found.states["z"].double(), at_rest(net, clamps), rtol=0, atol=3e-5)


def test_every_step_is_recorded() -> None:
    net, (clamps, _) = loaded(relax_products="bfloat16"), inputs()
    found = net.relax(clamps, steps=40, record=("residual", "z"))
    assert found.trace["z"].shape == (41, BATCH, 6)
    assert torch.equal(found.trace["z"][-1], found.states["z"])


@pytest.mark.parametrize("settings", [{"relax_solver": "anderson"}, {"relax_step": "auto"}])
def test_with_other_ways_to_rest(settings: dict[str, object]) -> None:
    net, (clamps, _) = loaded(relax_products="bfloat16", relax_exit="early", **settings), inputs()
    calls = counted(net)
    found = net.relax(clamps)
    assert calls.count("bfloat16") >= 10
    torch.testing.assert_close(found.states["z"].double(), at_rest(net, clamps), rtol=0, atol=1e-4)


def test_the_gradient_is_that_of_float32() -> None:
    (clamps, targets), plain = inputs(), loaded()
    net = loaded(relax_products="bfloat16")
    calls = counted(net)
    found, expected = flat(net.gradients(clamps, targets)), flat(plain.gradients(clamps, targets))
    assert cosine(found, expected) > 0.99999
    after = calls[max(k for k, products in enumerate(calls) if products) + 1 :]
    assert len(after) > 2 * plain.nudge_steps  # nudged phases are in full precision


@pytest.mark.slow
@needs_compiler
def test_kernels_round_nothing_that_is_small() -> None:
    """Then no step is rough, and none is taken back to look."""
    clamps, targets = inputs()
    pair = [loaded(relax_products=products, relax_exit="early", target="cpp") for products in ("bfloat16", "none")]
    one, two = (net.gradients(clamps, targets) for net in pair)
    assert torch.equal(one.steps, two.steps)
    assert torch.equal(flat(one), flat(two))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"relax.products": "float32"}, "`relax.products` is one of tf32, bfloat16, not `float32`"),
        ({"train.products": "fp8"}, "`train.products` is one of float32, tf32, bfloat16, not `fp8`"),
        ({"train.products": "bfloat16", "train.dtype": "float64"}, "is of float32, and train.dtype is float64"),
        ({"relax.products": "bfloat16", "relax.solver": "newton"}, "leaves `relax.products` nothing to round"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        energyc.load(SPEC, settings=settings)


def test_steps_that_begin_in_bfloat16_are_not_taken_back() -> None:
    with pytest.raises(UserError) as caught:
        loaded(rules=["bptt"], relax_products="bfloat16")
    assert "the states relax in bfloat16 at first, which is not differentiated" in str(caught.value)
    net, (clamps, _) = loaded(relax_products="bfloat16"), inputs()
    with pytest.raises(ValueError, match="with products in bfloat16 first is differentiated by implicit"):
        net(clamps, rule="bptt")


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({"relax.products": "bfloat16"}, "relax.products = bfloat16 is one decision for a batch"),
        ({"relax.products": "tf32", "train.products": "tf32"}, "does nothing: train.products is the same"),
        ({"relax.products": "bfloat16", "train.dtype": "float64"}, "does nothing: train.dtype is float64"),
        (
            {"relax.products": "bfloat16", "relax.chunk": 31, "relax.tolerance": "none"},
            "does nothing: it takes relax.chunk = 31 steps, and leaves as many, and at most 60 are made",
        ),
    ],
)
def test_check_says_what_the_settings_do(settings: dict[str, object], note: str) -> None:
    notes = energyc.check(SPEC, settings=settings).notes
    assert any(note in said for said in notes), notes


def test_layers_and_numbered_steps_say_what_they_cannot() -> None:
    numbered = (
        "network n\ndim T = 3\nstate z\nclamp x\nforce f on z = x / (1 + t) - z\nrelax t in T { products = tf32 }\n"
    )
    (error,) = energyc.check(numbered).diagnostics
    assert (error.code, error.message) == (
        "E0503",
        "`relax.products = tf32` looks for rest, and the force changes from step to step",
    )
    layer = "layer rest {\n  state z\n  energy e = z^2/2 - x*z\n  relax { products = bfloat16 }\n}"
    layered = f"network n\nclamp x\ntarget y\n{layer}\nreadout out = rest.z\ncost c = (rest.z - y)^2\n"
    net = energyc.load(layered)
    assert net.layers["rest"].relax_products == "bfloat16"
    assert net.rules[0] == "implicit" and "bptt" not in net.rules
    (error,) = energyc.check(layered, settings={"train.products": "bfloat16"}).diagnostics
    assert (error.code, error.message) == (
        "E0190",
        "`train.products` of a network with layers is not yet supported",
    )


@pytest.mark.slow
@pytest.mark.parametrize("key", ["train.products", "relax.products"])
def test_verify_sets_the_gradient_beside_that_in_float32(
    key: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = written(tmp_path, SPEC, "bowl")
    rounded = ("verify", spec, "--rule", "centered-ep", "--set", f"{key}=bfloat16")
    said = command(capfd, *rounded).out
    assert f"with {key} = bfloat16, beside products in float32: cosine " in said
    cost = command(capfd, *rounded, "--format", "json").json["products"]
    assert cost["settings"] == [f"{key} = bfloat16"]
    assert cost["rule"] == "centered-ep"
    small = 1e-4 if key == "relax.products" else 0.1
    assert cost["relative_error"] < small
    assert cost["rounded"]["steps"] >= cost["float32"]["steps"]
    assert cost["float32"]["exact"]["cosine"] > 0.99

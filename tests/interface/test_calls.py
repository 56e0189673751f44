"""A network as it is called: inputs, settings, warnings, one derivative and no second, its text, its copies."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import energyc
from tests.cli.run import in_python
from tests.quick import few

SPEC = """
network cell
dim I = 4, J = 3, K = 2
clamp x[I]
target t[K]
param W[I, J] ~ normal(0.2), V[J, K] ~ normal(0.3), c[J] ~ normal(0.1)
state z[J], y[K]
energy e = 1/2 * sum[j](z[j]^2) + 1/2 * sum[k](y[k]^2) - sum[j](c[j] * z[j])
         - sum[i,j](x[i] * W[i,j] * tanh(z[j])) - sum[j,k](z[j] * V[j,k] * y[k])
readout out[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - t[k])^2)
relax { step = 1/2, steps = 20, max_steps = 500, tolerance = 1e-10 }
"""
TWO = SPEC.replace("clamp x[I]", "clamp x[I], label : K").replace("sum[k](y[k]^2)", "sum[k | k == label](y[k]^2)")
LAYERS = """
network layered
dim I = 4, D = 3
clamp x[I]
target t[D]
param U[I, D] ~ normal(0.3), V[D, D] ~ normal(0.2)
let drive[d] = sum[i](x[i] * U[i,d])
layer settle {
  state z[D]
  energy well = 1/2 * sum[d](z[d]^2) - sum[d](drive[d] * z[d])
  energy bend = 1/2 * sum[d](sum[e](V[d,e] * z[e])^2)
  relax { step = 1/2, steps = 20, max_steps = 300, tolerance = 1e-10 }
}
readout out[d] = tanh(settle.z[d])
cost mse = 1/2 * sum[d]((out[d] - t[d])^2)
"""


def loaded(spec: str = SPEC, **options: Any) -> Any:
    return energyc.load(spec, **{"dtype": "float64", **options})


def inputs(count: int = 5, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# -------------------------------------------------------------------- what a call takes


def test_the_only_clamp_is_given_as_it_is_by_name_or_as_a_keyword() -> None:
    net, x = loaded(), inputs()
    by_name = net({"x": x})["out"]
    for values in (net(x), net(x=x), net(x.numpy()), net(x.tolist()), net({"x": x.numpy()}), net(clamps=x)):
        torch.testing.assert_close(values["out"], by_name, rtol=0, atol=0)


def test_steps_tolerance_and_states_are_those_of_relax() -> None:
    net, x = loaded(), inputs()
    torch.testing.assert_close(net(x, steps=7, rule="bptt")["out"], net.relax({"x": x}, steps=7).states["y"])
    rest = net.relax({"x": x}, tolerance=1e-3)
    out, relaxed = net(x, tolerance=1e-3, relaxed=True)
    torch.testing.assert_close(out["out"], rest.states["y"])
    assert relaxed.steps.tolist() == rest.steps.tolist() and relaxed.residual.max() <= 1e-3
    again, relaxed = net(x, states=rest.states, relaxed=True)
    assert int(relaxed.steps.max()) < int(net.relax({"x": x}).steps.max())
    torch.testing.assert_close(again["out"], net(x)["out"], rtol=1e-8, atol=1e-9)
    assert not relaxed.states["y"].requires_grad and again["out"].requires_grad


def test_what_starts_from_given_states_takes_them_for_constants() -> None:
    """By autograd through the same steps, written here."""
    spec = SPEC.replace("energy e", "start z[j] = c[j]\nenergy e")
    net, x = loaded(spec), inputs().requires_grad_()
    start = {name: torch.full((5, size), 0.3, dtype=torch.float64) for name, size in (("z", 3), ("y", 2))}
    out = net(x, rule="bptt", steps=3, states=start)["out"]
    found = torch.autograd.grad(out.square().sum(), [x, net.c, net.W, net.V])
    z, y = start["z"], start["y"]
    for _ in range(3):
        force_z = -z + net.c + (x @ net.W) * (1 - z.tanh() ** 2) + y @ net.V.T
        z, y = z + 0.5 * force_z, y + 0.5 * (-y + z @ net.V)
    expected = torch.autograd.grad(y.square().sum(), [x, net.c, net.W, net.V])
    for one, other in zip(found, expected, strict=False):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_a_network_of_layers_is_called_alike() -> None:
    net, x = loaded(LAYERS), inputs()
    out, relaxed = net(x, relaxed=True)
    torch.testing.assert_close(out["out"], net({"x": x})["out"])
    assert set(relaxed.states) == {"settle.z"} and relaxed.residual.max() <= 1e-10
    assert net(x, steps=3, relaxed=True)[1].steps.tolist() == [3] * 5


# -------------------------------------------------------------------- one derivative


@pytest.mark.abridged
@pytest.mark.parametrize("target", ["torch", "cpp"])
@pytest.mark.parametrize("rule", ["implicit", "bptt"])
@pytest.mark.parametrize("spec", [SPEC, LAYERS], ids=["plain", "layers"])
def test_a_second_derivative_is_an_error(spec: str, rule: str, target: str) -> None:
    net, x = loaded(spec, target=target), inputs().requires_grad_()
    weights = next(iter(net.parameters()))
    for loss, by in ((lambda out: out.sum(), x), (lambda out: out.square().sum(), weights)):
        (slope,) = torch.autograd.grad(loss(net(x, rule=rule)["out"]), by, create_graph=True)
        with pytest.raises(RuntimeError, match=r"is differentiated once: .*no double backward"):
            torch.autograd.grad(slope.square().sum(), by, allow_unused=True)
        (slope,) = torch.autograd.grad(loss(net(x, rule=rule)["out"]), by, create_graph=True)
        with pytest.raises(RuntimeError, match="is differentiated once"):
            (x.sum() + slope.square().sum()).backward()


def test_a_second_derivative_by_what_the_gradient_is_multiplied_with_is_an_error() -> None:
    net, x = loaded(), inputs()
    weight = torch.ones((), dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad((weight * net(x)["out"]).sum(), net.W, create_graph=True)
    with pytest.raises(RuntimeError, match="is differentiated once"):
        slope.sum().backward()


def test_a_gradient_kept_as_a_graph_has_the_right_value_and_can_be_detached() -> None:
    net, x = loaded(), inputs().requires_grad_()
    (plain,) = torch.autograd.grad(net(x)["out"].sum(), x)
    (kept,) = torch.autograd.grad(net(x)["out"].sum(), x, create_graph=True)
    torch.testing.assert_close(kept, plain, rtol=0, atol=0)
    (x * kept.detach()).sum().backward()
    torch.testing.assert_close(x.grad, plain)


def test_params_changed_between_a_call_and_its_gradient_are_an_error() -> None:
    net, x = loaded(), inputs()
    loss = net(x)["out"].sum()
    with torch.no_grad():
        net.W.add_(0.1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


# -------------------------------------------------------------------- the warning


def test_what_is_rounded_warns_at_the_call() -> None:
    net = loaded().to(torch.float32)
    with pytest.warns(RuntimeWarning, match="rounds what is given of") as caught:
        net(inputs().double())
    assert caught[0].filename == __file__


def test_a_network_that_does_not_settle_warns_once_by_a_class_of_its_own() -> None:
    net, x = loaded(), inputs()
    with pytest.warns(
        energyc.NotSettledWarning, match=r"cell did not settle.*exactly 2 steps are made.*5 of 5 samples"
    ) as caught:
        net(x, steps=2)
    assert caught[0].filename == __file__, "the warning points at the call"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net(x, steps=2)
        loaded()(x)
    with pytest.warns(energyc.NotSettledWarning, match="the tolerance = 1e-13 is not reached"):
        torch.nn.Sequential(loaded(settings={"relax.max_steps": 20, "relax.steps": 10}))[0](x, tolerance=1e-13)


def test_the_warning_is_silenced_by_its_class() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", energyc.NotSettledWarning)
        loaded()(inputs(), steps=2)


@pytest.mark.filterwarnings("error")
def test_steps_that_are_differentiated_through_do_not_warn() -> None:
    loaded()(inputs(), steps=2, rule="bptt")


# -------------------------------------------------------------------- mistakes

MISTAKES: dict[str, tuple[Any, str]] = {
    "nothing": (lambda n, x: n(), "no value for clamp 'x'"),
    "None in a dict": (lambda n, x: n({"x": None}), "x is NoneType, which makes no tensor of numbers"),
    "a word": (lambda n, x: n("x"), "x is str, which makes no tensor of numbers"),
    "a ragged list": (lambda n, x: n([[1.0], [1.0, 2.0]]), "x is list, which makes no tensor of numbers"),
    "objects": (lambda n, x: n(np.array([object()])), "x is ndarray, which makes no tensor of numbers"),
    "another clamp": (lambda n, x: n({"q": x}), "no value for clamp 'x'"),
    "one clamp too many": (lambda n, x: n({"x": x, "q": x}), "there is no clamp 'q'; the clamps are x"),
    "an unknown keyword": (lambda n, x: n(x, stepz=3), "there is no clamp 'stepz'"),
    "twice": (lambda n, x: n({"x": x}, x=x), "'x' is given twice"),
    "a sample without a batch": (lambda n, x: n(x[0]), r"it takes \[batch, 4\]; a batch of one sample has"),
    "another shape": (lambda n, x: n(x[:, :2]), r"x has shape \(5, 2\); it takes \[batch, 4\]"),
    "a number": (lambda n, x: n(1.0), r"x has shape \(\); it takes \[batch, 4\]"),
    "no sample": (lambda n, x: n(x[:0]), "x holds no sample"),
    "complex": (lambda n, x: n(x + 1j), "x holds real numbers; torch.complex128 does not fit"),
    "sparse": (lambda n, x: n(x.to_sparse()), "x is a sparse tensor; give x.to_dense"),
    "nan": (
        lambda n, x: n(x.where(x != x[2, 1], torch.nan)),
        r"x holds 1 of 20 .* not finite in float64; the first is nan in sample 2 at \[1\]",
    ),
    "infinite": (lambda n, x: n.relax({"x": x / 0}), "x holds 20 of 20 numbers that are not finite in"),
    "too large for float32": (lambda n, x: n.float()(x * 1e300), "x holds 20 of 20 .*not finite"),
    "relax: a tensor": (
        lambda n, x: n.relax(x),
        r"clamps are given as a dict of tensors by name, \{\"x\": ...\}; not Tensor",
    ),
    "relax: None": (lambda n, x: n.relax(None), "clamps are given as a dict .*nothing was given"),
    "relax: a list": (lambda n, x: n.relax([x]), "not list"),
    "steps": (lambda n, x: n(x, steps=-1), "steps is 0 or more"),
    "steps: half": (lambda n, x: n(x, steps=2.5), "steps is 0 or more, a whole number, not 2.5"),
    "steps: a word": (lambda n, x: n(x, steps="many"), "steps is 0 or more, a whole number, not 'many'"),
    "steps: yes": (lambda n, x: n(x, steps=True), "steps is 0 or more, a whole number, not True"),
    "step": (lambda n, x: n(x, step=0), "step is a number above 0"),
    "step: a word": (lambda n, x: n.relax({"x": x}, step="auto"), "step is a number, not 'auto'"),
    "tolerance": (lambda n, x: n(x, tolerance="1e-3"), "tolerance is a number, not '1e-3'"),
    "a rule": (lambda n, x: n(x, rule="ep"), "differentiated by implicit or bptt, not ep"),
    "no rule": (lambda n, x: n(x, rule=3), "differentiated by implicit or bptt, not 3"),
    "a second tensor": (lambda n, x: n(x, x), "not Tensor; of several clamps each is given by name"),
    "the only clamp twice": (lambda n, x: n(x, x=x), "cell has the clamps x, each given by name; nothing takes"),
    "states: a tensor": (lambda n, x: n(x, states=x), r"states are given as a dict of tensors by name, .*not Tensor"),
    "states: one": (lambda n, x: n(x, states={"z": x[:, :3]}), "no value for state 'y'"),
    "states: of others": (
        lambda n, x: n(x, states={"z": x[:2, :3], "y": x[:2, :2]}),
        "the inputs differ in their number of samples: 2 in z, 5 in x",
    ),
    "record": (lambda n, x: n.relax({"x": x}, record="enrgy"), "cannot record 'enrgy'"),
    "no targets": (lambda n, x: n.gradients({"x": x}, None), r"targets are given as a dict .* \{\"t\": ...\}; nothing"),
    "targets by another name": (lambda n, x: n.gradients({"x": x}, {"y": x[:, :2]}), "no value for target 't'"),
    "a target too many": (lambda n, x: n.gradients({"x": x}, {"t": x[:, :2], "q": x}), "there is no target 'q'"),
    "targets: a tensor": (lambda n, x: n.gradients({"x": x}, x[:, :2]), "targets are given as a dict"),
    "nan in targets": (
        lambda n, x: n.gradients({"x": x}, {"t": x[:, :2] / 0}),
        "t holds 10 of 10 numbers that are not",
    ),
    "fewer targets": (lambda n, x: n.gradients({"x": x}, {"t": x[:3, :2]}), "differ in their number of samples"),
    "unknown rule": (lambda n, x: n.gradients({"x": x}, {"t": x[:, :2]}, rule="backprop"), "holds no rule 'backprop'"),
    "beta": (lambda n, x: n.gradients({"x": x}, {"t": x[:, :2]}, beta="big"), "finite number other than 0, or 'auto'"),
    "beta 0": (lambda n, x: n.gradients({"x": x}, {"t": x[:, :2]}, beta=0), "the strength of a nudge"),
    "beta nan": (lambda n, x: n.gradients({"x": x}, {"t": x[:, :2]}, beta=float("nan")), "the strength of a nudge"),
    "beta: a list": (lambda n, x: n.gradients({"x": x}, {"t": x[:, :2]}, beta=[1]), r"is a number, not \[1\]"),
    "points": (lambda n, x: n.gradients({"x": x}, {"t": x[:, :2]}, points=1.5), "points is 1 or more"),
    "nudge_steps": (lambda n, x: n.gradients({"x": x}, {"t": x[:, :2]}, nudge_steps="all"), "nudge_steps is 1 or more"),
    "penalty": (lambda n, x: n.gradients({"x": x}, {"t": x[:, :2]}, penalty="x"), "penalty is a number, not 'x'"),
    "directions": (lambda n, x: n.gradients({"x": x}, {"t": x[:, :2]}, directions={}), "no value for state 'z'"),
    "no states": (lambda n, x: n.energy({}, {"x": x}), "no value for state"),
    "energy: states": (lambda n, x: n.energy(x, {"x": x}), "states are given as a dict"),
    "force: clamps": (lambda n, x: n.force(n.relax({"x": x}).states, x), "clamps are given as a dict"),
    "readout: Relaxed": (
        lambda n, x: n.readout(n.relax({"x": x}), {"x": x}),
        "states are given as a dict .*not Relaxed",
    ),
    "non_convergence": (lambda n, x: n.non_convergence(x), "clamps are given as a dict"),
}


@pytest.mark.abridged(every=7)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_call_is_one_clear_error(mistake: str) -> None:
    call, message = MISTAKES[mistake]
    with pytest.raises(ValueError, match=message) as caught:
        call(loaded(), inputs())
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_mistakes_with_several_clamps_and_with_integers() -> None:
    net, x = loaded(TWO), inputs()
    with pytest.raises(ValueError, match="cell has the clamps x, label: give a dict of tensors by name, or keywords"):
        net(x)
    with pytest.raises(ValueError, match=r"label holds integers; torch.float64 does not fit: give label.long\(\)"):
        net(x=x, label=torch.zeros(5, dtype=torch.float64))
    with pytest.raises(ValueError, match="label runs from 0 to 2; its dim has 0 to 1"):
        net(x=x, label=[0, 1, 2, 0, 1])
    with pytest.raises(ValueError, match="differ in their number of samples: 4 in label, 5 in x"):
        net(x, label=[0, 1, 1, 0])
    assert net(x, label=np.array([0, 1, 1, 0, 1], dtype=np.uint8))["out"].shape == (5, 2)


FREE = """
network free
dim N = 3
target t[N]
param b[N] ~ normal(1)
state s[N] in [-9, 9]
START
energy e = 1/2 * sum[n]((s[n] - b[n])^2)
readout r[n] = s[n]
cost c = sum[n]((s[n] - t[n])^2)
relax { step = 1/2, steps = 60, tolerance = 1e-12 }
nudge { beta = 1e-3, steps = 60 }
"""
FREE_LAYERS = """
network layered
dim D = 3
param b[D] ~ normal(1)
let drive[d] = 2 * b[d]
layer settle {
  state z[D]
  energy well = 1/2 * sum[d](z[d]^2) - 1/2 * sum[d](drive[d] * z[d])
  relax { step = 1/2, steps = 60, tolerance = 1e-12 }
}
readout r[d] = settle.z[d]
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["torch", "cpp"])
@pytest.mark.parametrize("start", ["", "start s[n] = 1", "start s[n] = b[n]"])
def test_where_nothing_is_clamped_one_sample_relaxes(start: str, target: str) -> None:
    net = loaded(FREE.replace("START", start), target=target)
    rest = net.params["b"].detach()[None]
    torch.testing.assert_close(net.relax({}).states["s"], rest, rtol=0, atol=1e-9)
    torch.testing.assert_close(net()["r"].detach(), rest, rtol=0, atol=1e-9)
    assert net.non_convergence({}) is None and net.unrest({}) is None
    with pytest.raises(ValueError, match="free has no clamps; nothing takes what is given without a name"):
        net(rest)
    goals = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    exact = 2 * (rest - goals).mean(0)
    for rule in ("centered-ep", "bptt", "implicit"):
        made = net.gradients({}, {"t": goals}, rule=rule)
        torch.testing.assert_close(made.params["b"], exact, rtol=0, atol=1e-5)
        assert made.cost.shape == (4,) and made.states["s"].shape == (4, 3)
    with pytest.raises(ValueError, match="differ in their number of samples: 2 in s, 4 in t"):
        net.gradients({}, {"t": goals}, states={"s": goals[:2]})


@pytest.mark.slow
def test_where_nothing_is_clamped_layers_relax_one_sample() -> None:
    net = loaded(FREE_LAYERS)
    rest = net.params["b"].detach()[None]
    torch.testing.assert_close(net.relax({}).states["settle.z"], rest, rtol=0, atol=1e-9)
    torch.testing.assert_close(net()["r"].detach(), rest, rtol=0, atol=1e-9)


LOADING: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown dim": ({"dims": {"Q": 3}}, "Q"),
    "a dim that is a word": ({"dims": {"J": "many"}}, "J"),
    "half a dim": ({"dims": {"J": 2.5}}, "J"),
    "no dim": ({"dims": {"J": 0}}, "J"),
    "dims: a list": ({"dims": ["J"]}, "dims"),
    "consts: a number": ({"consts": 3}, "consts"),
    "settings: a set": ({"settings": {"relax.step"}}, "settings"),
    "dims by number": ({"dims": {3: 4}}, "dims"),
    "an unknown setting": ({"settings": {"relax.stepp": 0.1}}, "stepp"),
    "an unknown block": ({"settings": {"rest.step": 0.1}}, "rest"),
    "a setting's value": ({"settings": {"relax.step": "fast"}}, "fast"),
    "a setting's type": ({"settings": {"relax.step": object()}}, "relax.step"),
    "an unknown preset": ({"preset": "tiny"}, "tiny"),
    "a preset that is not a name": ({"preset": 3}, "preset"),
    "an unknown target": ({"target": "numpy"}, "numpy"),
    "a target that is not a name": ({"target": ["torch"]}, "target"),
    "a device": ({"device": "gpu"}, "gpu"),
    "no device": ({"device": 3.5}, "3.5"),
    "a dtype": ({"dtype": "float46"}, "float46"),
    "an integer dtype": ({"dtype": "int32"}, "int32"),
    "no dtype": ({"dtype": 32}, "32"),
    "a seed": ({"seed": "0"}, "seed"),
    "a complex dtype": ({"dtype": torch.complex64}, "cannot be used: states and params are real"),
    "a huge seed": ({"seed": 10**30}, "the seed .* cannot be used"),
    "half a seed": ({"seed": 1.5}, "the seed .* cannot be used"),
    "a rule": ({"rules": ["backprop"]}, "backprop"),
    "a rule as a word": ({"rules": "backprop"}, "backprop"),
    "rules: a number": ({"rules": 3}, "rules"),
}


@pytest.mark.parametrize("mistake", LOADING)
def test_a_mistake_in_load_is_one_clear_error(mistake: str) -> None:
    options, name = LOADING[mistake]
    with pytest.raises((energyc.UserError, energyc.SpecError), match=name):
        energyc.load(SPEC, **options)


@pytest.mark.parametrize("spec", [None, 3, ["a.energy"], b"network x", "no-such.energy", "", Path("no-such.energy")])
def test_what_is_no_spec_is_one_clear_error(spec: Any) -> None:
    with pytest.raises(energyc.UserError, match=r"spec|file"):
        energyc.load(spec)
    with pytest.raises(energyc.UserError, match=r"spec|file"):
        energyc.check(spec)


def test_a_seed_of_numpy_is_a_seed() -> None:
    assert torch.equal(loaded(seed=np.int64(3)).params["W"], loaded(seed=3).params["W"])


def test_dtypes_are_understood_by_name() -> None:
    for dtype in ("float64", "torch.float64", np.float64, np.dtype("float64"), float, torch.float64):
        assert loaded(dtype=dtype).W.dtype == torch.float64
    assert loaded(dtype="bfloat16").W.dtype == torch.bfloat16
    assert loaded(dtype="float32", device=torch.device("cpu")).W.dtype == torch.float32


# -------------------------------------------------------------------- texts of errors


def test_an_error_in_a_spec_shows_all_places_with_caret_and_help() -> None:
    with pytest.raises(energyc.SpecError) as caught:
        energyc.load(SPEC.replace("tanh(z[j])", "tahn(z[j])").replace("readout out[k]", "readout out[j]"))
    text = str(caught.value)
    assert len(caught.value.diagnostics) == 2 and text.startswith("2 errors")
    assert "<text>:9:37" in text and "^^^^" in text and "= help: did you mean `tanh`" in text


def test_errors_survive_another_process() -> None:
    with pytest.raises(energyc.SpecError) as spec:
        energyc.load(SPEC.replace("tanh", "tahn"))
    with pytest.raises(energyc.UserError) as user:
        energyc.load(SPEC, device="gpu")
    for error in (spec.value, user.value):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
    assert '= help: use device="cpu"' in str(user.value)


# -------------------------------------------------------------------- reprs


def test_what_a_network_shows_of_itself() -> None:
    text = repr(loaded())
    assert text.startswith("Cell(\n  states: z [3], y [2]\n  clamps: x [4]\n  targets: t [2]\n  params (21): W [4, 3],")
    assert "conservative, torch, float64, on cpu" in text
    text = repr(torch.nn.Sequential(loaded(LAYERS)))
    assert "layers: settle" in text and "settle.z [3]" in text and "params (21)" in text
    assert "(0): Layered(" in text


def test_what_results_show_of_themselves() -> None:
    net, x = loaded(), inputs()
    rest = net.relax({"x": x}, steps=3, record="energy")
    assert repr(rest).startswith("Relaxed(5 samples: residual ") and "recorded: energy" in repr(rest)
    gradients = net.gradients({"x": x}, {"t": x[:, :2]})
    assert repr(gradients).startswith("Gradients(5 samples: cost ") and "W [4, 3] 0." in repr(gradients)
    assert "readouts: out [2]" in repr(net.answers(rest.states, {"x": x}, {"t": x[:, :2]}))
    layer, _ = loaded(LAYERS).layer("settle", {"x": x})
    assert "states: z [3]" in repr(layer) and "V [3, 3]" in repr(layer)
    assert "states: z [3]" in repr(loaded(LAYERS).layers["settle"])


def test_what_a_report_shows_of_itself() -> None:
    text = repr(energyc.check(SPEC))
    assert text.startswith("CheckReport(cell: conservative, 21 params\n  states: z [3], y [2]\n  terms: e conservative")
    assert "exact rules: " in text and "centered-ep" in text
    assert repr(energyc.check(LAYERS)).startswith("CheckReport(layered: conservative")
    assert repr(energyc.check(SPEC.replace("tanh", "tahn"))) == "CheckReport(<text>: 1 error)"


# -------------------------------------------------------------------- copies and pickles

FRESH = """
import pickle, sys, torch
net, rest, x = pickle.load(open(sys.argv[1], "rb"))
saved = torch.load(sys.argv[2], weights_only=False)
out = net(x)["out"]
assert torch.equal(out, saved(x)["out"])
torch.save({"out": out.detach(), "rest": rest.states["y"], "state": net.state_dict()}, sys.argv[3])
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", few(["torch", "cpp"], ["torch"]))
def test_a_network_is_pickled_in_one_process_and_used_in_another(target: str, tmp_path: Path) -> None:
    net, x = loaded(target=target), inputs()
    rest = net.relax({"x": x})
    with torch.no_grad():
        net.W.mul_(1.5)
    paths = [tmp_path / name for name in ("net.pkl", "net.pt", "out.pt")]
    paths[0].write_bytes(pickle.dumps((net, rest, x)))
    torch.save(net, paths[1])
    done = in_python(FRESH, *paths, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = torch.load(paths[2])
    torch.testing.assert_close(found["out"], net(x)["out"].detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(found["rest"], rest.states["y"], rtol=0, atol=0)
    other = loaded(target="torch")
    other.load_state_dict(found["state"])
    torch.testing.assert_close(other(x)["out"], net(x)["out"], rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_a_record_alone_survives_another_process(tmp_path: Path) -> None:
    path = tmp_path / "rest.pkl"
    path.write_bytes(pickle.dumps(loaded().relax({"x": inputs()})))
    script = "import pickle, sys; print(repr(pickle.load(open(sys.argv[1], 'rb'))))"
    done = in_python(script, path)
    assert done.stdout.startswith("Relaxed(5 samples"), done.stderr


@pytest.mark.parametrize("spec", [SPEC, LAYERS], ids=["plain", "layers"])
def test_a_deep_copy_is_a_network_of_its_own(spec: str) -> None:
    net, x = loaded(spec), inputs()
    twin = copy.deepcopy(net)
    assert type(twin) is type(net) and twin.source is net.source
    before = net(x)["out"].detach().clone()
    with torch.no_grad():
        next(iter(twin.parameters())).add_(1.0)
    torch.testing.assert_close(net(x)["out"], before, rtol=0, atol=0)
    assert not torch.equal(twin(x)["out"], before)
    assert {id(p) for p in twin.parameters()}.isdisjoint({id(p) for p in net.parameters()})


class Outputs(torch.utils.data.Dataset[torch.Tensor]):
    """Samples that a network makes, in the workers of a DataLoader."""

    def __init__(self, net: Any, x: torch.Tensor) -> None:
        self.net, self.x = net, x

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, number: int) -> torch.Tensor:
        with torch.no_grad():
            out: torch.Tensor = self.net(self.x[number : number + 1])["out"][0]
        return out


@pytest.mark.slow
def test_workers_of_a_data_loader_get_their_own() -> None:
    net, x = loaded(), inputs()
    loader = torch.utils.data.DataLoader(Outputs(net, x), batch_size=5, num_workers=1, multiprocessing_context="spawn")
    (found,) = loader
    torch.testing.assert_close(found, net(x)["out"].detach(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("text, value", [("1/8", 0.125), ("0.25", 0.25)])
def test_a_text_among_settings_is_read_as_in_a_spec(text: str, value: float) -> None:
    net = energyc.load(
        "hopfield", settings={"relax.step": text, "relax.solver": "anderson(memory = 3)"}, target="torch"
    )
    assert set(net.relax_step) == {value}
    with pytest.raises(energyc.SpecError, match=r"relax\.step"):
        energyc.load("hopfield", settings={"relax.step": "1/8 } network m {"})

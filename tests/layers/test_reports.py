"""The commands' reports on a network of layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import energyc
from energyc.language.diagnostics import Source, UserError
from energyc.pipeline import Choices, emit, instantiate, read, resolve
from energyc.running.runs.resolved import resolved_text
from energyc.runtime.rules import RULES
from energyc.studies.bench.step import bench
from energyc.studies.verify import verify
from energyc.surfaces.report.check import check_source
from energyc.surfaces.report.check_report import render_check
from energyc.surfaces.report.explain import LAYOUTS, explain
from energyc.surfaces.report.show import show
from tests.layers.judging import by_autograd, drawn
from tests.layers.test_one_layer import ONE, transcribed
from tests.layers.test_repeat import MANY, STREAM

SIMPLEX = ONE.replace("state z[D]", "state z[D] in simplex[D]").replace("steps = 300", "steps = 4")
TEXTS = {"one": ONE, "stream": STREAM, "many": MANY, "simplex": SIMPLEX}
EACH = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


def source(text: str) -> Source:
    return Source("spec.energy", "network test\n" + text)


def test_check_reports_each_layer_and_the_whole() -> None:
    report = check_source(source(STREAM))
    layer = report.layers["cell"]
    assert report.ok and report.params == 12 + 8 + 16 + 3 * (4 + 4)
    assert layer.copies == 3 and report.flops_per_step == 3 * layer.flops_per_step > 0
    json = report.to_json()
    assert json["class"] == "conservative" and json["states"].keys() == {"cell.z"}
    assert [term["name"] for term in json["terms"]] == ["cell.well", "cell.tied"]
    assert json["layers"]["cell"]["class"] == "conservative" and json["layers"]["cell"]["copies"] == 3
    exact = {rule for rule, verdict in json["rules"].items() if verdict["verdict"] == "exact"}
    barred = {"tbptt", "chl", "predictive-coding", "dual-propagation"}
    assert exact == RULES.keys() - barred
    assert {v["verdict"] for rule, v in json["rules"].items() if rule in barred} == {"inadmissible"}
    text = render_check(report)
    assert "layer cell, 3 copies" in text and "relax has no tolerance: exactly 4 steps" in text
    assert "exactly 100 steps" not in text


@EACH
def test_a_claim_names_the_layer_that_it_is_about(text: str) -> None:
    report = check_source(source(text))
    whole = {claim["about"] for claim in report.to_json()["claims"]}
    assert {name for name in whole if name.startswith("layer ")} == {f"layer {name}" for name in report.layers}
    for name, layer in report.layers.items():
        assert [c.about for c in layer.classes.claims if c.claim == "an equilibrium exists"] == [f"layer {name}"]


def test_layers_rest_together_where_each_does() -> None:
    def of_the_whole(text: str) -> list[str]:
        return [c.claim for c in check_source(source(text)).classes.claims if c.about == "the network"]

    assert of_the_whole(STREAM) == ["an equilibrium exists", "there is only one equilibrium"]
    assert of_the_whole(ONE) == []  # it says what is said of the only layer
    drifting = STREAM.replace("relax { step", "force away on z[d] = 2 * z[d]\n    relax { step")
    assert of_the_whole(drifting) == []


def test_a_network_is_what_its_worst_layer_is() -> None:
    text = ONE.replace("relax { step", "force turn on z[d] = sum[e](W[d,e] * z[e])\n  relax { step")
    assert check_source(source(text)).to_json()["class"] == "not-conservative"


@pytest.mark.abridged(every=3)
@EACH
@pytest.mark.parametrize("stage", ["tree", "network", "ir", "forces", "jacobian", "plan", "torch"])
def test_every_stage_can_be_shown(text: str, stage: str) -> None:
    shown = show(source(text), stage)
    layers = [line.split()[1] for line in text.split("\n") if line.strip().startswith("layer ")]
    assert layers and all(layer in shown for layer in layers)


@EACH
@pytest.mark.parametrize("form", LAYOUTS)
def test_it_can_be_explained(text: str, form: str) -> None:
    written = explain(resolve(source(text)), form)
    assert "The layer" in written and "Readouts, cost and metrics" in written


@pytest.mark.abridged
@EACH
def test_verify_compares_with_autograd(text: str) -> None:
    found = verify("network test\n" + text, rules=["bptt"]).fidelity
    bptt = found.rules["bptt"]
    assert found.passed and bptt.limit is not None and bptt.limit.relative_error < 1e-12
    assert bptt.configured is not None and bptt.configured.cosine > 0.999


def test_verify_compares_implicit_where_the_layers_rest() -> None:
    implicit = verify("network test\n" + ONE, rules=["implicit"]).fidelity.rules["implicit"]
    assert implicit.limit is not None and implicit.limit.relative_error < 1e-6


@pytest.mark.slow
def test_verify_measures_rules_that_nudge_in_each_copy() -> None:
    turned = STREAM.replace("relax { step", "force turn on z[d] = tanh(sum[e](S[e,d] * z[e]))\n    relax { step")
    found = verify("network test\n" + turned, rules=["centered-ep", "tracking-aep"]).fidelity
    exact, biased = found.rules["tracking-aep"], found.rules["centered-ep"]
    assert found.passed and exact.limit is not None and exact.limit.relative_error < 1e-7
    assert exact.law == "beta^2 (measured 2.00)" and biased.verdict == "biased"
    assert (
        list(exact.limit_layers) == list(exact.configured_layers) == ["around the layers", "cell 0", "cell 1", "cell 2"]
    )
    assert min(measure.cosine for measure in exact.limit_layers.values()) > 1 - 1e-9
    assert min(measure.cosine for measure in biased.limit_layers.values()) < 0.999
    assert found.to_json()["rules"]["tracking-aep"]["layers"]["cell 1"]["limit"]["cosine"] > 1 - 1e-9


def test_verify_compares_layers_that_number_their_steps_and_have_noise() -> None:
    sizes = {"M": 4, "F": 3, "D": 4, "H": 2, "Y": 3, "K": 5, "E": 2}
    found = verify("specs/et_graph.energy", Choices(None, sizes), rules=["bptt"]).fidelity
    bptt = found.rules["bptt"]
    assert found.passed and bptt.limit is not None and bptt.limit.relative_error < 1e-12


def test_a_wrong_adjoint_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    import energyc.studies.verify.verification as verification

    def broken(*arguments: object) -> object:
        net = instantiate(*arguments)  # type: ignore[arg-type]
        original = type(net.settle)._step_vjp
        if original.__name__ == "wrong":  # networks of the same text share their classes
            return net

        def wrong(self: Any, *given: Any, **more: Any) -> Any:
            back, slopes = original(self, *given, **more)
            return [None if part is None else -part for part in back], slopes

        monkeypatch.setattr(type(net.settle), "_step_vjp", wrong)
        return net

    monkeypatch.setattr(verification, "instantiate", broken)
    assert not verify("network test\n" + ONE, rules=["bptt"]).fidelity.rules["bptt"].passed


def test_a_step_of_the_whole_cannot_be_timed() -> None:
    with pytest.raises(UserError) as raised:
        bench(resolve(source(ONE)))
    assert raised.value.code == "E0924"


def test_what_only_a_layer_has_is_refused_in_one_sentence() -> None:
    net = energyc.load("network test\n" + ONE, dtype=torch.float64)
    clamps, targets = drawn(net)
    states = net.relax(clamps).states
    for ask in (net.energy, net.terms, net.force):
        with pytest.raises(ValueError, match="test has no"):
            ask(states, clamps)
    with pytest.raises(ValueError, match="relaxes layer by layer"):
        net.relax(clamps, record=("energy",))
    with pytest.raises(ValueError, match="tbptt is not defined on test: the last steps of a layer alone are not taken"):
        net.gradients(clamps, targets, rule="tbptt")
    with pytest.raises(ValueError, match="tbptt is not defined on test: the last steps of a layer alone are not taken"):
        net(clamps, rule="tbptt")
    with pytest.raises(ValueError, match="has no setting beta"):
        net.gradients(clamps, targets, beta=0.1)
    with pytest.raises(ValueError, match="no layer 'settle' with number 1; there are settle"):
        net.layer("settle", clamps, 1)


@pytest.mark.parametrize(
    ("rule", "why", "instead"),
    [
        ("tbptt", "last steps of a layer", "bptt"),
        ("chl", "clamped", "tracking-aep"),
        ("predictive-coding", "clamped", "tracking-aep"),
        ("dual-propagation", "predictions", "tracking-aep"),
    ],
)
def test_rules_that_are_not_of_one_layer_are_refused(rule: str, why: str, instead: str) -> None:
    with pytest.raises(UserError, match=why) as raised:
        emit(resolve(source(ONE)), [rule])
    assert raised.value.code == "E0920" and raised.value.help == f"use {instead}"


def test_the_default_rule_goes_through_the_layers() -> None:
    assert resolve(source(ONE)).train.trained_by == "bptt"
    net = energyc.load("network test\n" + ONE)
    assert net.rules[0] == "bptt"
    newton = ONE.replace("steps = 300 }", "steps = 9, solver = newton }")
    assert resolve(source(newton)).train.trained_by == "implicit"


def test_newtons_method_in_a_layer_rests_where_descent_does() -> None:
    plain = energyc.load("network test\n" + ONE, dtype=torch.float64)
    settings = {"settle.relax.solver": "newton", "settle.relax.steps": 20, "settle.relax.step": 1}
    net = energyc.load("network test\n" + ONE, dtype=torch.float64, settings=settings)
    assert net.rules[0] == "implicit" and "bptt" not in net.rules
    clamps, targets = drawn(net)
    expected = by_autograd(plain, transcribed, clamps, targets)[1]
    found = net.gradients(clamps, targets).params
    for name, slope in expected.items():
        torch.testing.assert_close(found[name], slope, rtol=0, atol=1e-9)


# -------------------------------------------------------------------- settings of layers


def test_settings_of_a_layer_come_from_the_spec_a_preset_and_outside() -> None:
    text = ONE + "preset quick { settle.relax.steps = 7, settle.relax.tolerance = 1e-3 }\n"
    steps = [
        resolve(source(text), choices).layers["settle"].network.relax.steps
        for choices in (Choices(), Choices("quick"), Choices("quick", {"settle.relax.steps": 3}))
    ]
    assert steps == [300, 7, 3]


@pytest.mark.parametrize(
    ("text", "preset", "overrides"),
    [
        (ONE, None, {"settle.relax.steps": 7}),
        (ONE, None, {"settle.relax.tolerance": 1e-4, "D": 5, "train.lr": 0.5}),
        (ONE + "preset p { settle.relax.steps = 2, train.steps = 9 }\n", "p", {}),
        (ONE.replace("  relax { step = 0.3, steps = 300 }\n", ""), None, {"settle.relax.steps": 4}),
        (STREAM, None, {"cell.relax.step": 0.05, "cell.relax.step.z": 0.01, "L": 2}),
    ],
)
def test_the_resolved_text_holds_the_settings_of_layers(
    text: str, preset: str | None, overrides: dict[str, object]
) -> None:
    choices = Choices(preset, overrides)
    expected = resolve(source(text), choices)
    written = resolve(Source("spec.energy", resolved_text(source(text), choices)))
    assert written.train == expected.train and written.extents == expected.extents
    for name, layer in expected.layers.items():
        assert written.layers[name].network.relax == layer.network.relax


def test_the_shipped_spec_reads_as_it_is_formatted() -> None:
    from energyc.language.syntax import format_spec

    spec = read(Path(__file__).parents[2] / "specs" / "cem.energy")
    assert format_spec(spec) == spec.text

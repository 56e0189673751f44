"""Objects in a notebook: ``_repr_html_`` and ``_repr_latex_``."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import energyc
from energyc.resources import resource
from energyc.surfaces.html.cards import run_html, run_latex
from tests.html.browser import opened
from tests.html.hostile import ATTACKS, SPEC, harmless, hostile
from tests.html.test_markup import read
from tests.quick import few

CLAMPS = {"x": torch.rand(5, 3, generator=torch.Generator().manual_seed(1))}
TARGETS = {"t": torch.rand(5, 2, generator=torch.Generator().manual_seed(2))}
ROWS: list[dict[str, Any]] = [
    {"step": 0, "kind": "eval", "cost": 2.0, "accuracy": 0.1, "residual": 0.0, "samples": 4},
    *({"step": k, "kind": "train", "cost": 2.0 / k} for k in range(1, 5)),
    {"step": 4, "kind": "eval", "cost": 0.5, "accuracy": 0.75, "residual": 0.0, "samples": 4},
]


@pytest.fixture(scope="module")
def net() -> Any:
    return energyc.load(SPEC)


def test_a_network_shows_its_equations_shapes_and_classes(net: Any) -> None:
    page = net._repr_html_()
    text = read(page).text
    assert "hostile" in text and "6 learnable numbers" in text and "centered-ep" in text
    assert page.count(">conservative<") == 3 and "[I = 3, J = 2]" in text
    assert page.count("<math") == 3 and 'class="diagram"' in page


def test_a_network_as_latex(net: Any) -> None:
    text = net._repr_latex_()
    assert text.startswith(r"$$\begin{aligned}") and text.endswith(r"\end{aligned}$$")
    assert r"E &= \mathrm{leak} + \mathrm{pull}" in text
    assert r"\mathrm{pull} &= -\sum_{i, j} x_{i}\, W_{i, j}\, s_{j}" in text


@pytest.mark.parametrize("name", few(["thick", "cem", "tel", "et_image"], ["thick", "tel"]))
def test_forces_flows_and_layers_are_shown(name: str) -> None:
    dims = {"thick": {"T": 4, "D": 8, "H": 2}}.get(name, {})
    made = energyc.load(resource("specs", f"{name}.energy"), dims=dims)
    text = read(made._repr_html_()).text
    report = energyc.check(resource("specs", f"{name}.energy")).to_json()
    for term in report["terms"]:
        assert term["name"].rpartition(".")[2] in text
    latex = made._repr_latex_()
    assert latex.count("{") == latex.count("}") and not re.search(r"_\{[^{}]*\}_\{", latex)


def test_a_relaxation_shows_how_it_ended_and_what_was_recorded(net: Any) -> None:
    plain = net.relax(CLAMPS)._repr_html_()
    assert "5 samples" in plain and "residual" in plain and "<svg" not in plain
    recorded = net.relax(CLAMPS, record=("energy", "residual"))
    page = recorded._repr_html_()
    assert page.count('<svg class="chart"') == 2 and "energy" in read(page).text
    assert r"\begin{array}" in recorded._repr_latex_()


def test_gradients_show_the_size_of_each(net: Any) -> None:
    gradients = net.gradients(CLAMPS, TARGETS)
    text = read(gradients._repr_html_()).text
    norm = float(gradients.params["W"].norm())
    assert "Gradients of 5 samples" in text and f"{norm:.4g}" in text
    assert r"\text{W}" in gradients._repr_latex_()


def test_an_empty_batch_and_one_sample_are_shown(net: Any) -> None:
    assert "1 sample" in net.relax({"x": torch.zeros(1, 3)})._repr_html_()


@pytest.mark.slow
def test_a_report_shows_classes_with_evidence() -> None:
    report = energyc.check(SPEC)
    text = read(report._repr_html_()).text
    assert "written as an energy" in text and "holomorphic-ep" in text and "operations a step" in text
    assert r"\text{pull}" in str(report._repr_latex_())
    layered = energyc.check(resource("specs", "cem.energy"))
    assert "attention." in layered._repr_html_()


def test_a_report_of_a_wrong_spec_shows_lines_and_carets() -> None:
    report = energyc.check(SPEC.replace("s[j]^2", "s[k]^2"))
    text = read(report._repr_html_()).text
    assert "error[E" in text and "^" in text and "6 |" in text.replace("7 |", "6 |")
    assert report._repr_latex_() is None


def test_a_run_shows_its_curves() -> None:
    page = run_html("a run", ROWS, total=8, best=4)
    text = read(page).text
    assert "4 of 8" in text and "0.75" in text and page.count("<svg") == 2
    assert "no cost yet" in run_html("a run", [], total=8)
    assert r"\text{accuracy} & \text{0.75}" in run_latex(ROWS)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_becomes_part_of_a_card(attack: str) -> None:
    assert harmless(energyc.load(hostile())._repr_html_())
    assert harmless(energyc.check(hostile())._repr_html_())
    assert harmless(energyc.check(hostile() + f'energy e = "{attack}"')._repr_html_())
    assert harmless(run_html(attack, [{**row, attack: 1.0} for row in ROWS], total=4, notes=[attack]))


def test_a_copy_shows_the_same_and_a_pickle_has_no_spec_in_it(net: Any) -> None:
    assert copy.deepcopy(net)._repr_html_() == net._repr_html_()
    small = len(pickle.dumps(net._origin_))
    assert small < 200


@pytest.mark.slow
@pytest.mark.parametrize("width", [1000, 380])
def test_a_browser_shows_the_cards(width: int, net: Any, tmp_path: Path) -> None:
    cards = [
        net._repr_html_(),
        net.relax(CLAMPS, record=("energy", "residual"))._repr_html_(),
        net.gradients(CLAMPS, TARGETS)._repr_html_(),
        energyc.check(SPEC)._repr_html_(),
        run_html("a run", ROWS, total=8, best=4),
    ]
    path = tmp_path / "cards.html"
    path.write_text('<!doctype html><meta charset="utf-8"><table><tr><td>a<td>b</table>' + "".join(cards))
    with opened(path, width) as found:
        assert found.fits()
        outside, inside = (
            found.page.locator(where).first.evaluate("cell => getComputedStyle(cell).borderBottomWidth")
            for where in ("body > table td", ".energyc td")
        )
        assert outside == "0px" and inside == "1px"  # a card's style reaches nothing else

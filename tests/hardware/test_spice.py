"""A netlist is the network: its currents are the forces, and ngspice finds the states at rest."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from energyc.language.diagnostics import SpecError, UserError
from energyc.pipeline import Choices
from energyc.studies.hardware import spice
from energyc.studies.hardware.problem import Judgement, Problem, Sample, problem
from tests.cli.run import UNTIED, energyc, written
from tests.hardware.networks import BOXES, ELEMENTS, ROOT, batched, drawn, random_states
from tests.hardware.nodal import leaving

needs_ngspice = pytest.mark.skipif(spice.find_ngspice() is None, reason="ngspice is not installed")
#: Agreement in volts that is asked of ngspice.
AGREEMENT = 1e-6

RESISTIVE = ROOT / "specs" / "resistive.energy"
HOPFIELD = ROOT / "specs" / "hopfield.energy"
DIODES = ROOT / "specs" / "zoo" / "diodes.energy"
NETWORKS = {
    "resistive": lambda: drawn(RESISTIVE, I=9, J=7, K=4),
    "hopfield": lambda: drawn(HOPFIELD, I=9, J=12, K=4),
    "diodes": lambda: drawn(DIODES, J=6),
    "boxes": lambda: drawn(BOXES),
    "elements": lambda: drawn(ELEMENTS),
}


def judgement(name: str) -> Judgement:
    """Of a network; its weights are drawn again where ngspice's own iteration finds no operating point."""
    for _ in range(4):
        network = NETWORKS[name]()
        try:
            return network.check(network.spice())
        except UserError as error:
            assert "found no operating point" in error.message
    raise AssertionError("ngspice finds no operating point for any of four draws")


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest) -> Problem:
    return NETWORKS[request.param]()


@pytest.mark.abridged
def test_the_current_that_leaves_a_node_is_minus_its_force(network: Problem) -> None:
    states = random_states(network, 5)
    nodes = network.circuit().nodes
    found = leaving(network.spice(), {node: states[name][place] for (name, place), node in nodes.items()})
    force = network.net.force(batched(states), batched(network.clamps))
    for (name, place), node in nodes.items():
        expected = -float(force[name][0][place])
        assert found[node] == pytest.approx(expected, rel=1e-9, abs=1e-10), node


@pytest.mark.abridged(every=3)
@needs_ngspice
@pytest.mark.parametrize("name", NETWORKS)
def test_ngspice_finds_the_states_at_rest(name: str) -> None:
    judged = judgement(name)
    assert judged.residual <= 1e-10
    assert judged.difference <= AGREEMENT, judged


@pytest.mark.parametrize("saturation", ["1/2", "1e-6"])
def test_a_diode_far_backwards_follows_shockley_s_law_too(saturation: str) -> None:
    """ngspice's own has a cubic there, which is 0.004 of the saturation current beside it."""
    given = problem(
        f"network b\ndim N = 5\nclamp x[N]\nstate v[N]\nfn d'(u) = {saturation} * (exp(u / 0.3) - 1)\n"
        "energy e = 1/2 * sum[i]((v[i] - x[i])^2) + sum[i](d(v[i] - 1) + d(-2*v[i] - 1)) + d(v[0] - v[1])\n"
        "relax { step = 0.02, steps = 500 }\n",
        clamps={"x": np.array([-1.0, 1.1, 0.3, -0.2, 0.9])},
    )
    text = given.spice()
    assert ("\nBD1 " in text) == (saturation == "1/2")
    states = random_states(given, 5, -1.0, 1.0)
    found = leaving(text, {node: states[name][place] for (name, place), node in given.circuit().nodes.items()})
    force = given.net.force(batched(states), batched(given.clamps))["v"][0]
    assert list(found.values()) == pytest.approx((-force).tolist(), abs=1e-7 if saturation == "1e-6" else 1e-10)
    if spice.find_ngspice() is not None:
        assert given.check(text).difference <= 1e-7


@needs_ngspice
def test_ngspice_sees_a_wrong_conductance() -> None:
    given = NETWORKS["resistive"]()
    text = given.spice()
    resistors = list(re.finditer(r"^R\d+ \S+ \S+ (\S+)$", text, re.MULTILINE))[:5]
    doubled = [r[0].replace(r[1], repr(float(r[1]) * 2)) for r in resistors]
    wrong = [text.replace(right[0], instead) for right, instead in zip(resistors, doubled, strict=True)]
    assert max(given.check(each).difference for each in wrong) > AGREEMENT


@needs_ngspice
@pytest.mark.slow
def test_ngspice_agrees_on_a_trained_network_of_more_than_100_nodes(tmp_path: Path) -> None:
    from energyc.surfaces.cli import main

    run = tmp_path / "run"
    train = ["train", str(RESISTIVE), "--steps", "60", "--set", "train.batch=16", "--out", str(run), "--quiet"]
    assert main(train) == 0
    for number in (0, 17):
        given = problem(run, sample=Sample(number))
        judged = given.check(given.spice())
        assert judged.nodes == 110
        assert judged.residual <= 1e-10
        assert judged.difference <= AGREEMENT, judged


def test_a_resistor_is_a_conductance_of_the_spec() -> None:
    given = NETWORKS["resistive"]()
    found = re.findall(r"^R\d+ source_2 v_3 (\S+)$", given.spice(), re.MULTILINE)
    assert [1 / float(value) for value in found] == pytest.approx([given.params["g1"][2, 3]], rel=1e-14)


def test_nodes_that_spice_cannot_tell_apart_have_names_of_their_own() -> None:
    nodes = [node.lower() for node in NETWORKS["elements"]().circuit().nodes.values()]
    assert len(set(nodes)) == len(nodes)
    taken = "network t\ndim N = 2\nstate bias[N] in [1/10, 1]\nstate bias_0_neg\n"
    text = taken + "energy e = 1/2 * (bias_0_neg + bias[0])^2 + sum[n]((bias[n] - 1/2)^2)\n"
    given = problem(text)
    wired = [line.split()[1] for line in given.spice().splitlines() if line and line[0] in "VE"]
    assert len({node.lower() for node in [*wired, *given.circuit().nodes.values()]}) == len(wired) + 3
    ground = problem("network g\nstate gnd\nenergy e = (gnd - 1)^2\n").spice()
    assert re.search(r"^R\d+ gnd_ 0 ", ground, re.MULTILINE)


def test_a_circuit_that_may_have_several_rests_begins_at_the_network_s() -> None:
    given = problem(
        "network b\ndim N = 2\nstate s[N] in [-1, 1]\nstart s[i] = 1/10\n"
        "energy e = sum[i](s[i]) / 100 - 3 * s[0] * s[1]\n"
    )
    assert not given.circuit().convex
    text = given.spice()
    assert ".nodeset v(s_0)=1.0" in text and ".nodeset v(s_1)=1.0" in text
    assert ".nodeset" not in NETWORKS["resistive"]().spice()


def test_a_network_that_runs_away_has_no_rest_to_begin_at_or_to_compare_with() -> None:
    given = problem("network b\ndim N = 2\nstate s[N]\nstart s[i] = 1/10\nenergy e = s[0] - 3 * s[0] * s[1]\n")
    text = given.spice()
    assert ".nodeset" not in text
    with pytest.raises(UserError, match="diverges") as caught:
        given.check(text)
    assert caught.value.code == "E0967"


def test_text_of_a_spec_is_comment_on_one_line() -> None:
    from energyc.studies.hardware.spice import netlist

    given = NETWORKS["boxes"]()
    lines = netlist(given.circuit(), ["a\n.control\nshell rm\r.endc"]).splitlines()
    assert lines[0] == "* a .control shell rm .endc"


HEAD = "network n\ndim N = 3\nclamp x[N]\nparam W[N, N] ~ normal(1)\nstate z[N]\ncost c = sum[n,m](W[n,m] * z[n])\n"
REFUSED = {
    "energy e = sum[n](z[n]^4)": "the energy e is of degree 4 in the states",
    "energy e = logsumexp[n](z[n])": "the energy e takes logsumexp of states",
    "energy e = sum[n](z[n] * tanh(z[n]))": "the energy e multiplies tanh of a state by a function of states",
    "energy e = sum[n](exp(z[n] * z[n]))": "the energy e takes exp of a product of states",
    "energy e = sum[n](exp(sum[m](W[n,m] * z[m])))": "the energy e takes exp of 3 voltages",
    "energy e = sum[n](gelu(z[n]))": "the energy e takes gelu, whose slope is not a function of SPICE",
    "energy e = sum[n](frozen(z[n]) * z[n])": "the energy e holds a state fixed",
    "force f on z[n] = x[n] - z[n]": "the force f is not written as the gradient of an energy",
    "flow z[n] = x[n] - z[n]": "the flow z is not written as the gradient of an energy",
}


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("line", REFUSED)
def test_what_no_circuit_carries_is_named(line: str) -> None:
    given = problem(HEAD + line + "\n", clamps={"x": np.zeros(3)})
    with pytest.raises(SpecError) as caught:
        given.circuit()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E0960"
    assert diagnostic.message.startswith(REFUSED[line])
    assert diagnostic.span is not None and diagnostic.help


def test_every_refusal_is_reported_at_once() -> None:
    text = (
        HEAD.replace("state z[N]", "state z[N] in sphere[N]") + "energy a = sum[n](z[n]^3)\nenergy b = max[n](z[n])\n"
    )
    with pytest.raises(SpecError) as caught:
        problem(text, clamps={"x": np.zeros(3)}).circuit()
    assert [d.code for d in caught.value.diagnostics] == ["E0961", "E0960", "E0960"]


def test_what_a_spec_s_data_do_not_have_is_named() -> None:
    with pytest.raises(UserError) as caught:
        problem(HOPFIELD, Choices(), sample=Sample(100_000))
    assert caught.value.code == "E0964"
    with pytest.raises(UserError) as caught:
        problem(BOXES, clamps={"x": np.zeros(2), "pick": np.zeros(2, int)})
    assert caught.value.message == "the clamps of one sample are x [3], pick [2]"


def test_numbers_that_are_not_finite_are_refused() -> None:
    text = "network n\nparam W ~ normal(1e200)\nstate z\nenergy e = W * W * z^2\n"
    with pytest.raises(UserError) as caught:
        problem(text).circuit()
    assert caught.value.code == "E0515"


def test_too_many_states_are_refused_at_once() -> None:
    text = "network n\ndim N = 20001\nstate z[N]\nenergy e = sum[n](z[n]^2)\n"
    with pytest.raises(UserError) as caught:
        problem(text).circuit()
    assert caught.value.code == "E0965"


def test_without_ngspice_the_check_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spice.shutil, "which", lambda name: None)
    given = NETWORKS["boxes"]()
    with pytest.raises(UserError) as caught:
        given.check(given.spice())
    assert caught.value.code == "E0966"


# ------------------------------------------------------------------ energyc export

Capture = pytest.CaptureFixture[str]


def test_ising_goes_to_a_file_or_to_standard_output(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path)
    out = tmp_path / "deep" / "problem.json"
    done = energyc(capfd, "export", path, "--to", "ising", "--sample", 3, "-o", out)
    assert (done.status, done.out.strip()) == (0, str(out))
    stored = json.loads(out.read_text())
    shown = energyc(capfd, "export", path, "--to", "ising", "--sample", 3).json
    assert stored == shown and len(shown["h"]) == 16 and "sample 3 of the test split" in shown["sample"]
    other = energyc(capfd, "export", path, "--to", "ising", "--sample", 4).json
    assert other["J"]["row"] == shown["J"]["row"] and other["h"] != shown["h"]
    energyc(capfd, "export", path, "--to", "ising", "-o", tmp_path / "problem.coo")
    assert (tmp_path / "problem.coo").read_text().startswith("# vartype=SPIN\n")


@pytest.mark.slow
def test_a_run_is_exported_with_its_trained_weights(tmp_path: Path, capfd: Capture) -> None:
    path, run = written(tmp_path), tmp_path / "run"
    assert energyc(capfd, "train", path, "--steps", 2, "--out", run).status == 0
    trained = energyc(capfd, "export", run, "--to", "spice")
    assert trained.status == 0 and "the run run after 2 updates, sample 0 of the test split" in trained.out
    first = energyc(capfd, "export", path, "--to", "spice", "--format", "json").json["netlist"]
    assert trained.out.splitlines()[3:] != first.splitlines()[3:]


@needs_ngspice
def test_check_lets_ngspice_judge(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = written(tmp_path), tmp_path / "a.cir"
    done = energyc(capfd, "export", path, "--to", "spice", "--check", "-o", out)
    assert done.status == 0 and "differ by" in done.err and out.exists()
    checked = energyc(capfd, "export", path, "--to", "spice", "--check", "--format", "json").json["check"]
    assert checked["passed"] and checked["nodes"] == 16 and checked["difference"] <= 1e-6
    monkeypatch.setattr("energyc.studies.hardware.problem.AGREEMENT", 0.0)
    assert energyc(capfd, "export", path, "--to", "spice", "--check").status == 4


def test_what_cannot_be_exported_is_shown_in_the_spec(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, UNTIED, "untied")
    done = energyc(capfd, "export", path, "--to", "spice")
    assert done.status == 1 and "E0904" in done.err  # nothing feeds its clamp
    text = UNTIED.replace("dim D = 4, F = 3\nclamp x[D]\n", "dim D = 4, F = 3\n").replace("z[d] - x[d]", "z[d]")
    done = energyc(capfd, "export", written(tmp_path, text, "fed"), "--to", "spice")
    assert done.status == 1 and "error[E0960]: the force ffn is not written" in done.err and "force ffn on" in done.err
    found = energyc(capfd, "export", tmp_path / "fed.energy", "--to", "ising", "--format", "json").json
    assert {d["code"] for d in found["diagnostics"]} == {"E0962", "E0963"}


def test_wrong_usage(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path)
    assert energyc(capfd, "export", path).status == 2
    assert energyc(capfd, "export", path, "--to", "ising", "--check").status == 2
    assert "E0964" in energyc(capfd, "export", path, "--to", "ising", "--sample", 99999).err
    assert "E0511" in energyc(capfd, "export", tmp_path, "--to", "ising").err

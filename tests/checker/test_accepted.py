"""The checker accepts every proof of a class or a symmetry in the shipped specs and in the models of the tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from energyc.checker.judge import FORMAT, QUANTIFIERS, VERSION, judge
from energyc.surfaces.report.check import check
from tests.checker.proofs import (
    ENERGIES,
    FORCES,
    HALVES,
    MODELS,
    PLACES,
    ROOT,
    SHIPPED,
    answer,
    certified,
    path_of,
    text_of,
)
from tests.cli.run import energyc

#: Judges all files of a folder.
ALL = """
import json
from pathlib import Path
from energyc.checker.judge import judge
for path in sorted(Path().glob("*.json")):
    for answer in judge(json.loads(path.read_text()), path.with_suffix(".energy").read_text()):
        print(answer.verdict, path)
"""
QUICK = ("deep_hopfield", "hopfield", "kuramoto", "modern_hopfield", "predictive_coding", "resistive", "sphere")


def names() -> list[object]:
    return [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in (*SHIPPED, *MODELS)]


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("name", names())
def test_every_proof_is_accepted(name: str) -> None:
    text, file = text_of(name), certified(text_of(name))
    assert [answer for answer in judge(file, text) if answer.verdict != "yes"] == []
    assert file["uncertified"] == []
    report = check(path_of(name))
    assert report.classes is not None
    terms = {term.name.rpartition(".")[2] for term in report.classes.terms if term.evidence in ("gradient", "proof")}
    terms = {t.name.rpartition(".")[2] for t in report.classes.terms if t.verdict == "conservative"} & terms
    about = {name for entry in file["certificates"] for name in entry["statement"]["of"]}
    assert terms <= about


@pytest.mark.slow
def test_the_table_of_the_page_counts_the_claims() -> None:
    """Those that are proved of the specs that ship and of the models here, and those with a certificate."""
    proved, certificates = Counter[str](), Counter[str]()
    for name in (*SHIPPED, *MODELS):
        report, file = check(path_of(name)), certified(text_of(name))
        assert report.classes is not None
        proved.update(c.claim for c in report.classes.claims if c.verdict == "proved" and c.claim != "symmetric")
        certificates.update(entry["claim"].rpartition(": ")[2] for entry in file["claims"])
    page = (ROOT / "docs" / "certificates.md").read_text()
    rows = re.findall(r"^\| ([a-z ]+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert {(claim, int(all_), int(some)) for claim, all_, some in rows} == {
        (claim, count, certificates[claim]) for claim, count in proved.items()
    }


@pytest.mark.abridged
@pytest.mark.parametrize("text", [FORCES, ENERGIES, HALVES, PLACES], ids=["forces", "energies", "halves", "places"])
def test_written_for_the_tests(text: str) -> None:
    file = certified(text)
    assert [each["claim"] for each in file["uncertified"]] == []
    assert file["certificates"]


#: Slopes of energies, with selections inside of functions, and whether they are right.
SELECTED = {
    "where(a + 1 <= 1, exp(a), exp(a))": ("-where(2*a > 0, exp(where(a > 0, a, 0)), exp(where(a <= 0, a, 0)))", True),
    "where(a > 3, exp(a), sin(a))": ("-where(a > 3, exp(where(a > 3, a, 0)), cos(where(a <= 3, a, 0)))", True),
    "exp(a) + 0*a": ("-where(a > 0, exp(where(a > 0, a, 0)), exp(where(a <= 0, 0, a)))", False),
    "relu(a)": ("-where(relu(a) > 0, 1, 0)", True),
    "where(relu(a) > 0, 0, cos(a))": ("sin(a) * (1 - relu'(relu(a)))", True),
    "where(relu(a) > 0, 0, exp(a))": ("-exp(a) * (1 + relu'(relu(a))) / 2", False),
    "tanh(relu(a))": ("-where(a > 0, 1 - tanh(where(a > 0, a, 0))^2, 0)", True),
    "where(a > 3, exp(a), 0)": ("-where(a > 3, exp(where(a > 2, a, 1)), 0) - where(a > 3, 1, 0)", False),
    "where(a > 3, exp(a), 1)": ("-where(a > 3, exp(where(a < 3, a, 0)), 0)", False),
}


@pytest.mark.parametrize("energy", SELECTED)
def test_selections_inside_of_functions_are_judged_by_each_side(energy: str) -> None:
    force, right = SELECTED[energy]
    statement = {"kind": "gradient", "of": ["e"], "by": ["a"], "layer": None, "sizes": {}, "for": QUANTIFIERS}
    entry = {"claim": "e", "statement": statement, "formulas": {"energy e": energy}}
    text = f"network n\nstate a\nenergy e = {energy}\n"
    found = answer({**entry, "steps": [{"rule": "slope", "force": "a", "is": force}]}, text)
    assert (found.verdict == "yes") == right, found


def answers_under(seed: int, folder: Path) -> str:
    """What a process of its own answers to all files of a folder."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", ALL], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "some", [QUICK, pytest.param((*SHIPPED, *MODELS), marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_the_answers_do_not_depend_on_the_order_of_hashes(some: tuple[str, ...], tmp_path: Path) -> None:
    texts = {"forces": FORCES, "energies": ENERGIES, "halves": HALVES, **{name: text_of(name) for name in some}}
    for name, text in texts.items():
        (tmp_path / f"{name}.energy").write_text(text)
        (tmp_path / f"{name}.json").write_text(json.dumps(certified(text)))
    (tmp_path / "other.energy").write_text(FORCES.replace("y[e]^3", "y[e]^3 + 1e-12 * x[0]"))
    (tmp_path / "other.json").write_text(json.dumps(certified(FORCES)))
    first, *others = (answers_under(seed, tmp_path) for seed in range(4))
    assert others == [first] * 3
    assert {verdict for verdict, name in map(str.split, first.splitlines()) if name != "other.json"} == {"yes"}
    assert "no other.json" in first


def test_check_writes_the_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    done = energyc(capfd, "check", path_of("modern_hopfield"), "--certificates", tmp_path / "proofs.json")
    assert done.status == 0, done.err
    file = json.loads((tmp_path / "proofs.json").read_text())
    assert file == certified(text_of("modern_hopfield"))
    assert file["uncertified"] == []
    assert {each["claim"] for each in file["claims"]} == {
        "confine + memory: bounded below",
        "the network: an equilibrium exists",
    }


def test_consts_set_from_outside_are_in_the_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "c.energy"
    spec.write_text(
        "network c\ndim D = 4\nconst p = 3\nstate z[D]\nenergy e = sum[d](z[d]^p)\nrelax { step = 0.1 }\n",
    )
    done = energyc(capfd, "check", spec, "--set", "p=4", "--certificates", tmp_path / "c.json")
    assert done.status == 0, done.err
    file = json.loads((tmp_path / "c.json").read_text())
    assert file["consts"] == {"p": "4"}
    assert [each.verdict for each in judge(file, spec.read_text())] == ["yes"] * 3
    assert [each.verdict for each in judge({**file, "consts": {}}, spec.read_text())] == ["no"] * 3
    assert [each.verdict for each in judge({**file, "consts": {"p": "4", "D": "1"}}, spec.read_text())] == ["no"] * 3


def test_the_example_of_the_page() -> None:
    (example, tree) = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "certificates.md").read_text(), re.DOTALL)
    text = "network page\ndim D = 4\nparam g[D] = 1\nstate z[D]\nenergy bend = -sum[d](g[d] * relu(z[d])^2)\n"
    assert answer(json.loads(example), text).verdict == "yes"
    text = "network page\ndim D = 4\nclamp x[D]\nstate z[D]\nenergy own = 1/2 * sum[d](z[d]^2)\n"
    assert answer(json.loads(tree), text + "energy pull = -sum[d](x[d] * z[d])\n").verdict == "yes"
    assert answer(json.loads(tree), text + "energy pull = -sum[d](x[d] * z[d]^2)\n").verdict == "no"


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("energy e = sum[d](median(z[d]) * z[d])", "the function median"),
        ("energy e = sum[d](softsign(z[d]))\nfn softsign(u) = u^2", "declared anew"),
    ],
)
def test_what_it_cannot_read_is_not_covered(written: str, reason: str) -> None:
    text = f"network page\ndim D = 4\nstate z[D]\n{written}\n"
    statement = {"kind": "gradient", "of": ["e"], "by": ["z"], "layer": None, "sizes": {}, "for": QUANTIFIERS}
    left, right = written.partition("\n")[0].split(" = ")
    steps = [{"rule": "slope", "force": "z[d]", "is": "0"}]
    entry = {"claim": "e", "statement": statement, "formulas": {left: right}, "steps": steps}
    found = answer(entry, text)
    assert found.verdict == "not covered"
    assert reason in found.reason


def test_another_format_is_not_covered() -> None:
    for version in (*range(1, VERSION), VERSION + 1):
        assert [each.verdict for each in judge({"format": FORMAT, "version": version}, "")] == ["not covered"]


@pytest.mark.parametrize(
    "condition",
    ["2*k + 1 >= K", "k >= K - 1", "k + 1 < K", "k == K - 1", "not (k >= 1 and k < K)", "k != 0", "K > 2*k"],
)
def test_a_condition_on_an_index_and_its_opposite_have_one_form(condition: str) -> None:
    text = f"network n\ndim K = 3\nstate z[K]\nenergy e = sum[k](where({condition}, z[k]^2, z[k]^4))\n"
    (entry,) = certified(text)["certificates"]
    assert answer(entry, text).verdict == "yes"

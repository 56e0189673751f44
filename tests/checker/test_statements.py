"""What the checker prints: the statement that it verified, or one sentence about a file that is none."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from energyc.checker.__main__ import main
from energyc.checker.judge import ON_SETS, QUANTIFIERS, judge
from energyc.checker.nodes import FOR
from tests.checker.proofs import HALVES, ROOT, Json, certified, text_of
from tests.checker.test_gate import ON_A_BOX

LABEL = "the network trains to 100 %"
SPEC = """network n
dim D = 3
const c = 2
param w[D] = 1 in [0, 1]
state z[D] in [-1, 1]
energy e = c * sum[d](z[d]^2) - sum[d](w[d] * z[d])
relax { step = 0.1 }
"""


def file_of() -> Json:
    """The file of certificates of SPEC, to change."""
    return copy.deepcopy(json.loads(json.dumps(certified(SPEC))))


def said(
    content: str | bytes, folder: Path, capsys: pytest.CaptureFixture[str], text: str = SPEC
) -> tuple[int, str, str]:
    """The status of the checker, and what it prints."""
    (folder / "proofs.json").write_bytes(content.encode() if isinstance(content, str) else content)
    (folder / "spec.energy").write_text(text)
    status = main([str(folder / "proofs.json"), str(folder / "spec.energy")])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


# -------------------------------------------------------------------- statements


def test_the_statement_is_printed_and_not_the_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = file_of()
    for entry in (*file["certificates"], *file["claims"]):
        entry["claim"] = f"x\nyes          {LABEL}"
    file["uncertified"] = [{"claim": f"\nyes          {LABEL}", "reason": LABEL}]
    status, out, err = said(json.dumps(file), tmp_path, capsys)
    assert (status, err) == (0, "")
    assert LABEL not in out
    assert out.splitlines()[:3] == [
        f"yes          e: minus the gradient by z[d] is -(2*c * z[d] - w[d]); for {QUANTIFIERS}",
        f"yes          e: bounded below, and takes its least value; for {FOR['floor']}",
        f"yes          an equilibrium of plain steps exists; for {FOR['rest']}",
    ]
    assert out.splitlines()[-1] == "uncertified  1 proofs of the compiler, not verified here"


@pytest.mark.parametrize("left", ["z[d rule ]", "z[ d]", "z[]", "z[1]"])
def test_an_index_is_a_name(left: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = file_of()
    file["certificates"][0]["steps"][0]["force"] = left
    status, out, err = said(json.dumps(file), tmp_path, capsys)
    assert status == 1 and not err
    assert f"certificates[0].steps[0].force is the text {left!r}, not a state at indices" in out


#: Specs of which a kind of statement is proved, and how it reads.
KINDS = {
    "a potential": (
        HALVES,
        "query + key: minus the gradient of the energy -sum[i](logsumexp[j | j <= i](s[i,j])) by z",
    ),
    "on sets": (ON_A_BOX, f" by z; for {ON_SETS}"),
    "the only equilibrium": (SPEC, f"there is exactly one equilibrium of plain steps; for {FOR['unique']}"),
    "a rate": (
        SPEC,
        "it converges: after a plain step of length 1/10 of z any two states are at most 3/5 times as far",
    ),
    "a contraction": (text_of("tel"), f" of y, all else held, is a contraction; for {FOR['contraction']}"),
    "proximal steps": (text_of("sparse_coding"), f"an equilibrium of proximal steps exists; for {FOR['rest']}"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_statement_reads_as_what_it_says(kind: str) -> None:
    text, words = KINDS[kind]
    statements = [answer.about for answer in judge(certified(text), text)]
    assert any(words in statement for statement in statements), statements


def test_consts_and_sizes_are_part_of_the_statement() -> None:
    """A rate under another const is another rate."""
    file = file_of()
    file["consts"] = {"c": "3"}
    file["certificates"][0]["statement"]["sizes"] = {"D": 7}
    first, *others, rate = judge(file, SPEC)
    assert first.about.endswith(f"for {QUANTIFIERS}; at D = 7 alone; with const c = 3")
    assert others and all(each.about.endswith("; with const c = 3") for each in others)
    assert (rate.verdict, rate.reason) == ("no", "the rule form: L is larger")


def test_a_layer_is_part_of_the_statement() -> None:
    text = "network n\ndim D = 3\nclamp x[D]\nlayer inner {\nstate z[D]\nenergy e = sum[d]((z[d] - x[d])^2)\n}\n"
    text += "readout r[d] = inner.z[d]\n"
    answers = judge(certified(text), text)
    assert answers and all(each.about.startswith("layer inner: ") for each in answers), answers


# -------------------------------------------------------------------- malformed files

Change = Callable[[Json], object]


def _at(*path: str | int, to: object) -> Change:
    def change(file: Json) -> None:
        place = file
        for key in path[:-1]:
            place = place[key]  # type: ignore[index]
        place[path[-1]] = to  # type: ignore[index]

    return change


#: Files that are none, and the sentence about each.
FILES: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "is not JSON"),
    "a list": ("[]", "is JSON, but not an object"),
    "twice": ('{"format": 1, "format": 2}', "an object has the field 'format' twice"),
    "NaN": ('{"version": NaN}', "NaN is not JSON"),
    "many digits": ('{"version": ' + "1" * 10_000 + "}", "is not JSON"),
    "nested": ("[" * 100_000, "is nested too deeply"),
    "nested objects": ('{"a":' * 100_000, "is nested too deeply"),
    "cut off": (json.dumps(file_of())[:300], "is not JSON"),
    "no UTF-8": (b'{"format": "\xff"}', "is not UTF-8 at byte 12"),
    "UTF-16": (json.dumps(file_of()).encode("utf-16"), "is not UTF-8 at byte 0"),
}
CHANGES: dict[str, tuple[Change, str]] = {
    "no certificates": (lambda file: file.update(certificates=[], claims=[]), "has no certificate, so that nothing"),
    "claims are an object": (_at("claims", to={}), "the file.claims is an object, not a list"),
    "claims are null": (_at("claims", to=None), "the file.claims is null, not a list"),
    "no claims": (lambda file: file.pop("claims"), "the file has no field claims"),
    "consts are a list": (_at("consts", to=[]), "the file.consts is a list, not an object"),
    "a const is a number": (_at("consts", to={"c": 3}), "the file.consts.c is a number, not a fraction"),
    "a const is huge": (_at("consts", to={"c": "1e999999999"}), "not a fraction such as '1/2'"),
    "a const by 0": (_at("consts", to={"c": "1/0"}), "not a fraction such as '1/2'"),
    "another field": (_at("more", to=1), "the file has a field 'more'"),
}
#: Changes of one entry, the reason of the answer to it, and whether it is no.
ENTRIES: dict[str, tuple[Change, str]] = {
    "a statement is null": (_at("statement", to=None), "certificates[0].statement is null, not an object"),
    "of is a text": (_at("statement", "of", to="e"), "certificates[0].statement.of is the text 'e', not a list"),
    "by has numbers": (_at("statement", "by", to=[1]), "certificates[0].statement.by[0] is a number, not a text"),
    "a kind is a list": (_at("statement", "kind", to=[]), "certificates[0].statement.kind is a list, not one of"),
    "sizes are null": (_at("statement", "sizes", to=None), "certificates[0].statement.sizes is null, not an object"),
    "a size is true": (_at("statement", "sizes", to={"D": True}), "sizes.D is true or false, not a whole number"),
    "a size is 0": (_at("statement", "sizes", to={"D": 0}), "a size is not above 0"),
    "a size of no dim": (_at("statement", "sizes", to={"Q": 3}), "gives Q a size, which is no dim of the spec"),
    "a size of a const": (_at("statement", "sizes", to={"c": 3}), "gives c a size, which is no dim of the spec"),
    "steps are an object": (_at("steps", to={}), "certificates[0].steps is an object, not a list"),
    "a step is another": (_at("steps", 0, "rule", to="magic"), "is the text 'magic', not one of slope, potential"),
    "a step has more": (_at("steps", 0, "more", to=1), "certificates[0].steps[0] has a field 'more'"),
    "no formulas": (lambda entry: entry.pop("formulas"), "certificates[0] has no field formulas"),
    "a name is unknown": (_at("statement", "of", to=["q"]), "the spec has no 'q' that it can be about"),
    "a layer is unknown": (_at("statement", "layer", to="q"), "the layer q"),
    "a force with words": (_at("steps", 0, "force", to=f"{LABEL} on z[d]"), "not a state at indices"),
    "an entry is a list": (lambda entry: entry.clear(), "certificates[0] has no field claim"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_none_is_one_sentence(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, sentence = FILES[name]
    status, out, err = said(content, tmp_path, capsys)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ") and sentence in err, err


@pytest.mark.parametrize("name", CHANGES)
def test_a_malformed_file_is_one_sentence(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, sentence = CHANGES[name]
    file = file_of()
    change(file)
    status, out, err = said(json.dumps(file), tmp_path, capsys)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ") and sentence in err, err


@pytest.mark.parametrize("name", ENTRIES)
def test_a_malformed_entry_is_refused_at_its_place(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, reason = ENTRIES[name]
    file = file_of()
    change(file["certificates"][0])
    status, out, err = said(json.dumps(file), tmp_path, capsys)
    assert (status, err) == (1, "")
    first, *others = out.splitlines()
    assert first.startswith(("no           certificates[0]: ", "not covered  certificates[0]: ")) and reason in first, (
        first
    )
    assert others and all(line.startswith("yes ") for line in others)


@pytest.mark.parametrize("name", ["zz", "D", "w", "e"])
def test_a_const_that_the_spec_does_not_have_is_refused(name: str) -> None:
    answers = judge({**file_of(), "consts": {name: "1"}}, SPEC)
    assert {answer.verdict for answer in answers} == {"no"}
    assert {answer.reason for answer in answers} == {f"the file sets {name}, which is no const of the spec"}


@pytest.mark.parametrize("power", ["((9^1000)^1000)^1000", "9" * 5000, "-" * 5000 + "1", "(" * 150 + "1" + ")" * 150])
def test_large_numbers_and_deep_formulas_are_not_covered(power: str) -> None:
    file = file_of()
    file["certificates"][0]["steps"][0]["is"] += f" + 0 * ({power})"
    first, *_ = judge(file, SPEC)
    assert first.verdict == ("yes" if power.startswith("(((") else "not covered"), first


def test_what_is_no_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, proofs = tmp_path / "spec.energy", tmp_path / "proofs.json"
    spec.write_text(SPEC)
    proofs.write_text(json.dumps(certified(SPEC)))
    os.mkfifo(tmp_path / "pipe")
    named = {
        "/dev/zero": "regular",
        str(tmp_path): "regular",
        str(tmp_path / "pipe"): "regular",
        "none": "No such file",
    }
    for arguments in [(name, str(spec)) for name in named] + [(str(proofs), name) for name in named]:
        assert main(arguments) == 2
        (name,) = {*arguments} & {*named}
        assert named[name] in capsys.readouterr().err
    assert main([str(proofs)]) == 2
    assert capsys.readouterr().err == "usage: python -m energyc.checker FILE SPEC\n"


def test_a_process_of_its_own_ends_with_the_status(tmp_path: Path) -> None:
    """With an encoding that has no sign for what a file may hold."""
    file = file_of()
    file["certificates"][0]["é\ud800"] = 1
    (tmp_path / "spec.energy").write_text(SPEC)
    (tmp_path / "proofs.json").write_text(json.dumps(file))
    environment = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "energyc.checker", "proofs.json", "spec.energy"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert "certificates[0] has a field " in done.stdout and "\\ud800" in done.stdout

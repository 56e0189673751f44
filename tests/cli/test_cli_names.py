"""The specs that ship, by name: in every command, listed, and copied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import energyc as package
from energyc.resources import shipped
from tests.cli.run import SMALL, energyc

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["hopfield", "kuramoto"])
def test_a_name_stands_for_the_path(name: str, capfd: Capture) -> None:
    named, given = (energyc(capfd, "check", spec, "--format", "json") for spec in (name, shipped()[name]))
    assert named.status == 0 and json.loads(named.out) == json.loads(given.out)


def test_load_takes_a_name() -> None:
    assert package.load("hopfield", target="torch", dims={"J": 4}).name == "hopfield"


def test_a_file_of_this_name_is_meant_where_there_is_one(capfd: Capture) -> None:
    Path("hopfield").write_text(SMALL)
    assert json.loads(energyc(capfd, "check", "hopfield", "--format", "json").out)["network"] == "small"


@pytest.mark.parametrize("command", ["check", "verify", "train"])
def test_a_name_that_is_almost_one(command: str, capfd: Capture) -> None:
    done = energyc(capfd, command, "hopfild")
    assert done.status == 1 and "did you mean hopfield, which ships with energyc?" in done.err


def test_no_name_can_be_formatted(capfd: Capture) -> None:
    before = shipped()["hopfield"].read_bytes()
    assert energyc(capfd, "fmt", "hopfield").status == 1
    assert shipped()["hopfield"].read_bytes() == before


def test_the_list_names_all(capfd: Capture) -> None:
    done = energyc(capfd, "list", "--format", "json")
    assert [entry["name"] for entry in json.loads(done.out)] == list(shipped())


def test_the_list_by_a_word(capfd: Capture) -> None:
    done = energyc(capfd, "list", "Kuramoto 1975")
    assert "\nkuramoto  Phase oscillators" in done.out and "energyc train kuramoto" in done.out
    assert "hopfield" not in done.out and "next: energyc check kuramoto" in done.err


@pytest.mark.parametrize("columns", [1, 40, 80, 200, None])
def test_the_list_has_two_parts_and_a_line_for_each_spec(
    columns: int | None, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", str(columns))
    done = energyc(capfd, "list")
    lines = done.out.splitlines()
    names = [line.split()[0] for line in lines if line and not line.startswith("The ")]
    assert names == list(shipped()) and len(lines) == len(names) + 5
    assert columns is None or max(map(len, lines)) <= max(columns, 40)
    assert any("..." in line for line in lines) == (columns in (1, 40, 80))
    zoo = next(k for k, line in enumerate(lines) if line.startswith("The zoo"))
    assert any(line.startswith("hopfield ") for line in lines[:zoo])
    assert any(line.startswith("kuramoto ") for line in lines[zoo:])
    assert "next: energyc list hopfield" in done.err and "energyc train" not in done.out


def test_the_list_goes_on_with_the_spec_that_was_named(capfd: Capture) -> None:
    done = energyc(capfd, "list", "hopfield")
    assert done.out.index("deep_hopfield") < done.out.index("\nhopfield ")
    assert done.err == "next: energyc check hopfield; energyc new mine --from hopfield\n"


def test_the_list_by_a_word_that_none_has(capfd: Capture) -> None:
    done = energyc(capfd, "list", "perceptron")
    assert done.status == 1 and "no spec that ships mentions perceptron" in done.err


@pytest.mark.parametrize("name", ["kuramoto", "et_graph"])
def test_a_copy_is_the_spec_under_another_name(name: str, capfd: Capture) -> None:
    assert energyc(capfd, "new", "mine", "--from", name).status == 0
    text = Path("mine.energy").read_text(encoding="utf-8")
    assert text == shipped()[name].read_text(encoding="utf-8").replace(f"network {name}", "network mine")
    assert energyc(capfd, "check", "mine.energy").status == 0


def test_a_copy_of_what_cannot_be_read(capfd: Capture) -> None:
    Path("broken.energy").write_text("network")
    assert energyc(capfd, "new", "mine", "--from", "broken.energy").status == 1
    assert not Path("mine.energy").exists()

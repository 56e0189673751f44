"""The reference set: the compiler agrees with it, so do the transcriptions by hand, and what disagrees is seen."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file

from benchmarks.reference import CASES, Disagreement, make
from energyc.language.diagnostics import UserError
from energyc.studies.verify.reference import SHIPPED, apart, hold, read_reference
from tests.cli.run import energyc
from tests.independent import ALL, Network

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "reference"
NAMES = sorted(path.stem for path in (ROOT / "specs").glob("*.energy"))
Capture = pytest.CaptureFixture[str]


def spec(name: str) -> Path:
    return ROOT / "specs" / f"{name}.energy"


def test_every_shipped_spec_has_a_reference_and_they_are_small() -> None:
    files = list(FOLDER.glob("*.safetensors"))
    assert sorted(path.stem for path in files) == NAMES == sorted(CASES)
    assert sum(path.stat().st_size for path in files) < 2_000_000


@pytest.mark.abridged
@pytest.mark.parametrize("name", NAMES)
def test_the_compiler_agrees(name: str) -> None:
    held = hold(spec(name), str(FOLDER))
    assert held.passed, [row for row in held.rows if not row.passed]
    assert {row.quantity.split(".")[0] for row in held.rows} >= {"gradient"}


@pytest.mark.parametrize("net", ALL, ids=lambda net: net.name)
def test_the_transcriptions_by_hand_agree(net: Network) -> None:
    reference = read_reference(FOLDER / f"{net.name}.safetensors")
    own = type(net)(**{name: reference.dims[name] for name in net.dims})
    params, clamps, states = (
        {name: torch.from_numpy(value) for name, value in reference.group(kind).items()}
        for kind in ("param", "clamp", "point.state")
    )
    for value in states.values():
        value.requires_grad_()
    terms = own.terms(params, states, clamps)
    expected = reference.tensors
    for name, value in terms.items():
        if name not in own.shifted:
            assert apart(f"point.term.{name}", value.detach().numpy(), expected) < 1e-9, name
    if not own.forces(params, states, clamps):
        slopes = torch.autograd.grad(sum(value.sum() for value in terms.values()), list(states.values()))
        for name, slope in zip(states, slopes, strict=True):
            assert apart(f"point.force.{name}", -slope.numpy(), expected) < 1e-9, name


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_how_it_came_about(name: str) -> None:
    with safe_open(FOLDER / f"{name}.safetensors", framework="numpy") as opened:
        about = json.loads(opened.metadata()["about"])
        dtypes = {opened.get_tensor(key).dtype for key in opened.keys()}  # noqa: SIM118
    assert dtypes <= {np.dtype("float64"), np.dtype("int64")}
    assert about["network"] == name and about["seed"] == 0
    assert about["kind"] == CASES[name].kind and about["checks"]["gradient, differences"] < 1e-6
    assert (about["residual"] is not None) == (about["kind"] == "rest")
    assert about["residual"] is None or about["residual"] <= 1e-11
    assert any(np.any(value) for value in read_reference(FOLDER / f"{name}.safetensors").group("gradient").values())


def altered(folder: Path, name: str, tensor: str, factor: float) -> Path:
    """A folder with one reference, one tensor of it times a factor."""
    path = FOLDER / f"{name}.safetensors"
    reference = read_reference(path)
    with safe_open(path, framework="numpy") as opened:
        metadata = opened.metadata()
    save_file({**reference.tensors, tensor: reference.tensors[tensor] * factor}, folder / path.name, metadata)
    return folder


@pytest.mark.parametrize("tensor", ["point.term.leak", "point.force.s", "rest.state.y", "rest.cost", "gradient.W1"])
def test_what_differs_is_named(tensor: str, tmp_path: Path, capfd: Capture) -> None:
    folder = altered(tmp_path, "hopfield", tensor, 1 + 1e-6)
    done = energyc(capfd, "verify", spec("hopfield"), "--reference", folder, "--format", "json")
    assert done.status == 4
    found = done.json
    assert not found["passed"] and [q for q, row in found["quantities"].items() if not row["passed"]] == [tensor]


def test_another_weight_is_seen(tmp_path: Path, capfd: Capture) -> None:
    folder = altered(tmp_path, "resistive", "param.g2", 1 + 1e-5)
    done = energyc(capfd, "verify", spec("resistive"), "--reference", folder)
    assert done.status == 4 and "differs in " in done.out


def test_verify_takes_the_installed_references(capfd: Capture) -> None:
    done = energyc(capfd, "verify", spec("deq"), "--reference", SHIPPED)
    assert done.status == 0, done.err
    assert "deq agrees in all" in done.out


def test_a_reference_that_cannot_be_used_is_named(tmp_path: Path, capfd: Capture) -> None:
    def said(*arguments: object) -> str:
        with pytest.raises(UserError) as caught:
            hold(*arguments)  # type: ignore[arg-type]
        assert caught.value.code == "E0968"
        return caught.value.message

    assert said(spec("hopfield"), str(tmp_path)).startswith("there is no reference")
    bad = tmp_path / "hopfield.safetensors"
    for text in (b"", b"\x08\x00\x00\x00\x00\x00\x00\x00{}", b"\xff" * 40):
        bad.write_bytes(text)
        assert "is not a reference: " in said(spec("hopfield"), str(tmp_path))
    bad.write_bytes((FOLDER / "deep_hopfield.safetensors").read_bytes())
    with pytest.raises(Exception, match=r"J1|params"):
        hold(spec("hopfield"), str(tmp_path))
    reference = read_reference(FOLDER / "hopfield.safetensors")
    with safe_open(FOLDER / "hopfield.safetensors", framework="numpy") as opened:
        metadata = opened.metadata()
    for tensor, reason in (("clamp.x", "no value for clamp 'x'"), ("target.label", "label"), ("point.state.s", "'s'")):
        save_file({name: value for name, value in reference.tensors.items() if name != tensor}, bad, metadata)
        assert reason in said(spec("hopfield"), str(tmp_path))
    text = spec("hopfield").read_text().replace("energy biases", "energy offsets")
    (tmp_path / "other.energy").write_text(text)
    assert "does not fit hopfield" in said(tmp_path / "other.energy", str(FOLDER))
    (tmp_path / "run.json").write_text("{}")
    assert energyc(capfd, "verify", tmp_path, "--reference", FOLDER).status == 2


def test_the_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["example.py"])
    runpy.run_path(str(FOLDER / "example.py"), run_name="__main__")


def test_two_computations_that_differ_make_no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    import benchmarks.reference as reference

    original = reference.results

    def wrong(*arguments: object) -> dict[str, np.ndarray]:
        found = original(*arguments)  # type: ignore[arg-type]
        return {**found, "gradient.W2": found["gradient.W2"] * (1 + 1e-7)}

    monkeypatch.setattr(reference, "results", wrong)
    with pytest.raises(Disagreement, match=r"gradient\.W2"):
        make("hopfield")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hopfield", "resistive", "thick", "et_graph", "tel"])
def test_made_anew_it_is_the_same(name: str) -> None:
    made, _ = make(name)
    stored = read_reference(FOLDER / f"{name}.safetensors")
    assert made.tensors.keys() == stored.tensors.keys()
    for key, value in made.tensors.items():
        assert apart(key, value, stored.tensors) < 1e-9, key

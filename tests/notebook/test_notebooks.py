"""The tutorials in ``notebooks/`` run from the first cell to the last."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    return pytest.importorskip("nbformat").read(path, as_version=4)


def executed(path: Path, folder: Path) -> Any:
    """The notebook with the output of each cell, run in a kernel of its own in an empty folder."""
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = read(path)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def printed(notebook: Any) -> str:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return "".join(output.get("text", "") for output in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_output(path: Path) -> None:
    notebook = read(path)
    for cell in notebook.cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None


def test_the_first_tutorial_has_ten_cells() -> None:
    (path,) = [path for path in NOTEBOOKS if path.stem == "from_an_energy_to_a_network"]
    assert len(read(path).cells) <= 10


@pytest.mark.slow
def test_from_an_energy_to_a_network(tmp_path: Path) -> None:
    (path,) = [path for path in NOTEBOOKS if path.stem == "from_an_energy_to_a_network"]
    notebook = executed(path, tmp_path)
    kinds = {kind for cell in notebook.cells for output in cell.get("outputs", ()) for kind in output.get("data", ())}
    assert {"text/html", "text/latex", "image/png"} <= kinds
    ep, torch_model = (int(share) for share in re.findall(r"(\d+)%", printed(notebook))[-2:])
    assert ep > 75 and torch_model > 75


@pytest.mark.slow
def test_proofs_and_learning_rules(tmp_path: Path) -> None:
    (path,) = [path for path in NOTEBOOKS if path.stem == "proofs_and_learning_rules"]
    text = printed(executed(path, tmp_path))
    measured, claimed = (re.findall(r"-?\d+\.\d{8}", line) for line in text.splitlines()[:2])
    assert [round(float(x), 6) for x in measured] == [round(float(x), 6) for x in claimed]
    assert "ffn: conservative (proof)" in text
    untied, tied = (
        dict(re.findall(r"'([\w-]+)': ([\d.]+)", line))
        for line in text.splitlines()
        if line.startswith(("untied", "tied"))
    )
    assert all(float(cosine) > 0.999 for cosine in tied.values())
    assert float(untied["vf"]) < 0.99 and float(untied["centered-ep"]) < 0.99
    assert all(float(untied[rule]) > 0.999 for rule in ("tracking-aep", "adjoint", "implicit"))


@pytest.mark.slow
def test_a_first_run_from_the_wheel(tmp_path: Path) -> None:
    (path,) = [path for path in NOTEBOOKS if path.stem == "first_run"]
    notebook = executed(path, tmp_path)
    text = printed(notebook)
    assert "conservative" in text and "network mine" in text, text
    assert any("image/png" in output.get("data", ()) for cell in notebook.cells for output in cell.get("outputs", ()))


@pytest.mark.slow
def test_in_jax(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    pytest.importorskip("optax")
    (path,) = [path for path in NOTEBOOKS if path.stem == "in_jax"]
    text = printed(executed(path, tmp_path))
    assert float(re.findall(r"([\d.]+)% of the held-out digits", text)[-1]) > 90, text
    assert float(text.split("the scores differ by ")[1]) < 1e-5, text


@pytest.mark.slow
def test_an_experiment_gives_the_numbers_of_its_commands(tmp_path: Path) -> None:
    (path,) = [path for path in NOTEBOOKS if path.stem == "an_experiment"]
    folders = [tmp_path / "notebook", tmp_path / "commands"]
    for folder in folders:
        folder.mkdir()
    executed(path, folders[0])
    chosen = ["hopfield", "--set", "J=32", "--set", "train.cosine_every=20", "--steps", "60", "--quiet"]
    sweep = ["--sweep", "train.lr.W1=0.05,0.5", "--out", "rates"]
    best = "rates/W1=0.5"
    for command in (
        ["train", *chosen, "--out", "experiment"],
        ["eval", "experiment", "--quiet"],
        ["verify", "experiment", "--quiet"],
        ["train", *chosen, *sweep],
        ["compare", "experiment", "rates/W1=0.05", best],
        ["export", best, "--to", "spice", "-o", "best.cir"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "energyc", *command], cwd=folders[1], capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
    for name in ("experiment/metrics.jsonl", f"{best}/metrics.jsonl", "best.cir"):
        notebook, commands = ((folder / name).read_text() for folder in folders)
        assert notebook == commands, name

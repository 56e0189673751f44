"""``energyc plot``: every kind of picture of a small Energy Transformer, and what is said where there is none."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from energyc.extras import install_extra
from tests.cli.run import energyc

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.pictures

SIZES = ["S=12", "D=8", "H=3", "Y=4", "K=10"]


def size(path: Path) -> tuple[int, int]:
    """The pixels of a PNG: width, height."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An Energy Transformer after two updates, with its pictures."""
    from energyc.surfaces.cli import main

    out = tmp_path_factory.mktemp("et") / "run"
    sizes = [word for pair in SIZES for word in ("--set", pair)]
    few = ["--set", "train.eval_samples=8", "--set", "train.batch=4", "--steps", "2"]
    assert (
        main(["train", "specs/et_image.energy", "--preset", "small", *sizes, *few, "--quiet", "--out", str(out)]) == 0
    )
    return out


@pytest.mark.slow
def test_training_draws_the_inside_of_the_network(run: Path) -> None:
    inside = [
        "energies",
        "states",
        "forces",
        "attention-att",
        "positions-pos",
        "memories-xi",
        "memories-W_q",
        "memories-W_k",
    ]
    names = {path.stem for path in (run / "pictures").iterdir()}
    assert {"learning", "health", "energy", "triples", "growing", *inside, "memories-W_enc"} == names
    for name in names:
        width, height = size(run / "pictures" / f"{name}.png")
        assert 300 <= width <= 4000 and 150 <= height <= 4000, (name, width, height)


@pytest.mark.slow
def test_chosen_heads_and_tokens(run: Path, capfd: Capture) -> None:
    """A row for each token, a column for each head, and one for the image."""
    whole = size(run / "pictures" / "attention-att.png")
    chosen = ["--sample", "3", "--head", "2", "--token", "0,1", "--token", "2,2"]
    done = energyc(capfd, "plot", run, "--kind", "attention", *chosen)
    assert done.status == 0 and done.out.split() == [str(run / "pictures" / "attention-att.png")]
    narrow = size(run / "pictures" / "attention-att.png")
    assert narrow[0] * 4 == whole[0] * 2 and narrow[1] * 4 == whole[1] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kind", "attention", "--head", "3"], "there is no head 3: there are 3, counted from 0"),
        (["--kind", "attention", "--token", "3,0"], "there is no token 3,0: they are on a grid of 3 x 3"),
        (["--kind", "attention", "--token", "1"], "there is no token 1: they are on a grid of 3 x 3"),
        (["--kind", "attention", "--sample", "9999"], "there is no test sample 9999: there are 512"),
    ],
)
def test_what_is_not_there(run: Path, capfd: Capture, arguments: list[str], said: str) -> None:
    done = energyc(capfd, "plot", run, *arguments)
    assert done.status == 1 and said in done.err and "E0530" in done.err


@pytest.mark.slow
def test_a_token_is_numbers(run: Path, capfd: Capture) -> None:
    done = energyc(capfd, "plot", run, "--token", "a,1")
    assert done.status == 2 and "'a,1' is not a place of a token" in done.err


@pytest.mark.slow
def test_what_has_no_meaning_is_said_in_a_line(tmp_path: Path, capfd: Capture) -> None:
    out = tmp_path / "run"
    sizes = ["--set", "C=6", "--set", "train.eval_samples=8", "--steps", "2"]
    assert energyc(capfd, "train", "specs/tel_digits.energy", *sizes, "--quiet", "--out", out).status == 0
    done = energyc(capfd, "plot", out, "--samples", "4")
    assert done.status == 0
    assert done.err.splitlines() == [
        "no images: no readout is an image like a clamp and a target",
        "no forces: no state moves along what is an image, or is mapped to one linearly",
        "no attention: no term has a softmax or logsumexp of the states",
        "no positions: no param has a vector for each place of a state",
        f"next: energyc view {out}",
    ]
    asked = energyc(capfd, "plot", out, "--kind", "positions", "--kind", "states")
    assert asked.status == 1 and asked.err.count("\n") == 1
    assert f"there is no picture of positions of {out}: no param has a vector" in asked.err
    found = energyc(capfd, "plot", out, "--format", "json").json
    assert found["without"].keys() == {"images", "forces", "attention", "positions"}
    assert {Path(path).stem for path in found["pictures"]} >= {"energies", "states", "memories-W"}


def test_of_several_seeds_one_is_to_be_named(tmp_path: Path, capfd: Capture) -> None:
    out = tmp_path / "many"
    few = ["--set", "C=4", "--set", "train.eval_samples=8", "--steps", "1", "--seeds", "2"]
    assert energyc(capfd, "train", "specs/tel_digits.energy", *few, "--quiet", "--out", out).status == 0
    assert energyc(capfd, "plot", out, "--kind", "curves").out.split() == [str(out / "pictures" / "seeds.png")]
    done = energyc(capfd, "plot", out, "--kind", "energies")
    assert done.status == 1 and "holds the runs of several seeds" in done.err and str(out / "seed-0") in done.err


@pytest.mark.slow
def test_without_matplotlib_one_message(run: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for kind in ("curves", "energies", "attention"):
        done = energyc(capfd, "plot", run, "--kind", kind)
        assert done.status == 1 and "pictures need matplotlib" in done.err, kind
        assert "-m pip install 'matplotlib>=3.8'" in done.err and "Traceback" not in done.err


def test_training_without_matplotlib_says_what_draws_pictures(
    tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    sizes = ("--set", "train.eval_samples=8", "--target", "torch")
    done = energyc(capfd, "train", "ising", "--steps", "1", *sizes, "--out", tmp_path / "run")
    assert done.status == 0
    assert f"no pictures: pictures need matplotlib, which is not installed; {install_extra('plots')}" in done.err


TWO = """network two
dim I = 64, J = 6, N = 5000, M = 3
data digits = digits(side = 8)
clamp x[I] = digits.image
param W[I, J] ~ normal(1/8), K[M, J], L[N, J] ~ normal(1/8)
state z[J]
start z[j] = sum[i](W[i,j] * x[i])
energy stay  = sum[j](z[j]^2)
energy few   = -logsumexp[m](sum[j](K[m,j] * z[j]))
energy pairs = -sum[m](logsumexp[n](sum[j](L[n,j] * K[m,j] * z[j])))
cost c = sum[j](z[j]^2)
relax { step = 1/4, steps = 3 }
train { rule = bptt, steps = 1, batch = 4, eval_samples = 4 }
"""


@pytest.mark.slow
def test_one_of_several_that_is_left_out_is_named(tmp_path: Path, capfd: Capture) -> None:
    spec = tmp_path / "two.energy"
    spec.write_text(TWO)
    assert energyc(capfd, "train", spec, "--quiet", "--out", tmp_path / "run").status == 0
    done = energyc(capfd, "plot", tmp_path / "run", "--kind", "attention")
    assert done.status == 0
    assert done.out.split() == [str(tmp_path / "run" / "pictures" / "attention-few.png")]
    assert done.err.splitlines() == [
        "the attention in pairs is of 3 x 5,000 weights, too many to be drawn",
        f"next: energyc view {tmp_path / 'run'}",
    ]

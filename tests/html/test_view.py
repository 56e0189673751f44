"""The page of ``energyc view``."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import energyc as front
from energyc.running.folder.checkpoints import load
from energyc.running.folder.layout import RunFolder
from energyc.running.folder.logs import read_relaxations
from energyc.running.runs.prepare import reopen
from energyc.running.runs.saved import load_run
from energyc.running.training.evaluation import SAMPLES
from energyc.running.training.feeds import Feed
from energyc.running.training.order import evenly_spread
from energyc.running.training.snapshot import restore
from energyc.surfaces.report.view import run_facts, view
from tests.cli.run import SMALL, energyc
from tests.html.browser import opened
from tests.html.hostile import ATTACKS, harmless
from tests.html.test_markup import read

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.pictures

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c626001000000ffff030000060005"
    "57bfabd40000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two short runs of one spec, and their pictures."""
    from energyc.surfaces.cli import main

    folder = tmp_path_factory.mktemp("runs")
    (folder / "small.energy").write_text(SMALL)
    for name, flags in (("one", []), ("two", ["--set", "J=4", "--set", "nudge.beta=1/4"])):
        out = ["--out", str(folder / name), "--steps", "6", "--set", "train.eval_every=2", "--quiet"]
        assert main(["train", str(folder / "small.energy"), *out, *flags]) == 0
        (folder / name / "pictures" / "memories.png").write_bytes(PIXEL)
    return folder


def drawn(run: Path) -> int:
    """How many pictures a run has."""
    return len(list((run / "pictures").glob("*.png")))


@pytest.mark.slow
def test_it_shows_all_of_a_run(made: Path) -> None:
    page = view([made / "one"])
    text = read(page).text
    for said in (
        "centered-ep",
        "6 of 6",
        "best accuracy",
        "share of samples that settled",
        "recorded at each evaluation",
    ):
        assert said in text
    assert "relax.tolerance" in text and "train.batch" in text and "conservative" in text
    assert 'data-updates="0,2,4,6"' in page and len(re.findall("data:image/png;base64,", page)) == drawn(made / "one")
    assert "in progress" not in text
    assert "http" not in re.sub(r"http://www\.w3\.org/\S+", "", page).replace("http-equiv", "")


@pytest.mark.slow
def test_the_command_makes_the_run_again(made: Path, capfd: Capture, tmp_path: Path) -> None:
    command = shlex.split(run_facts(load_run(made / "two")).command)
    assert energyc(capfd, *command[1:], "--out", tmp_path / "again").status == 0
    for name in ("metrics.jsonl", "relaxations.jsonl", "spec.energy"):
        assert (tmp_path / "again" / name).read_bytes() == (made / "two" / name).read_bytes()


def test_the_call_that_makes_a_run_on_data_of_a_program_again(tmp_path: Path) -> None:
    spec = tmp_path / "line.energy"
    spec.write_text(
        "network line\ndim I = 2\nclamp x[I]\nparam w[I] = 1\nstate z[I]\n"
        "energy e = 1/2 * sum[i]((z[i] - w[i] * x[i])^2)\ncost c = sum[i](z[i]^2)\nrelax { step = 1 }\n",
        encoding="utf-8",
    )
    rows = np.ones((8, 3), np.float32)
    first = front.train(
        spec, rows, dims={"I": 3}, settings={"train.lr": 0.5}, steps=2, target="torch", out=tmp_path / "run"
    )
    call = run_facts(load_run(first)).command
    assert "'I': " in call and "'train.lr': " in call
    again = eval(
        call.removesuffix(")") + ", target='torch', out=out)",
        {"energyc": front, "data": rows, "out": tmp_path / "again"},
    )
    assert again.rows == first.rows


@pytest.mark.slow
def test_what_is_recorded_is_how_the_network_relaxes(made: Path) -> None:
    """Beside the network of ``energyc.load``, at the weights of the last checkpoint, one step after the other."""
    prepared = reopen(made / "one")
    session = prepared.session(made / "one")
    batch = Feed(session.feeds, "test", "cpu", torch.float32).batch(
        evenly_spread(len(Feed(session.feeds, "test", "cpu", torch.float32)), SAMPLES), seed=0
    )
    net = front.load(made / "one", dtype=torch.float64)
    restore(net, load(RunFolder(made / "one").checkpoints, 6))
    clamps = {name: value.double() for name, value in batch.clamps.items()}
    row = read_relaxations(RunFolder(made / "one").relaxations)[-1]
    assert row["step"] == 6 and row["at"][0] == 0
    states = net.start(clamps)
    for place, step in enumerate(row["at"]):
        if place:
            states = net.relax(clamps, steps=step - row["at"][place - 1], states=states).states
        energy = [sample[place] for sample in row["energies"]]
        assert energy == pytest.approx(net.energy(states, clamps).tolist(), rel=1e-4, abs=1e-5)


@pytest.mark.slow
def test_two_runs_side_by_side(made: Path) -> None:
    page = view([made / "one", made / "two"])
    differing = re.findall(r'<tr class="differs"><td><code>([\w. ]+)</code></td><td>(.*?)</td><td>(.*?)</td>', page)
    assert differing == [("dim J", "6", "4"), ("nudge.beta", "0.5", "0.25")]
    assert "2 settings differ." in page and page.count('data-updates="0,2,4,6"') == 2


@pytest.mark.slow
def test_a_run_in_progress(made: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(made / "one", run)
    for name in ("metrics.jsonl", "relaxations.jsonl"):
        lines = (run / name).read_text().splitlines(keepends=True)
        (run / name).write_text("".join(lines[:3]) + lines[3][:20])
    shutil.rmtree(run / "checkpoints")
    shutil.rmtree(run / "pictures")
    text = read(view([run])).text
    assert "2 of 6" in text and "in progress" in text
    (run / "metrics.jsonl").write_text("")
    (run / "relaxations.jsonl").write_text("")
    assert "0 of 6" in read(view([run])).text


@pytest.mark.slow
def test_relaxations_of_a_run_that_recorded_none(made: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(made / "one", run)
    recorded = read_relaxations(RunFolder(run).relaxations)
    (run / "relaxations.jsonl").unlink()
    page = view([run])
    kept = sorted(int(path.name.removeprefix("step-")) for path in (run / "checkpoints").glob("step-*"))
    assert f'data-updates="{",".join(map(str, kept))}"' in page and "computed now from the checkpoints" in page
    assert recorded[-1]["step"] == kept[-1]
    shutil.rmtree(run / "checkpoints")
    assert "no relaxation" in view([run]) or 'data-updates=""' not in view([run])


@pytest.mark.slow
def test_a_spec_that_no_longer_resolves(made: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(made / "one", run)
    (run / "spec.energy").write_text("network nothing\n]")
    text = read(view([run])).text
    assert "its spec does not resolve here" in text and "train.batch" in text


def attacked(run: Path) -> None:
    """Put every attack into the files of a run."""
    spec = run / "spec.energy"
    spec.write_text("".join(f"# {attack}\n" for attack in ATTACKS) + spec.read_text())
    info = json.loads((run / "run.json").read_text())
    info |= {"spec": ATTACKS[1], "preset": ATTACKS[2], "versions": {ATTACKS[0]: ATTACKS[1]}}
    info |= {"overrides": {ATTACKS[0]: ATTACKS[1]}, "device": ATTACKS[2], "energyc": ATTACKS[3]}
    (run / "run.json").write_text(json.dumps(info))
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        row[ATTACKS[1]] = row["cost"]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run / "pictures" / '"><img src=x onerror="window.hacked = 1">.png').write_bytes(PIXEL)


@pytest.mark.slow
def test_no_file_of_a_run_becomes_part_of_the_page(made: Path, tmp_path: Path) -> None:
    run = tmp_path / "<img src=x onerror=hacked>"
    shutil.copytree(made / "one", run)
    attacked(run)
    page = view([run])
    assert harmless(page) and "<img src=x" not in page
    assert read(page).elements.count("script") == 1
    assert read(page).elements.count("img") == drawn(run)


@pytest.mark.slow
def test_the_command_writes_the_page(made: Path, capfd: Capture, tmp_path: Path) -> None:
    done = energyc(capfd, "view", made / "one", made / "two", "-o", tmp_path / "x.html", "--format", "json")
    assert done.status == 0 and done.json["page"] == str(tmp_path / "x.html")
    assert "settings differ" in (tmp_path / "x.html").read_text()
    assert "error[E0907]" in energyc(capfd, "view", made / "one", "-o", tmp_path / "x.pdf").err
    assert "error[E0511]" in energyc(capfd, "view", tmp_path).err
    assert energyc(capfd, "view", made / "one", made / "one", made / "one").status == 2
    assert energyc(capfd, "view", made / "one", "--quiet").out == f"{made / 'one' / 'view.html'}\n"


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 380])
@pytest.mark.parametrize("runs", [("one",), ("one", "two"), ("hostile", "two")], ids="-".join)
def test_a_browser_shows_it(runs: tuple[str, ...], width: int, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "one", tmp_path / "hostile")
    attacked(tmp_path / "hostile")
    path = tmp_path / "page.html"
    path.write_text(view([tmp_path / run if run == "hostile" else made / run for run in runs]))
    with opened(path, width) as found:
        page = found.page
        assert found.fits()
        assert page.evaluate("window.hacked") is None
        block = page.locator(".relaxations").first
        seen = set()
        for place, update in enumerate(("0", "2", "4", "6")):
            block.locator("input").fill(str(place))
            assert block.locator("output").inner_text() == update
            visible = block.locator("[data-group]:not([hidden]) path").evaluate_all("all => all.map(c => c.outerHTML)")
            assert len(visible) == 2 * (SAMPLES + 1)
            seen.add(tuple(visible))
        assert len(seen) == 4
        loaded = page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
        assert loaded

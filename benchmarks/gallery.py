"""The pictures of docs/gallery.md and the figures of `energyc list`: train each spec that ships briefly, and draw it.

    python -m benchmarks.gallery OUT             # what is not in OUT yet is trained there, on the data that ship
    python -m benchmarks.gallery OUT --only deq tel_digits

The runs show what the systems do inside; benchmarks/log/results.md says how well they do. The figures go into
specs/catalogue.json, and so do the class of each spec, its rule, its data and a remark; the table of the zoo is made
of it.
Needs ``energyc[all]``. About an hour on one core for all of them.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from PIL import Image

from energyc import pipeline
from energyc.resources import resource, shipped
from energyc.surfaces.cli import main as energyc
from energyc.surfaces.report.catalogue import Entry, catalogue

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
CATALOGUE = resource("specs", "catalogue.json")
PAGE = Path(__file__).parents[1] / "docs" / "gallery.md"
LARGEST = 60 * 1024  # bytes of a picture
WIDEST, COLOURS = 880, 256  # of a picture: pixels, colours
ROWS = re.compile(r"(?<=<!-- zoo -->\n).*(?=<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """How a system is trained for its figure and its picture, and which picture of ``energyc plot`` it is, if any.

    ``remark`` is what its row in the zoo says of the figure.
    """

    training: str
    picture: str = ""
    plot: str = ""
    remark: str = ""

    def command(self, spec: str) -> list[str]:
        """The arguments of ``energyc``."""
        return ["train", spec, *self.training.split()]


GALLERY: Mapping[str, Shown] = MappingProxyType(
    {
        "hopfield": Shown("--set train.epochs=4", "energies", "--kind energies --samples 8"),
        "modern_hopfield": Shown("--steps 300", "triples", "--kind images --samples 6"),
        "sparse_coding": Shown("--steps 120", "memories-W", "--kind memories --samples 48"),
        "deq": Shown("--set train.epochs=2", "energy", "--kind energy --samples 8"),
        "cet": Shown("--preset small --steps 200", "triples", "--kind images --samples 5"),
        "thick": Shown("--preset small", "attention-attention", "--kind attention --head 0 --head 1"),
        "thin": Shown("--preset small --steps 400", "energies", "--kind energies --samples 8"),
        "cet_lm": Shown("--preset small --steps 400", "energies", "--kind energies --samples 8"),
        "et_image": Shown("--preset small", "attention-att", "--kind attention --token 2,2 --token 6,6"),
        "et_anomaly": Shown("--steps 40 --set train.eval_every=5", "learning", "--kind curves"),
        "et_graph": Shown(
            "--set D=32 --set H=4 --set Y=16 --set K=64 --set train.folds=none --steps 60",
            "attention-block-1-att",
            "--kind attention --head 0 --head 1",
        ),
        "cem": Shown("--preset small --steps 80", "energies", "--kind energies --samples 8"),
        "tel_digits": Shown("--set train.epochs=20", "states", "--kind states --samples 16"),
    }
)
ERASED = "The damaged probe itself costs 0.25."
WITHOUT_FILES = "--set pictures.source=digits"
DIGITS_IN_COLOUR = "On digits in colour, so not comparable with figures on CIFAR-10."
WITH_MNIST = "For MNIST use `--data FOLDER --preset mnist` (docs/results.md)."
#: How specs without a picture are trained, and all others.
OTHERS: Mapping[str, Shown] = MappingProxyType(
    {
        "akorn": Shown(
            "--steps 300",
            remark="The vectors have their own frequencies and need not converge.",
        ),
        "conv_hopfield": Shown(f"{WITHOUT_FILES} --steps 200 --set train.eval_every=50", remark=DIGITS_IN_COLOUR),
        "conv_digits": Shown("--steps 150 --set train.eval_every=50", remark=WITH_MNIST),
        "coupled_learning": Shown(
            "--steps 300",
            remark="A least-squares fit of the same targets also has 0.8.",
        ),
        "crf": Shown(
            "--steps 300",
            remark="0.75 of the pixels are right initially, 0.79 if each takes its most frequent value.",
        ),
        "deep_energy": Shown("--steps 300", remark=ERASED),
        "deep_hopfield3": Shown("--steps 600", remark=WITH_MNIST),
        "graph_hopfield": Shown("--steps 100 --set train.eval_every=10", remark="90 % of the nodes are not anomalies."),
        "hierarchical_memory": Shown("--steps 300", remark=ERASED),
        "hopfield_conv": Shown(
            f"{WITHOUT_FILES} --set C1=16 --set C2=32 --steps 400 --set train.eval_every=200", remark=DIGITS_IN_COLOUR
        ),
        "hopfield_resnet": Shown(
            f"{WITHOUT_FILES} --set train.lr=5e-3 --set train.batch=8 --steps 400 --set train.eval_every=200",
            remark=DIGITS_IN_COLOUR,
        ),
        "kuramoto": Shown("--steps 300", remark="Chance is 0.1."),
        "rao_ballard": Shown("--steps 300", remark=ERASED),
        "resistive_digits": Shown("--set train.epochs=10", remark=WITH_MNIST),
        "thick_tied": Shown("--preset small --steps 400"),
        "cem_mlp": Shown("--set train.epochs=10"),
        "monotone": Shown("--set train.epochs=4"),
        **dict.fromkeys(
            ("attention_retrieval", "boltzmann", "convolution", "hard_sigmoid", "time_scales", "two_costs"),
            Shown("--steps 1500"),
        ),
    }
)
USUAL = Shown("--steps 300")
#: Specs whose clamps no data that ship feed.
UNMEASURED = ("cem_literal", "edges", "graph", "tel", "total_variation")


def small(path: Path) -> bytes:
    """The PNG of a picture of at most ``WIDEST`` pixels across, in few colours."""
    with Image.open(path) as image:
        picture = image.convert("RGB")
        if picture.width > WIDEST:
            height = round(picture.height * WIDEST / picture.width)
            picture = picture.resize((WIDEST, height), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        picture.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
            buffer, "PNG", optimize=True
        )
    if len(buffer.getvalue()) > LARGEST:
        raise SystemExit(f"{path} is {len(buffer.getvalue()):,} bytes, more than {LARGEST:,}")
    return buffer.getvalue()


def trained(name: str, run: Path) -> None:
    """Train a system into a folder unless that is done, and keep what ``train`` says beside it."""
    answer = run.with_suffix(".json")
    if not answer.exists():
        started = time.process_time()
        said = _answer([*shown(name).command(name), "--quiet", "--format", "json", "--out", str(run)])
        answer.write_text(json.dumps({**said, "processor": round(time.process_time() - started)}))


def draw(name: str, run: Path) -> Path:
    """Draw the picture of a run."""
    _run(["plot", str(run), "--quiet", *shown(name).plot.split()])
    path = PICTURES / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(small(run / "pictures" / f"{shown(name).picture}.png"))
    return path


def shown(name: str) -> Shown:
    """How a system is trained and drawn."""
    return GALLERY.get(name) or OTHERS.get(name, USUAL)


def facts(name: str, answer: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the catalogue says of a spec, with the figure of a run."""
    network = pipeline.resolve(pipeline.read(name))
    measured = None
    if answer is not None:
        metric = next((metric for metric in network.metrics if metric in answer["final"]), "cost")
        value = float(f"{answer['final'][metric]:.4g}")
        keys = {"updates": answer["steps"], "seconds": answer["processor"]}
        measured = {"train": shown(name).training, "metric": metric, "value": value, **keys}
    return {
        "about": network.description,
        "class": pipeline.classify(network).verdict,
        "rule": network.train.trained_by,
        "data": sorted({binding.adapter for binding in network.bindings.values()}),
        "measured": measured,
        "remark": shown(name).remark,
    }


def renew(name: str, found: Mapping[str, Any]) -> None:
    """Write the facts of a spec into the catalogue."""
    known = json.loads(CATALOGUE.read_text()) if CATALOGUE.exists() else {}
    known = {other: {**known, name: found}[other] for other in shipped() if other in {*known, name}}
    CATALOGUE.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def with_zoo(page: str) -> str:
    """The gallery with the table of the zoo, from the catalogue, between its marks."""
    rows = [_row(entry) for entry in catalogue() if entry.is_of_the_zoo]
    head = "| spec | model | class | rule | measured |\n|---|---|---|---|---|\n"
    return ROWS.sub((head + "".join(rows)).replace("\\", r"\\"), page)


def _row(entry: Entry) -> str:
    """A model: its name, what it is, its class, its rule and what was measured of it."""
    about = " ".join(entry.about.split()).replace("|", r"\|")
    return f"| `{entry.name}` | {about} | {entry.verdict.replace('-', ' ')} | `{entry.rule}` | {_measured(entry)} |\n"


def _measured(entry: Entry) -> str:
    """Data, metric, number of updates and the remark."""
    if entry.measured is None:
        return ", ".join(entry.data) or "needs your own data"
    found = entry.measured
    remark = f". {entry.remark}" if entry.remark else ""
    return f"{', '.join(entry.data)}: {found.metric} {found.value:.4g} ({found.updates:,}){remark}"


def _run(arguments: Sequence[str]) -> None:
    status = energyc(arguments)
    if status:
        raise SystemExit(f"energyc {' '.join(arguments)} ended with {status}")


def _answer(arguments: Sequence[str]) -> dict[str, Any]:
    output = io.StringIO()
    with redirect_stdout(output):
        _run(arguments)
    return dict(json.loads(output.getvalue()))


def main() -> None:
    """Train, draw and note the figures; print what each has come to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder of the runs")
    parser.add_argument("--only", nargs="+", choices=shipped(), default=list(shipped()), help="some of the systems")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        run = arguments.out / name
        if name not in UNMEASURED:
            trained(name, run)
        answer = None if name in UNMEASURED else json.loads(run.with_suffix(".json").read_text())
        renew(name, facts(name, answer))
        print(f"{name}: {answer and answer['final']}", flush=True)
        if shown(name).picture:
            path = draw(name, run)
            print(f"{path}: {path.stat().st_size:,} bytes", flush=True)
    PAGE.write_text(with_zoo(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

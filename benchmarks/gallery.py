"""The pictures of docs/gallery.md: train each of its systems briefly, draw it, and make the picture small.

    python -m benchmarks.gallery OUT             # what is not in OUT yet is trained there, on the data that ship
    python -m benchmarks.gallery OUT --only deq tel_digits

The runs show what the systems do inside; they are shorter than those of docs/results.md, which says how well they do.
Needs ``energyc[all]``. About twenty minutes on one core for all of them.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from PIL import Image

from energyc.surfaces.cli import main as energyc

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
LARGEST = 60 * 1024  # bytes of a picture
WIDEST, COLOURS = 880, 256  # of a picture: pixels, colours


@dataclass(frozen=True)
class Shown:
    """How a system is trained for its picture, and which picture of ``energyc plot`` it is."""

    training: str
    picture: str
    plot: str

    def command(self, spec: str) -> list[str]:
        """The arguments of ``energyc``."""
        return ["train", f"specs/{spec}.energy", *self.training.split()]


GALLERY: Mapping[str, Shown] = MappingProxyType(
    {
        "hopfield": Shown("--set train.epochs=4", "energies", "--kind energies --samples 8"),
        "modern_hopfield": Shown("--steps 300", "triples", "--kind images --samples 6"),
        "sparse_coding": Shown("--steps 120", "memories-W", "--kind memories --samples 48"),
        "deq": Shown("--set train.epochs=2", "energy", "--kind energy --samples 8"),
        "cet": Shown("--preset small --steps 200", "triples", "--kind images --samples 5"),
        "thick": Shown("--preset small --steps 200", "attention-attention", "--kind attention --head 0 --head 1"),
        "thin": Shown("--preset small --steps 200", "energies", "--kind energies --samples 8"),
        "cet_lm": Shown("--preset small --steps 200", "energies", "--kind energies --samples 8"),
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


def show(name: str, out: Path) -> Path:
    """Train a system unless that is done, and draw its picture."""
    shown, run = GALLERY[name], out / name
    if not run.exists():
        _run([*shown.command(name), "--quiet", "--out", str(run)])
    _run(["plot", str(run), "--quiet", *shown.plot.split()])
    path = PICTURES / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(small(run / "pictures" / f"{shown.picture}.png"))
    return path


def _run(arguments: Sequence[str]) -> None:
    status = energyc(arguments)
    if status:
        raise SystemExit(f"energyc {' '.join(arguments)} ended with {status}")


def main() -> None:
    """Make the pictures, and print their paths and sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder of the runs")
    parser.add_argument("--only", nargs="+", choices=GALLERY, default=list(GALLERY), help="some of the systems")
    arguments = parser.parse_args()
    for name in arguments.only:
        path = show(name, arguments.out)
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

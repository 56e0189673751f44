"""The moving picture of the README and of the home page: damaged digits that relax to stored ones, drawn from a run.

    energyc train modern_hopfield --set M=16 --set train.batch=32 --set train.lr=0.03 --steps 1000 --out RUN
    python -m benchmarks.motion RUN

Four test samples of different patterns relax with a tenth of the spec's step, so that the way can be seen. Writes
``docs/assets/relaxation.svg``, which moves, and ``relaxation-still.svg``, its end, for readers who want no motion.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from energyc.running.runs.prepare import reopen
from energyc.running.runs.saved import load_run
from energyc.running.training.feeds import Feed

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
STEP, STEPS, SIDE, SAMPLES = 0.1, 40, 8, 4
#: Okabe and Ito's colours, as in all pictures, on a dark ground.
COLOURS = ("#56b4e9", "#e69f00", "#2fc49a", "#e58bbd")
#: Seconds of a round; when in it the relaxation begins and ends.
ROUND, BEGIN, END = 8.0, 0.1, 0.62
WIDTH, HEIGHT, TOP, FOOT = 880, 322, 58, 276
#: Left and right of the panel of the energy, and of that of the states.
ENERGY, STATES = (304, 566), (614, 856)
_STYLE = """
text { font: 13px ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #e9e7f2; }
.small { font-size: 11.5px; fill: #9d9bb3; }
.axis { stroke: #3b3a52; fill: none; }
.pixel { fill: #f4f1ff; }
polyline { fill: none; stroke-linejoin: round; }
"""


@dataclass(frozen=True)
class Relaxed:
    """``states`` [steps + 1, samples, pixels] in [-1, 1], ``energies`` [steps + 1, samples]."""

    states: np.ndarray
    energies: np.ndarray


@torch.no_grad()
def relaxed(run: Path) -> Relaxed:
    """Relax the first test sample of each of some patterns, as far apart in the set of patterns as they can be."""
    session = reopen(run).session(run)
    load_run(run).load_into(session.net)
    net = session.net.train(False)
    feed = Feed(session.feeds, "test", session.device, session.dtype)
    batch = feed.batch(range(len(feed)), seed=0)
    stored = batch.targets["stored"]
    firsts = {tuple(row.tolist()): k for k, row in reversed(list(enumerate(stored)))}
    chosen = sorted(firsts.values())[:: max(1, len(firsts) // SAMPLES)][:SAMPLES]
    clamps = {name: value[chosen] for name, value in batch.clamps.items()}
    trace = net.relax(clamps, steps=STEPS, step=STEP, record=("z",)).trace["z"]
    energies = [sum(net.terms({"z": states}, clamps).values()) for states in trace]
    return Relaxed(np.asarray(trace), np.stack([np.asarray(energy) for energy in energies]))


def drawn(found: Relaxed, moves: bool) -> str:
    """The picture as SVG, which moves or shows the end."""
    title = "Damaged digits relax to stored ones: states as images, their energy, the entries of one, over the steps"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{title}</title>',
        f"<style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="14" fill="#171625"/>',
        *_heading(24, "state", "z, as an image"),
        *_heading(ENERGY[0], "energy", "E(z) of each"),
        *_heading(STATES[0], "states", "64 entries of the first z"),
        *_images(found.states, moves),
        *_curtain(moves),
        *_energies(found.energies, moves),
        *_entries(found.states[:, 0]),
        *(_axis(*panel) for panel in (ENERGY, STATES)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _heading(x: float, name: str, what: str) -> Iterator[str]:
    small = f'<tspan class="small" font-weight="400" dx="4">{what}</tspan>'
    yield f'<text x="{x}" y="34" font-weight="600">{name} {small}</text>'


def _images(states: np.ndarray, moves: bool) -> Iterator[str]:
    size, gap = 12, 24
    for sample in range(states.shape[1]):
        left = 24 + sample % 2 * (SIDE * size + gap)
        top = TOP + sample // 2 * (SIDE * size + gap)
        yield f'<g transform="translate({left} {top})">'
        yield f'<rect y="{SIDE * size + 4}" width="{SIDE * size}" height="3" rx="1.5" fill="{COLOURS[sample]}"/>'
        for pixel in range(SIDE * SIDE):
            light = np.clip((states[:, sample, pixel] + 1) / 2, 0, 1)
            row, column = divmod(pixel, SIDE)
            place = f'class="pixel" x="{column * size}" y="{row * size}" width="{size - 1}" height="{size - 1}" rx="2"'
            yield f'<rect {place} fill-opacity="{_short(light[-1])}">{_moving("fill-opacity", light, moves)}</rect>'
        yield "</g>"


def _curtain(moves: bool) -> Iterator[str]:
    """What has been computed so far is seen: a clip as wide as the steps that were made."""
    for name, (left, right) in (("energy", ENERGY), ("states", STATES)):
        width = right - left
        opened = _moving("width", np.linspace(0, width, 2), moves)
        yield (
            f'<clipPath id="{name}"><rect x="{left}" y="0" width="{width}" height="{HEIGHT}">{opened}</rect></clipPath>'
        )


def _energies(energies: np.ndarray, moves: bool) -> Iterator[str]:
    across = np.linspace(*ENERGY, len(energies))
    down = _scaled(energies)
    sizes = np.linspace(2, 1, len(COLOURS))  # samples of one energy are still seen
    yield '<g clip-path="url(#energy)">'
    for sample, (colour, size) in enumerate(zip(COLOURS, sizes, strict=True)):
        style = f'stroke="{colour}" stroke-width="{2.2 * size:.1f}"'
        yield f'<polyline {style} points="{_points(across, down[:, sample])}"/>'
    yield "</g>"
    for sample, (colour, size) in enumerate(zip(COLOURS, sizes, strict=True)):
        at = _moving("cx", across[[0, -1]], moves) + _moving("cy", down[:, sample], moves)
        place = f'r="{4 * size:.1f}" cx="{across[-1]:.1f}" cy="{down[-1, sample]:.1f}"'
        yield f'<circle fill="{colour}" {place}>{at}</circle>'


def _entries(states: np.ndarray) -> Iterator[str]:
    """[steps + 1, pixels] as a line for each entry."""
    across, down = np.linspace(*STATES, len(states)), _scaled(states)
    yield f'<g clip-path="url(#states)" stroke="{COLOURS[0]}" stroke-width="1.1" stroke-opacity=".6">'
    for points in sorted({_points(across[::2], line) for line in down[::2].T}):
        yield f'<polyline points="{points}"/>'
    yield "</g>"


def _axis(left: float, right: float) -> str:
    label = f'<text class="small" x="{right}" y="{FOOT + 26}" text-anchor="end">step {STEPS}</text>'
    zero = f'<text class="small" x="{left}" y="{FOOT + 26}">step 0</text>'
    return f'<path class="axis" d="M{left} {FOOT + 8}H{right}"/>{zero}{label}'


def _scaled(values: np.ndarray) -> np.ndarray:
    """Values as heights in a panel."""
    low, high = float(values.min()), float(values.max())
    return FOOT - (values - low) / (high - low) * (FOOT - TOP)


def _points(across: Sequence[float] | np.ndarray, down: np.ndarray) -> str:
    return " ".join(f"{x:.0f},{y:.1f}" for x, y in zip(across, down, strict=True))


def _moving(attribute: str, values: np.ndarray, moves: bool) -> str:
    """An animation that holds the first value, goes through all, each at its time, and holds the last."""
    if not moves or math.isclose(float(np.ptp(values)), 0, abs_tol=5e-3):
        return ""
    kept = values if len(values) == 2 else values[_keyframes(len(values))]
    times = _times(len(values))
    written = ";".join(_short(v) for v in (kept[0], *kept, kept[-1]))
    return (
        f'<animate attributeName="{attribute}" dur="{ROUND:g}s" repeatCount="indefinite" values="{written}" '
        f'keyTimes="{times}"/>'
    )


def _keyframes(count: int) -> list[int]:
    """All steps at first, where most happens, then ever fewer."""
    return [*range(8), *range(8, 20, 2), *range(20, count, 5), *([count - 1] if (count - 1) % 5 else [])]


def _times(count: int) -> str:
    places = np.linspace(0, 1, 2) if count == 2 else np.array(_keyframes(count)) / (count - 1)
    return ";".join(f"{t:.3g}" for t in (0, *(BEGIN + (END - BEGIN) * places), 1))


def _short(value: float) -> str:
    """A number in few characters."""
    return f"{value:.2f}".rstrip("0").rstrip(".").removeprefix("0") or "0" if abs(value) < 1 else f"{value:.1f}"


def main() -> None:
    """Draw both pictures; print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run of modern_hopfield")
    found = relaxed(parser.parse_args().run)
    for name, moves in (("relaxation", True), ("relaxation-still", False)):
        path = ASSETS / f"{name}.svg"
        path.write_text(drawn(found, moves), encoding="utf-8")
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

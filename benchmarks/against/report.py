"""The results as JSON, as a table in Markdown, and as a picture."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks.against.measure import FLOOR

#: Columns of the table; a column is the fastest of the ways whose names begin so.
COLUMNS = (
    FLOOR,
    "energyc, kernels",
    "energyc, torch",
    "energyc, JAX",
    "torch, by hand",
    "torch, autograd",
    "torch.compile",
    "JAX",
    "torchdeq",
    "published EP",
)
OWN = "energyc"
NAME = "against"


def machine() -> dict[str, Any]:
    """The machine that it ran on, and the threads of torch; JAX has as many."""
    try:
        import jax
    except ImportError:
        versions = {"torch": torch.__version__}
    else:
        versions = {"torch": torch.__version__, "jax": jax.__version__}
    flags = torch.backends.cpu.get_cpu_capability()
    return {"processor": f"{processor()}, {flags}", "threads": torch.get_num_threads(), "versions": versions}


def processor() -> str:
    """The model of the processor, by its family and number too where the name says little."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = told.get("model name", platform.machine())
    return f"{name} (family {told['cpu family']}, model {told['model']})" if "cpu family" in told else name


def kept(folder: Path) -> dict[str, Any]:
    """Results so far; those of networks that are not run again stay."""
    path = folder / f"{NAME}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(folder: Path, results: Mapping[str, Any]) -> list[Path]:
    """Write all three; without matplotlib there is no picture."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{NAME}.json", folder / f"{NAME}.md"]
    paths[0].write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    paths[1].write_text("\n".join(tables(results)) + "\n", encoding="utf-8")
    return [*paths, *picture(folder, results)]


def columns(times: Mapping[str, float]) -> dict[str, float]:
    """The figure of each column that there is."""
    found = {c: [value for way, value in times.items() if way.startswith(c)] for c in COLUMNS}
    return {column: min(values) for column, values in found.items() if values}


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """A table of milliseconds, and what it was measured on."""
    yield "Milliseconds, the least of many (`benchmarks/against/measure.py`); the fastest way is bold."
    yield "Made by `python -m benchmarks.against`."
    yield ""
    yield f"| | {' | '.join(COLUMNS)} |"
    yield "|" + "---|" * (len(COLUMNS) + 1)
    for name, result in results.items():
        for task, times in result["tasks"].items():
            yield row(f"{name}, B = {result['batch']}: {task}", columns(times))
    yield from memory(results)
    yield ""
    machines = {json.dumps(result["machine"], sort_keys=True) for result in results.values()}
    for line in sorted(machines):
        yield f"Measured on {line}."


def memory(results: Mapping[str, Any]) -> Iterator[str]:
    """A table of memory, where it was measured."""
    if not any("memory" in result for result in results.values()):
        return
    yield from ("", "Growth of the resident set in an update, MiB.", "")
    yield f"| | {' | '.join(COLUMNS[1:])} |"
    yield "|" + "---|" * len(COLUMNS)
    for name, result in results.items():
        for task, grown in result.get("memory", {}).items():
            cells = columns(grown)
            yield f"| {name}: {task} | {' | '.join(f'{cells[c]:.1f}' if c in cells else '' for c in COLUMNS[1:])} |"


def row(title: str, cells: Mapping[str, float]) -> str:
    """A row; the fastest way, products apart, is bold."""
    fastest = min(value for column, value in cells.items() if column != FLOOR)

    def shown(column: str) -> str:
        if column not in cells:
            return ""
        text = f"{cells[column]:.3g}"
        return f"**{text}**" if cells[column] == fastest and column != FLOOR else text

    return f"| {title} | {' | '.join(map(shown, COLUMNS))} |"


def picture(folder: Path, results: Mapping[str, Any]) -> list[Path]:
    """Times as multiples of the fastest way of energyc, a row for each task."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    rows = [(f"{name}: {task}", columns(times)) for name, r in results.items() for task, times in r["tasks"].items()]
    figure = Figure(figsize=(9, 1 + 0.3 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for column, marker in zip(COLUMNS, "|oshvD^P*X", strict=True):
        places = [k for k, (_, cells) in enumerate(rows) if column in cells]
        ratios = [rows[k][1][column] / own(rows[k][1]) for k in places]
        axes.plot(ratios, places, marker, label=column, markersize=10 if column == FLOOR else 6)
    axes.axvline(1, color="0.7", zorder=0)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [title for title, _ in rows])
    axes.invert_yaxis()
    axes.set_xlabel("time, as a multiple of energyc's faster target")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.05), ncols=5, frameon=False)
    path = folder / f"{NAME}.png"
    figure.savefig(path, dpi=120)
    return [path]


def own(cells: Mapping[str, float]) -> float:
    """The faster of both targets."""
    return min(value for column, value in cells.items() if column.startswith(OWN))

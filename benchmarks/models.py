"""The table of benchmarks/log/results.md, section "Tried": each model of specs/zoo checked, verified and trained.

    python benchmarks/models.py              # all of them, some ten minutes of processor time
    python benchmarks/models.py kuramoto llama --updates 20

Seed 0. The clamps of `graph` are fed by drawn graphs (``Graphs``), since no adapter that ships has graphs. The table
and what training warned of are written to standard output, progress to standard error.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import energyc
from energyc.running.data import FieldSchema, Schema
from energyc.running.data.arrays import ArraySplit, SplitDataset
from energyc.surfaces.cli import main as command

MODELS = Path(__file__).parents[1] / "specs" / "zoo"
HEAD = ("model", "class", "rule", "radius", "error", "cosine", "cost, before and after", "unsettled", "seconds")
#: Models that the tests train on drawn inputs alone.
UNFED = ("edges",)
#: The lines that feed the clamps of `graph`.
FED = {
    "clamp  adj[N, N]": "data graphs = graphs()\nclamp adj[N, N] = graphs.adj\n#",
    "clamp  x[N, I]": "clamp x[N, I] = graphs.x\n#",
    "target label[N] : K": "target label[N] : K = graphs.label\n#",
}


class Graphs:
    """Graphs of ten nodes in three communities: nodes of one are joined more often, and their features are alike."""

    name = "graphs"

    def schema(self, options: Any) -> Schema:
        """The adjacency, four features of each node, and its community."""
        fields = {"adj": FieldSchema((10, 10)), "x": FieldSchema((10, 4)), "label": FieldSchema((10,), "integer", 3)}
        return Schema(fields, {"classes": 3})

    def open(self, options: Any, path: Path | None, *, seed: int = 0) -> SplitDataset:
        """Draw 500 graphs; 400 are for training."""
        random = np.random.default_rng(seed)
        label = random.integers(3, size=(500, 10))
        alike = label[:, :, None] == label[:, None, :]
        joined = np.triu(random.random((500, 10, 10)) < np.where(alike, 0.7, 0.1), 1)
        adjacency = (joined | joined.transpose(0, 2, 1)).astype(np.float32)
        features = (np.eye(3, 4)[label] + random.normal(size=(500, 10, 4))).astype(np.float32)
        fields = {"adj": adjacency, "x": features, "label": label.astype(np.int64)}
        train, test = (
            ArraySplit({name: values[part] for name, values in fields.items()})
            for part in (slice(400), slice(400, None))
        )
        return SplitDataset(self.schema(options), "drawn graphs", train, test)


@dataclass(frozen=True)
class Answers:
    """The answers of ``check``, ``verify`` and ``train`` on a model, as JSON; ``rows`` are those of the log."""

    check: dict[str, Any]
    verify: dict[str, Any]
    train: dict[str, Any]
    rows: list[dict[str, Any]]
    seconds: float

    @property
    def warnings(self) -> list[str]:
        """The warnings of training, or why it stopped."""
        return [*self.train.get("warnings", ()), *filter(None, [self.train.get("message")])]

    def cells(self, name: str) -> list[str]:
        """Return the row of the table."""
        evaluations = [row for row in self.rows if row["kind"] == "eval"]
        rule = self.train.get("rule", "")
        measured = self.verify["rules"].get(rule) or {}
        limit, configured = measured.get("limit") or {}, measured.get("configured") or {}
        return [
            f"`{name}`",
            self.check["class"].replace("-", " "),
            rule,
            _number((self.verify.get("spectrum") or {}).get("step_radius"), ".3f"),
            _number(limit.get("relative_error"), ".0e"),
            _number(configured.get("cosine"), ".4f"),
            ", ".join(_number(row["cost"], ".4g") for row in evaluations[:: len(evaluations) - 1 or 1]),
            _unsettled(evaluations),
            f"{self.seconds:.0f}",
        ]


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _unsettled(evaluations: Sequence[dict[str, Any]]) -> str:
    """Return the share of samples that did not settle in the last evaluation, and the largest residual."""
    if not evaluations or evaluations[-1]["settled"] == 1:
        return ""
    return f"{1 - evaluations[-1]['settled']:.0%}, up to {evaluations[-1]['residual_max']:.0e}"


def answered(*arguments: object) -> dict[str, Any]:
    """Run a command of energyc and return the JSON that it wrote."""
    output = io.StringIO()
    with redirect_stdout(output):
        command([*map(str, arguments), "--format", "json", "--quiet"])
    answer: dict[str, Any] = json.loads(output.getvalue())
    return answer


def tried(name: str, updates: int, folder: Path) -> Answers:
    """Check, verify and train a model."""
    text = (MODELS / f"{name}.energy").read_text()
    for line, fed in FED.items() if name == "graph" else ():
        text = text.replace(line, fed)
    spec, run, start = folder / f"{name}.energy", folder / name, time.process_time()
    spec.write_text(text)
    check, verify = answered("check", spec), answered("verify", spec)
    train = answered("train", spec, "--steps", updates, "--seed", 0, "--out", run)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return Answers(check, verify, train, rows, time.process_time() - start)


def table(answers: dict[str, Answers]) -> Iterator[str]:
    """Yield the lines of the table in Markdown, then the warnings."""
    yield f"| {' | '.join(HEAD)} |"
    yield "|" + "---|" * len(HEAD)
    for name, answer in answers.items():
        yield f"| {' | '.join(answer.cells(name))} |"
    for name, answer in answers.items():
        for warning in answer.warnings:
            yield f"\n{name}: {warning}"
        if not answer.verify["passed"]:
            yield f"\n{name}: verify did not pass"


def main() -> None:
    """Try the models and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="all by default")
    parser.add_argument("--updates", type=int, default=100)
    arguments = parser.parse_args()
    energyc.register_data("graphs", Graphs())
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        every = sorted(path.stem for path in MODELS.glob("*.energy") if path.stem not in UNFED)
        for name in arguments.models or every:
            print(name, file=sys.stderr, flush=True)
            answers[name] = tried(name, arguments.updates, Path(folder))
    print("\n".join(table(answers)))


if __name__ == "__main__":
    main()

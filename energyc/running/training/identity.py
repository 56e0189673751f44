"""What ``run.json`` says of a run, and the identity of its spec and its data, so that it is not resumed with others.

``run.json`` stores under ``made_of`` a SHA-256 of the spec's text, one of each data file, and the shapes and the means
of the first and the last few training samples, which distinguish data without files.
"""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from energyc.language.diagnostics import Given, Option, UserError, spoken
from energyc.running.training.feeds import Batch, Feed
from energyc.running.training.learner import Learner
from energyc.running.training.order import evenly_spread
from energyc.running.training.session import Session

SPEC = "spec.energy"
_ENDS = 8  # samples at each end of the split
_WHOLE = 64  # the most files of a folder that are read; only names and sizes count for the others
_NEAR = 1e-4  # two machines resize an image to the same means within this


def run_info(session: Session, learner: Learner, made_of: Mapping[str, Any]) -> dict[str, Any]:
    """Return options, seed, sizes and versions, with the session's own ``info``."""
    return {
        "format": 1,
        "network": session.net.name,
        "rule": learner.rule,
        "options": session.options.to_json(),
        "steps": learner.total,
        "training_samples": learner.order.samples,
        "params": {name: list(param.shape) for name, param in learner.params.items()},
        "bindings": {"clamps": dict(session.feeds.clamps), "targets": dict(session.feeds.targets)},
        "files": list(session.files),
        "made_of": dict(made_of),
        **({} if session.feeds.division.fold is None else {"fold": session.feeds.division.fold}),
        "device": session.device,
        "dtype": str(session.dtype).removeprefix("torch."),
        "threads": torch.get_num_threads(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
        **session.info,
    }


def made_of(session: Session, feed: Feed) -> dict[str, Any]:
    """Return the identity of spec and data."""
    identity: dict[str, Any] = {"samples": _samples(session, feed)}
    if session.sources:
        identity["files"] = {name: files_digest(Path(path)) for name, path in session.sources.items()}
    if SPEC in session.files:
        identity["spec"] = hashlib.sha256("\n".join(session.files[SPEC].splitlines()).encode()).hexdigest()
    return identity


def refuse_other(out: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise UserError E0514 for another spec, E0520 for other data; only recorded values are compared."""
    if "spec" in before and "spec" in now and before["spec"] != now["spec"]:
        help_text = spoken(f"put it back as it was, or train {SPEC} anew with another {{}}", Option("out"))
        raise UserError(f"{out / SPEC} is not the one that the run was made with", code="E0514", help=help_text)
    files, files_now = before.get("files", {}), now.get("files", {})
    changed = [name for name in files if files[name] != files_now.get(name, files[name])]
    if changed or not _same(before.get("samples", {}), now["samples"]):
        subject = f"the data {', '.join(changed)} are" if changed else "the training samples are"
        message = f"{subject} not those that the run {out} was made with"
        raise UserError(
            message,
            code="E0520",
            help=spoken("give those by {}, or train anew with another {}", Given(None), Option("out")),
        )


def files_digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of a folder: names and sizes of all files, contents of at most 64."""
    if path.is_file():
        return _content_digest(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(path).as_posix()} {file.stat().st_size}\n".encode())
    for number in evenly_spread(len(files), _WHOLE):
        digest.update(_content_digest(files[number]).encode())
    return digest.hexdigest()


def _content_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"


def _samples(session: Session, feed: Feed) -> dict[str, Any]:
    ends = [np.arange(min(_ENDS, len(feed))), np.arange(max(0, len(feed) - _ENDS), len(feed))]
    first, last = (dict(_inputs(feed.batch(indices, seed=session.options.seed))) for indices in ends)
    return {name: {"shape": list(first[name][0]), "means": [first[name][1], last[name][1]]} for name in first}


def _inputs(batch: Batch) -> Iterator[tuple[str, tuple[tuple[int, ...], float | None]]]:
    """Yield the shape and mean of each clamp and target; a mean that is not finite, which stops training, is None."""
    for name, tensor in {**batch.clamps, **batch.targets}.items():
        mean = float(tensor.double().mean())
        yield name, (tuple(tensor.shape[1:]), mean if math.isfinite(mean) else None)


def _same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    for name in before.keys() & now.keys():
        pairs = zip(before[name]["means"], now[name]["means"], strict=True)
        if before[name]["shape"] != now[name]["shape"]:
            return False
        if any(a is not None and b is not None and abs(a - b) > _NEAR * (1 + abs(a)) for a, b in pairs):
            return False
    return True

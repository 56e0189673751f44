"""Checkpoints: safetensors and JSON under ``checkpoints/step-NNNNNNNN/``, no pickle.

Each is written into a hidden folder, its ``manifest.json`` with the SHA-256 of every file last, and renamed into
place. A folder that exists is therefore complete, and its hashes reveal files that were damaged later.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from energyc.language.diagnostics import UserError
from energyc.running.training.disk import sync_folder, write_bytes
from energyc.running.training.formats import Manifest, State, parse

Notify = Callable[[str], None]
MANIFEST = "manifest.json"
_OLD = ".old"


class Damaged(Exception):
    """A checkpoint whose files are missing or do not match its manifest."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after update ``step``.

    ``params`` are named as in the spec, ``buffers`` as in the module, and ``optimizer`` as ``PARAM.KEY``. ``state`` is
    JSON: the best step so far, the controller, beta, the cursor, the module's extra state.
    """

    step: int
    params: Mapping[str, Tensor]
    buffers: Mapping[str, Tensor] = field(default_factory=dict)
    optimizer: Mapping[str, Tensor] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)


def save(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint under ``folder`` and replace any of the same step. Raises OSError."""
    path = folder / f"step-{checkpoint.step:08d}"
    hidden, old = folder / f".{path.name}.new", folder / f".{path.name}{_OLD}"
    shutil.rmtree(hidden, ignore_errors=True)
    try:
        hidden.mkdir(parents=True)
        _write_files(hidden, checkpoint)
        if path.exists():  # the same step before its evaluation, or a damaged one
            shutil.rmtree(old, ignore_errors=True)
            os.replace(path, old)
        os.replace(hidden, path)
    except OSError:
        recover(folder)
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    sync_folder(folder)
    return path


def recover(folder: Path) -> None:
    """Restore checkpoints that were renamed for a replacement that was never completed."""
    for old in folder.glob(f".step-*{_OLD}"):
        path = folder / old.name.removeprefix(".").removesuffix(_OLD)
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.replace(old, path)


def load(path: Path) -> Checkpoint:
    """Read a checkpoint and verify every hash. Raises Damaged.

    While another process replaces it, it is found where ``save`` set it aside.
    """
    damage = None
    for place in (path, path.with_name(f".{path.name}{_OLD}"), path):
        try:
            return _load(place)
        except Damaged as error:
            damage = damage or error
    assert damage is not None
    raise damage


def _load(path: Path) -> Checkpoint:
    try:
        manifest = parse(Manifest, (path / MANIFEST).read_bytes())
        files = {name: _read_verified(path / name, digest) for name, digest in manifest["files"].items()}
        tensors = {kind: safetensors.torch.load(files[f"{kind}.safetensors"]) for kind in _KINDS}
        return Checkpoint(step=manifest["step"], **tensors, state=parse(State, files["state.json"]))
    except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
        raise Damaged(f"{path.name}: {error}") from error


def steps(folder: Path) -> list[int]:
    """Return the steps of all checkpoints, newest first, with one that is being replaced."""
    names = [path.name for path in folder.glob("step-*") if path.is_dir()]
    names += [path.name.removeprefix(".").removesuffix(_OLD) for path in folder.glob(f".step-*{_OLD}")]
    numbers = {name.removeprefix("step-") for name in names}
    return sorted((int(number) for number in numbers if number.isdecimal()), reverse=True)


def load_last(folder: Path, notify: Notify) -> Checkpoint:
    """Return the newest intact checkpoint; call ``notify`` for each damaged one that is newer.

    Raises UserError E0512 if no checkpoint is intact.
    """
    for checkpoint in _intact(folder, steps(folder), notify):
        return checkpoint
    raise UserError(
        f"no usable checkpoint in {folder}", code="E0512", help="train again from the start, with another --out"
    )


def load_best(folder: Path, notify: Notify) -> Checkpoint:
    """Return the best checkpoint according to the newest one, or the newest if the best is not intact."""
    last = load_last(folder, notify)
    step = (last.state.get("best") or {}).get("step")
    if step is None or step == last.step:
        return last
    return next(_intact(folder, [step], notify), last)


def prune(folder: Path, best: int | None) -> None:
    """Remove all checkpoints but the two newest and the best."""
    present = steps(folder)
    for step in present[2:]:
        if step != best:
            shutil.rmtree(folder / f"step-{step:08d}", ignore_errors=True)


def discard_after(folder: Path, step: int) -> None:
    """Remove unfinished checkpoints and those after ``step``, which a resumed run writes again."""
    for unfinished in folder.glob(".step-*.new"):
        shutil.rmtree(unfinished, ignore_errors=True)
    for later in steps(folder):
        if later > step:
            shutil.rmtree(folder / f"step-{later:08d}", ignore_errors=True)


_KINDS = ("params", "buffers", "optimizer")


def _write_files(folder: Path, checkpoint: Checkpoint) -> None:
    files = {f"{kind}.safetensors": _tensor_bytes(getattr(checkpoint, kind)) for kind in _KINDS}
    files["state.json"] = _json_bytes(checkpoint.state)
    for name, content in files.items():
        write_bytes(folder / name, content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    write_bytes(folder / MANIFEST, _json_bytes({"format": 1, "step": checkpoint.step, "files": digests}))
    sync_folder(folder)


def _tensor_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    # Copies, since safetensors refuses tensors that share memory, such as views of a buffer.
    return safetensors.torch.save({name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()})


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def _read_verified(path: Path, digest: str) -> bytes:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise Damaged(f"{path.parent.name}: {path.name} does not match its hash")
    return content


def _intact(folder: Path, candidates: list[int], notify: Notify) -> Iterator[Checkpoint]:
    for step in candidates:
        try:
            yield load(folder / f"step-{step:08d}")
        except Damaged as damage:
            notify(f"the checkpoint of step {step} is damaged ({damage}); looking for an earlier one")

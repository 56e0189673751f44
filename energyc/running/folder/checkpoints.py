"""Checkpoints: safetensors and JSON under ``checkpoints/step-NNNNNNNN/``, no pickle.

Each is written into a hidden folder, its ``manifest.json`` with the SHA-256 of every file last, and renamed into
place. A folder that exists is therefore complete, and its hashes reveal files that were damaged later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import safetensors.torch
from torch import Tensor

from energyc.files import SafePath, reserving
from energyc.language.diagnostics import Option, UserError, is_out_of_memory, spoken
from energyc.running.folder.formats import Manifest, State, parse
from energyc.running.folder.layout import unreadable

Notify = Callable[[str], None]
MANIFEST, STATE = "manifest.json", "state.json"
#: Bytes of the largest file of tensors.
LARGEST_TENSORS = 16 << 30
_OLD = ".old"
#: Bytes that safetensors allocates beside the tensors.
_MARGIN = 1 << 20


class Damaged(Exception):
    """A checkpoint whose files are missing or do not match its manifest."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after update ``step``.

    ``params``, and their ``average`` under ``train.ema``, are named as in the spec, ``buffers`` as in the module, and
    ``optimizer`` as ``PARAM.KEY``. ``state`` is JSON: the best step so far, the controller, beta, the cursor, the
    module's extra state.
    """

    step: int
    params: Mapping[str, Tensor]
    buffers: Mapping[str, Tensor] = field(default_factory=dict)
    optimizer: Mapping[str, Tensor] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    average: Mapping[str, Tensor] = field(default_factory=dict)

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """The params that are used after a run: their average, where the run keeps one."""
        return self.average or self.params


def save(folder: SafePath, checkpoint: Checkpoint) -> SafePath:
    """Write a checkpoint under ``folder`` and replace any of the same step. Raises OSError."""
    path = folder / _name(checkpoint.step)
    hidden, old = folder / f".{path.name}.new", folder / f".{path.name}{_OLD}"
    folder.mkdir()
    _try_to_remove(hidden)
    try:
        hidden.mkdir()
        _write_files(hidden, checkpoint)
        if path.exists():  # the same step before its evaluation, or a damaged one
            _try_to_remove(old)
            path.move(old.name)
        hidden.move(path.name)
    except OSError:
        recover(folder)
        _try_to_remove(hidden)
        raise
    _try_to_remove(old)
    return path


def recover(folder: SafePath) -> None:
    """Restore checkpoints that were renamed for a replacement that was never completed."""
    for name in folder.names(f".step-*{_OLD}"):
        path = folder / name.removeprefix(".").removesuffix(_OLD)
        if path.exists():
            _try_to_remove(folder / name)
        else:
            (folder / name).move(path.name)


def load(folder: SafePath, step: int) -> Checkpoint:
    """Read the checkpoint of a step and verify every hash. Raises Damaged, MemoryError.

    While another process replaces it, it is found where ``save`` set it aside.
    """
    name, damage = _name(step), None
    for place in (name, f".{name}{_OLD}", name):
        try:
            return _load(folder / place)
        except Damaged as error:
            damage = damage or error
    assert damage is not None
    raise damage


def _load(path: SafePath) -> Checkpoint:
    try:
        manifest = parse(Manifest, (path / MANIFEST).read())
        digests = manifest["files"]
        kinds = [*_KINDS, *(kind for kind in _OPTIONAL if _file_of(kind) in digests)]
        files = {name: _read_verified(path / name, digests[name]) for name in (*map(_file_of, kinds), STATE)}
        tensors = {kind: _tensors(files[_file_of(kind)], path / _file_of(kind)) for kind in kinds}
        return Checkpoint(step=manifest["step"], **tensors, state=parse(State, files[STATE]))
    except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
        if is_out_of_memory(error):
            raise
        raise Damaged(f"{path.name}: {error}") from error


def steps(folder: SafePath) -> list[int]:
    """Return the steps of all checkpoints, newest first, with one that is being replaced. Raises UserError E0511."""
    try:
        names = [name for name in folder.names("step-*") if (folder / name).is_dir()]
        names += [name.removeprefix(".").removesuffix(_OLD) for name in folder.names(f".step-*{_OLD}")]
    except OSError as error:
        raise unreadable(folder, error) from None
    numbers = {name.removeprefix("step-") for name in names}
    return sorted((int(number) for number in numbers if _is_step(number)), reverse=True)


def load_last(folder: SafePath, notify: Notify) -> Checkpoint:
    """Return the newest intact checkpoint; call ``notify`` for each damaged one that is newer.

    Raises UserError E0512 if no checkpoint is intact.
    """
    for checkpoint in _intact(folder, steps(folder), notify):
        return checkpoint
    raise UserError(
        f"no usable checkpoint in {folder}",
        code="E0512",
        help=spoken("train again from the start, with another {}", Option("out")),
    )


def load_best(folder: SafePath, notify: Notify) -> Checkpoint:
    """Return the best checkpoint according to the newest one, or the newest if the best is not intact."""
    last = load_last(folder, notify)
    step = (last.state.get("best") or {}).get("step")
    if step is None or step == last.step:
        return last
    return next(_intact(folder, [step], notify), last)


def prune(folder: SafePath, best: int | None) -> None:
    """Remove all checkpoints but the two newest and the best; those that cannot be removed stay."""
    present = steps(folder)
    for step in present[2:]:
        if step != best:
            _discard(folder, step)


def discard_after(folder: SafePath, step: int) -> None:
    """Remove unfinished checkpoints and those after ``step``, which a resumed run writes again."""
    for unfinished in folder.names(".step-*.new"):
        _try_to_remove(folder / unfinished)
    for later in steps(folder):
        if later > step:
            _discard(folder, later)


_KINDS, _OPTIONAL = ("params", "buffers", "optimizer"), ("average",)


def _name(step: int) -> str:
    return f"step-{step:08d}"


def _is_step(number: str) -> bool:
    """Whether a name ends in the number of a step, as ``_name`` writes it."""
    return number.isascii() and number.isdecimal() and len(number) < 19 and _name(int(number)) == f"step-{number}"


def _file_of(kind: str) -> str:
    return f"{kind}.safetensors"


def _try_to_remove(path: SafePath) -> None:
    """Remove what is no longer needed; what cannot be removed stays, and does no harm."""
    with suppress(OSError):
        path.remove()


def _discard(folder: SafePath, step: int) -> None:
    """Remove a checkpoint, under another name first, so that none is ever there in part."""
    name = _name(step)
    with suppress(OSError):
        (folder / name).move(f".{name}.new").remove()


def _write_files(folder: SafePath, checkpoint: Checkpoint) -> None:
    kinds = [*_KINDS, *(kind for kind in _OPTIONAL if getattr(checkpoint, kind))]
    files = {_file_of(kind): _tensor_bytes(getattr(checkpoint, kind)) for kind in kinds}
    files[STATE] = _json_bytes(checkpoint.state)
    for name, content in files.items():
        (folder / name).write(content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    (folder / MANIFEST).write(_json_bytes({"format": 1, "step": checkpoint.step, "files": digests}))


def _tensor_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    # Copies, since safetensors refuses tensors that share memory, such as views of a buffer.
    copies = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    _check_room(2 * sum(value.nbytes for value in copies.values()))
    return safetensors.torch.save(copies)


def _tensors(content: bytes, path: SafePath) -> dict[str, Tensor]:
    with reserving(len(content), str(path)):
        _check_room(len(content))
    return safetensors.torch.load(content)


def _check_room(size: int) -> None:
    """Raise MemoryError unless so many bytes can be allocated; safetensors would end the process instead."""
    bytearray(size + _MARGIN)


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def _read_verified(path: SafePath, digest: str) -> bytes:
    content = path.read(LARGEST_TENSORS)
    if hashlib.sha256(content).hexdigest() != digest:
        raise Damaged(f"{path.name} does not match its hash")
    return content


def _intact(folder: SafePath, candidates: list[int], notify: Notify) -> Iterator[Checkpoint]:
    for step in candidates:
        try:
            yield load(folder, step)
        except Damaged as damage:
            notify(f"the checkpoint of step {step} is damaged ({damage}); looking for an earlier one")

"""Run folders with a random thing wrong: a file, a link, a value in a JSON file, a tensor, a row.

Every command that reads a run either does its work or gives one message, and changes nothing outside of the folder.
Some are carried out where there is little memory.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import random
import resource
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from energyc.surfaces.cli import main
from tests.cli.run import SMALL
from tests.fuzz.cases import Find, command

#: The commands that read a run.
COMMANDS = (
    ("train", "--resume", "{run}", "--steps", "6", "--quiet"),
    ("eval", "{run}"),
    ("view", "{run}"),
    ("plot", "{run}", "--kind", "curves"),
    ("train", "--resume", "{run}", "--quiet"),
    ("verify", "{run}"),
    ("explain", "{run}"),
    ("new", "{run}/copied", "--from", "{run}/spec.energy"),
)
#: Of the run: it keeps an average of its params too.
SETTINGS = ("train.eval_every=2", "train.ema=0.9")
#: The share of cases with little memory, and the bytes that it leaves.
LITTLE, ROOM = 0.25, 2 << 30
#: Values of every type that JSON has, and of none that a run writes there.
VALUES = (None, True, 0, -1, 2**31, 2**63, 10**400, 1e308, -1e308, 5e-324, 1e-300, "", "W", "../..", "/etc/passwd",
          "\x00", "\ud800", "é" * 300, [], {}, [[]], {"": None}, [1, "2", None], {"step": -1})  # fmt: skip


def mutated(run: Path, rng: random.Random) -> str:
    """Change something in a run folder; the description names it."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and not path.is_symlink())
    path = rng.choice(files)
    change = rng.choice(_CHANGES)
    try:
        about = change(path, rng)
    except ValueError:  # an earlier change has left nothing of that kind
        about = _noise(path, rng)
    return f"{change.__name__.removeprefix('_')} {path.relative_to(run)}: {about}"


def _link(path: Path, rng: random.Random) -> str:
    target = rng.choice(
        ["/dev/zero", "../secret", "../../../secret", "nowhere", path.name, str(path.parents[1]), "/dev/null"]
    )
    path.unlink()
    path.symlink_to(target)
    return target


def _pipe(path: Path, rng: random.Random) -> str:
    path.unlink()
    os.mkfifo(path)
    return ""


def _folder(path: Path, rng: random.Random) -> str:
    path.unlink()
    path.mkdir()
    return ""


def _remove(path: Path, rng: random.Random) -> str:
    path.unlink()
    return ""


def _cut(path: Path, rng: random.Random) -> str:
    content = path.read_bytes()
    end = rng.randrange(len(content) + 1)
    path.write_bytes(content[:end])
    return str(end)


def _noise(path: Path, rng: random.Random) -> str:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 4, 64])):
        if content:
            content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(content)
    return ""


def _grow(path: Path, rng: random.Random) -> str:
    with path.open("r+b") as file:
        file.truncate(rng.choice([1 << 20, 1 << 33, 1 << 42]))
    return ""


def _value(path: Path, rng: random.Random) -> str:
    """Replace, remove or add a value anywhere in a JSON file, and make the manifest agree."""
    lines = path.suffix == ".jsonl"
    text = path.read_text(errors="replace")
    if path.suffix not in (".json", ".jsonl") or not text.strip():
        return _tensors(path, rng)
    rows = [json.loads(line) for line in text.splitlines()] if lines else [json.loads(text)]
    place = rng.choice(list(_places(rows)))
    new = rng.choice(VALUES)
    holder, key = place
    if rng.random() < 0.15 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = new
    dumped = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(dumped)
    _agree(path)
    return f"{key} = {str(new)[:40]!r}"


def _tensors(path: Path, rng: random.Random) -> str:
    """Change a tensor's name, shape, dtype or content in a file of safetensors, and make the manifest agree."""
    content = path.read_bytes()
    if path.suffix != ".safetensors" or len(content) < 8:
        return _noise(path, rng)
    (size,) = struct.unpack("<Q", content[:8])
    head, body = json.loads(content[8 : 8 + size]), bytearray(content[8 + size :])
    names = [name for name in head if name != "__metadata__"]
    if not names:
        return _noise(path, rng)
    name, kind = rng.choice(names), rng.choice(["name", "shape", "dtype", "content"])
    if kind == "name":
        head[rng.choice(["", "W.step", "a.b.c", "x" * 999, "W"])] = head.pop(name)
    elif kind == "shape":
        shape = head[name]["shape"]
        head[name]["shape"] = rng.choice([shape[::-1], [1, *shape], [_product(shape)]])
    elif kind == "dtype":
        head[name]["dtype"] = rng.choice(["I32", "F32", "BOOL", "I64", "F64"])
    else:
        first, last = head[name]["data_offsets"]
        body[first:last] = rng.choice([b"\xff", b"\x7f"]) * (last - first)
    written = json.dumps(head).encode()
    written += b" " * (-len(written) % 8)
    path.write_bytes(struct.pack("<Q", len(written)) + written + bytes(body))
    _agree(path)
    return f"{kind} of {name}"


_CHANGES: tuple[Callable[[Path, random.Random], str], ...] = (
    _link, _pipe, _folder, _remove, _cut, _noise, _grow, *[_value] * 8, *[_tensors] * 3
)  # fmt: skip


@contextmanager
def little_memory() -> Iterator[None]:
    """Leave this process room for a file of a run, and none for one that has grown to gigabytes."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)


def _agree(path: Path) -> None:
    """Write the hash of a changed file into the manifest beside it."""
    manifest = path.parent / "manifest.json"
    if manifest.is_file() and path != manifest:
        content = json.loads(manifest.read_text())
        content["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest.write_text(json.dumps(content))


def _product(shape: list[int]) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


@cache
def _made() -> Path:
    """A small run, made once."""
    folder = Path(tempfile.mkdtemp(prefix="energyc-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    spec = folder / "small.energy"
    spec.write_text(SMALL)
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    arguments = ["train", spec, "--steps", "4", "--out", folder / "run", "--quiet", *settings]
    assert main([str(argument) for argument in arguments]) == 0
    return folder / "run"


def case(seed: int) -> Find | None:
    """A command on a run folder with something wrong in it; beside the folder nothing may change."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="energyc-fuzz-") as folder:
        run = Path(shutil.copytree(_made(), Path(folder) / "run"))
        secret = Path(folder) / "secret"
        secret.write_text("precious")
        changes = "; ".join(mutated(run, rng) for _ in range(rng.choice([1, 1, 2])))
        words = [word.format(run=run) for word in rng.choice(COMMANDS)]
        with little_memory() if rng.random() < LITTLE else nullcontext():
            found = command(*words)
        about = f"{' '.join(words)}\n{changes}\n"
        if secret.read_text() != "precious" or sorted(os.listdir(folder)) != ["run", "secret"]:
            return Find("something beside the folder changed", about)
        return None if found is None else Find(found.cause, about + found.about)

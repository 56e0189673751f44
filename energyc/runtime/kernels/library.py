"""Kernels in C++: libraries, built from their source when first used, kept for the next time, believed if unchanged.

With a kept library are kept the kernels that have run here in a process of their own, and those that ended it. It is
loaded from a private copy, so that what is run is what was hashed.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

import torch
from torch import Tensor

from ...files import SafePath, cache_folder, keep_in_cache, kept_in_cache
from ...resources import resource
from ..tensors.states import Tensors
from ..tensors.warning import warn_caller

KINDS = {torch.float32: "float", torch.float64: "double"}
#: A line by which a source asks for a header of the runtime.
_INCLUDE = re.compile(r'^#include "(\w+\.h)"$', re.MULTILINE)

#: ``-march=native`` is tried first; a compiler that does not know it builds for the common denominator.
FLAGS = "-std=c++17 -O3 -fopenmp-simd -fno-math-errno -fno-trapping-math -shared -fPIC -pthread".split()
#: Seconds that a first step may take.
LONGEST_TRIAL = 60
DIED = "ended the process in which it was tried"
#: Ends of a trial that say little of the kernel: another time the machine may have more time, or more memory.
LATE = "made no step in the time that it has for the first"
KILLED = "was killed at its first step, perhaps for memory"
#: Loads a library and makes one step of a kernel on the numbers that come in: its path, the kernel's name, the numbers
#: of samples and of bytes. Every size and number is as it will be.
TRIAL = """
import ctypes, json, sys
path, name, sizes = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
def filled(size):
    space = ctypes.create_string_buffer(size + 64)
    alive.append(space)
    start = (ctypes.addressof(space) + 63) // 64 * 64
    sys.stdin.buffer.readinto((ctypes.c_char * size).from_address(start))
    return start
def addresses(sizes):
    found = (ctypes.c_void_p * len(sizes))(*map(filled, sizes))
    alive.append(found)
    return found
alive, number, pointer = [], ctypes.c_int64, ctypes.c_void_p
states, given = addresses(sizes["states"]), addresses(sizes["given"])
scalars, change = pointer(filled(sizes["scalars"])), pointer(filled(sizes["change"]) if sizes["change"] else None)
kernel = getattr(ctypes.CDLL(path), name)
kernel(number(sizes["samples"]), number(1), states, given, scalars, change, number(1))
"""


class Kernels:
    """The kernels of a source, by name.

    Each moves states by some steps in place, ``name_phase(samples, steps, states, given, scalars, change, threads)``;
    ``change`` [batch], if it is wanted, is the relative change of the step that would follow. Of those in ``rounded``
    there is a second one, ``name_bfloat16_phase``, with the ``products`` by whose name it is taken in float32.
    """

    #: A sample is on its own in a tile, so that one batch of two phases saves nothing.
    pairs = False

    def __init__(self, source: str, names: Sequence[str], rounded: Mapping[str, str] = {}) -> None:
        self.source = source
        self.names = names
        self.rounded = rounded
        self.libraries: dict[torch.dtype, Library] = {}
        self.failure: str | None = None

    def serve(self, name: str, states: Tensors, products: str | None = None) -> bool:
        """Return whether a kernel takes these states. It is built at first use; a failure is one warning.

        It takes any ``products``: one that is not made for those in bfloat16 has none that would gain by it.
        """
        x = states[0]
        if name not in self.names or x.device.type != "cpu" or x.dtype not in KINDS or self.failure is not None:
            return False
        if x.dtype not in self.libraries:
            try:
                self.libraries[x.dtype] = built(self.source, KINDS[x.dtype])
            except NoCompiler as error:
                self._fail(str(error))
        return self.failure is None

    def rounds(self, name: str) -> bool:
        """Return whether a kernel rounds the operands of a product where it is asked to."""
        return name in self.rounded

    def run(
        self,
        name: str,
        states: Tensors,
        given: Tensors,
        scalars: Sequence[float],
        steps: int,
        change: Tensor | None = None,
        products: str | None = None,
    ) -> bool:
        """Move the states in place; a kernel that has never run here is tried first, in a process of its own."""
        kind = states[0].dtype
        whole = [x.contiguous() for x in states]
        read = [(x.detach() if x.requires_grad else x).contiguous() for x in given]
        numbers = torch.tensor(scalars, dtype=kind)
        library = self.libraries[kind]
        rounds = kind == torch.float32 and self.rounded.get(name) == products is not None
        entry = f"{name}_bfloat16_phase" if rounds else f"{name}_phase"
        refusal = library.refusal(entry, whole, read, numbers, change)
        if refusal is not None:
            self._fail(refusal)
            return False
        function = getattr(library.loaded, entry)
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        function(
            number(len(states[0])),
            number(steps),
            pointers(whole),
            pointers(read),
            pointer(numbers.data_ptr()),
            pointer(None if change is None else change.data_ptr()),
            number(torch.get_num_threads()),
        )
        for x, moved in zip(states, whole):
            if moved is not x:
                x.copy_(moved)
        return True

    def _fail(self, why: str) -> None:
        """Run as torch operations from here on, and say so."""
        self.failure = why
        warn_caller(f"the kernels run as torch operations: {why}")


def pointers(tensors: Tensors) -> ctypes.Array[ctypes.c_void_p]:
    """Return the device of tensors."""
    return (ctypes.c_void_p * len(tensors))(*(x.data_ptr() for x in tensors))


class NoCompiler(Exception):
    """Kernels cannot be built here; the text says why."""


class Library:
    """A built library: its content, where it is kept, and which of its kernels ``ran`` or ``died`` when first tried.

    It ``is_new`` where it was built just now.
    """

    def __init__(
        self,
        content: bytes,
        place: SafePath,
        ran: Sequence[str] = (),
        died: Sequence[str] = (),
        is_new: bool = False,
    ) -> None:
        self.content = content
        self.place = place
        self.is_new = is_new
        self.ran = set(ran)
        self.died = set(died)

    @cached_property
    def loaded(self) -> ctypes.CDLL:
        """The library in this process, from a copy that nobody else can reach. Raises OSError."""
        with self._private_folder() as folder:
            return ctypes.CDLL(self._copied(folder))

    def refusal(self, name: str, states: Tensors, given: Tensors, scalars: Tensor, change: Tensor | None) -> str | None:
        """Why a kernel cannot be run here; None if it can. The first time it makes a step in a process of its own."""
        if name in self.ran:
            return None
        if name in self.died:
            return f"{name} {DIED}; to try again, delete {self.place}"
        sizes = {
            "samples": len(states[0]),
            "states": [_size_of(x) for x in states],
            "given": [_size_of(x) for x in given],
            "scalars": _size_of(scalars),
            "change": 0 if change is None else _size_of(change),
        }
        try:
            numbers = b"".join(map(_bytes_of, (*states, *given, scalars, *([] if change is None else [change]))))
            death = self._tried(name, json.dumps(sizes), numbers)
        except OSError as error:  # no space for a copy, no process to spare
            return f"{name} cannot be tried: {error.strerror or error}"
        if death not in (LATE, KILLED):
            (self.ran if death is None else self.died).add(name)
            self.keep()
        return None if death is None else f"{name} {death}"

    def keep(self) -> None:
        """Write the library where the next process finds it, if it can be written, with what others kept of it."""
        self._learn()
        with suppress(OSError):
            keep_in_cache(self.place, self.content, ran=sorted(self.ran), died=sorted(self.died))

    def _learn(self) -> None:
        """Take over what other processes kept of this library."""
        kept = kept_library(self.place)
        if kept is not None and kept.content == self.content:
            self.ran |= kept.ran
            self.died |= kept.died - self.ran

    def _tried(self, name: str, sizes: str, numbers: bytes) -> str | None:
        """Return how the first step of a kernel ended its process; None if it did not, or if there was no process."""
        if not sys.executable:  # an application that embeds Python
            return None
        with self._private_folder() as folder:
            command = [sys.executable, "-I", "-S", "-c", TRIAL, self._copied(folder), name, sizes]
            try:
                done = subprocess.run(command, input=numbers, capture_output=True, timeout=LONGEST_TRIAL)
            except subprocess.TimeoutExpired:
                return LATE
        if done.returncode >= 0:
            return None
        return KILLED if done.returncode == -signal.SIGKILL else DIED

    def _private_folder(self) -> tempfile.TemporaryDirectory[str]:
        """A folder in the cache: from a folder for temporary files, systems may run nothing."""
        return tempfile.TemporaryDirectory(dir=self.place.root)

    def _copied(self, folder: str) -> str:
        path = os.path.join(folder, "kernels.so")
        Path(path).write_bytes(self.content)
        return path


def built(source: str, kind: str = "float") -> Library:
    """The library of a source for ``float`` or ``double``, built unless it is kept from another time.

    The source names the headers of the runtime that it needs, as ``expanded`` reads them.
    The compiler is ``CXX``, or the first that is found; ``CXXFLAGS`` are added to its flags. Libraries are kept in
    ``$XDG_CACHE_HOME/energyc``, by the source, the command and the processor. Raises NoCompiler.
    """
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
    source = expanded(source)
    if compiler is None:
        raise NoCompiler("no C++ compiler was found; install one, or name it in CXX")
    command = [*compiler.split(), *FLAGS, f"-DREAL={kind}", *os.environ.get("CXXFLAGS", "").split()]
    target = probed([*command, "-march=native"])
    if target is not None:
        command.append("-march=native")
    else:
        target = probed(command)
    if target is None:
        raise NoCompiler(f"{compiler} does not compile C++17")
    key = hashlib.sha256("\0".join([source, target, *command]).encode()).hexdigest()[:32]
    try:
        place = cache_folder() / f"{key}.kernels"
        library = kept_library(place) or build(command, source, place)
        _ = library.loaded
    except OSError as error:
        raise NoCompiler(f"they cannot be built: {error}") from error
    return library


def probed(command: Sequence[str]) -> str | None:
    """The macros that a compiler defines for the processor it compiles for; None where the command fails."""
    try:
        done = subprocess.run([*command, "-dM", "-E", "-x", "c++", os.devnull], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def kept_library(place: SafePath) -> Library | None:
    """The library that is kept at a place; None where there is none, or it is not what was kept."""
    if (found := kept_in_cache(place)) is None:
        return None
    head, content = found
    with suppress(KeyError, TypeError, ValueError):
        return Library(content, place, head["ran"], head["died"])
    return None


def build(command: Sequence[str], source: str, place: SafePath) -> Library:
    """Compile, in a folder of its own, and keep. Raises NoCompiler, OSError."""
    with tempfile.TemporaryDirectory(dir=place.root) as folder:
        text, made = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
        text.write_text(source)
        done = subprocess.run([*command, str(text), "-o", str(made)], capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit status {done.returncode}"]
            raise NoCompiler(f"{command[0]} failed: {lines[0]}")
        library = Library(made.read_bytes(), place, is_new=True)
    library.keep()
    return library


def _size_of(x: Tensor) -> int:
    """The bytes from the first entry to the last one: fewer than those of all entries where some are the same."""
    last = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride()))
    return (last + 1) * x.element_size() if x.numel() else 0


def _bytes_of(x: Tensor) -> bytes:
    return ctypes.string_at(x.data_ptr(), _size_of(x))


def expanded(source: str) -> str:
    """Return a C++ source with the headers of the runtime in the place of the lines that include them.

    A compiler then needs one text, by which its library is also known. Raises FileNotFoundError for a header that the
    runtime does not have.
    """
    return _INCLUDE.sub(lambda line: _header(line[1]), source)


@cache
def _header(name: str) -> str:
    return resource("codegen", "cpp", name).read_text(encoding="utf-8").removesuffix("\n")

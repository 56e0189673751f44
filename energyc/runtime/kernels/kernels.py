"""Phases by compiled kernels: built from their source when first used, kept for the next time."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from energyc.runtime.equations.records import Fixed
from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.nudging.nudged import Drive
from energyc.runtime.tensors.states import Tensors

#: ``-march=native`` is tried first; a compiler that does not know it builds for the common denominator.
FLAGS = "-std=c++17 -O3 -fopenmp-simd -fno-math-errno -fno-trapping-math -shared -fPIC -pthread".split()
KINDS = {torch.float32: "float", torch.float64: "double"}


class NoCompiler(Exception):
    """Kernels cannot be built here; the text says why."""


class Kernels:
    """The kernels of a source, by name.

    Each moves states by some steps in place, ``name_phase(samples, steps, states, given, scalars, change, threads)``;
    ``change`` [batch], if it is wanted, is the relative change of the step that would follow.
    """

    #: A sample is on its own in a tile, so that one batch of two phases saves nothing.
    pairs = False

    def __init__(self, source: str, names: Sequence[str]) -> None:
        self.source = source
        self.names = names
        self.libraries: dict[torch.dtype, ctypes.CDLL] = {}
        self.failure: str | None = None

    def serve(self, name: str, states: Tensors, products: str | None = None) -> bool:
        """Whether a kernel takes these states; the first time it is built, and where that fails a warning says why.

        None rounds its ``products`` to bfloat16.
        """
        x = states[0]
        if products == "bfloat16":
            return False
        if name not in self.names or x.device.type != "cpu" or x.dtype not in KINDS or self.failure is not None:
            return False
        if x.dtype not in self.libraries:
            try:
                self.libraries[x.dtype] = ctypes.CDLL(str(built(self.source, KINDS[x.dtype])))
            except (NoCompiler, OSError) as error:
                self.failure = str(error)
                warnings.warn(f"the kernels run as torch operations: {error}", RuntimeWarning, stacklevel=2)
        return self.failure is None

    def run(
        self,
        name: str,
        states: Tensors,
        given: Tensors,
        scalars: Sequence[float],
        steps: int,
        change: Tensor | None = None,
        products: str | None = None,
    ) -> None:
        """Move the states in place."""
        kind = states[0].dtype
        whole = [x.contiguous() for x in states]
        read = [(x.detach() if x.dtype.is_floating_point else x).contiguous() for x in given]
        numbers = torch.tensor(scalars, dtype=kind)
        function = getattr(self.libraries[kind], f"{name}_phase")
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


def pointers(tensors: Tensors) -> ctypes.Array[ctypes.c_void_p]:
    """Where tensors are."""
    return (ctypes.c_void_p * len(tensors))(*(x.data_ptr() for x in tensors))


class PhaseKernels(Protocol):
    """The kernels of a network's phases, by name; ``pairs``: those of nudged phases take a batch of two phases."""

    names: Sequence[str]
    pairs: bool

    def serve(self, name: str, states: Tensors, products: str | None = None) -> bool:
        """Whether a kernel takes these states and products; where one could and does not, a warning says once why."""

    def run(
        self,
        name: str,
        states: Tensors,
        given: Tensors,
        scalars: Sequence[float],
        steps: int,
        change: Tensor | None = None,
        products: str | None = None,
    ) -> None:
        """Move the states in place; ``change`` [batch] becomes the relative change of the step that would follow."""


class KernelNetwork(EnergyNetwork):
    """A network whose phases run in kernels where those take its states; elsewhere as torch operations."""

    kernels: PhaseKernels
    #: What the names of its own kernels begin with.
    _kernel_prefix = ""
    #: Whether they are the same in training, where a force may read the flag ``training``.
    _kernels_in_training = True

    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The tensors that a kernel reads, in its order."""
        raise NotImplementedError

    def _serving(self, phase: str, states: Tensors) -> str | None:
        """The kernel of a phase, if it takes these states."""
        if self.training and not self._kernels_in_training:
            return None
        name = self._kernel_prefix + phase
        return name if self.kernels.serve(name, states, self.products) else None

    @property
    def _joins(self) -> bool:
        return super()._joins and self.kernels.pairs

    def _steps_(self, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float]) -> None:
        name = self._serving("free", states)
        if name is None:
            super()._steps_(states, fixed, first, count, step)
        else:
            given = self._given(name, self._at(fixed, first), ())
            self.kernels.run(name, states, given, step, count, None, self.products)

    def _residual(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
        name = self._serving("free", states) if self.relax_measure == "residual" else None
        if name is None:
            return super()._residual(states, fixed, step)
        change = states[0].new_empty(len(states[0]))
        self.kernels.run(name, states, self._given(name, fixed, ()), step, 0, change, self.products)
        done = change.device.type != "cpu" or bool(change.isfinite().all())
        return change if done else super()._residual(states, fixed, step)

    def _nudged_steps_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        beta: float,
        drive: Drive,
        count: int,
        step: Sequence[float],
        turned: int | None = None,
    ) -> None:
        usual = drive == self._nudge or (drive == self._cost_force and not self.descends)
        name = self._serving("nudged", states) if usual else None
        if name is None:
            super()._nudged_steps_(states, fixed, targets, beta, drive, count, step, turned)
        else:
            given, last = self._given(name, fixed, targets), float("inf") if turned is None else turned
            self.kernels.run(name, states, given, (beta, *step, last), count, None, self.products)

    def _tracking_steps_(
        self,
        plus: list[Tensor],
        minus: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        beta: float,
        count: int,
        step: Sequence[float],
    ) -> None:
        name = self._serving("tracking", plus)
        if name is None:
            super()._tracking_steps_(plus, minus, fixed, targets, beta, count, step)
        else:
            given = self._given(name, fixed, targets)
            self.kernels.run(name, [*plus, *minus], given, (beta, *step), count, None, self.products)


# -------------------------------------------------------------------- building


def built(source: str, kind: str = "float") -> Path:
    """The library of a source for ``float`` or ``double``, built unless it is kept from another time.

    The compiler is ``CXX``, or the first that is found; ``CXXFLAGS`` are added to its flags. Libraries are kept in
    ``$XDG_CACHE_HOME/energyc``, by the source, the command and the processor. Raises NoCompiler.
    """
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
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
        library = cache_folder() / f"{key}.so"
        if not library.exists():
            build(command, source, library)
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


def cache_folder() -> Path:
    """Where libraries are kept; a folder for this process where none can be made."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "energyc"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or no place in it
        return Path(tempfile.mkdtemp(prefix="energyc-"))
    return folder if os.access(folder, os.W_OK) else Path(tempfile.mkdtemp(prefix="energyc-"))


def build(command: Sequence[str], source: str, library: Path) -> None:
    """Compile into a file of its own and move it into place, so that two processes do not meet. Raises NoCompiler."""
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        text, made = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
        text.write_text(source)
        done = subprocess.run([*command, str(text), "-o", str(made)], capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit status {done.returncode}"]
            raise NoCompiler(f"{command[0]} failed: {lines[0]}")
        made.replace(library)

"""Arrays of numbers in MATLAB's version 5 files (what save -v6 and -v7 write), by ``scipy.io`` in a child process.

A damaged file can crash the process in which SciPy reads it, so that is not the caller's.
"""

from __future__ import annotations

import io
import math
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from energyc.running.data import files
from energyc.running.data.errors import malformed

EXPECTED = "a MATLAB file of version 5 to 7 that holds arrays of numbers"
REMEDY = "in MATLAB: save('graph.mat', 'Network', 'Attributes', 'Label', '-v7')"
#: The classes of arrays that hold numbers; others are not built, since that may be costly.
NUMBERS = frozenset("double single int8 uint8 int16 uint16 int32 uint32 int64 uint64 logical sparse".split())
#: The exit status of the child where it has written what is wrong to its standard error.
REFUSED = 3
#: Bytes of address space for Python, NumPy and SciPy.
LIBRARIES = 8 << 30
#: The arrays of a sparse matrix in columns.
PARTS = ("data", "indices", "indptr", "shape")


def read_matlab(path: Path, names: Collection[str]) -> dict[str, Any]:
    """Return the arrays of these names that a file holds, dense or sparse (``scipy.sparse``). Raises UserError.

    At most ``LARGEST_FILE`` bytes are built. A name that is there and is not an array of real numbers is refused.
    """
    from scipy.sparse import csc_array

    content = files.read_bytes(path, EXPECTED, REMEDY)
    command = [sys.executable, "-m", __name__, str(files.LARGEST_FILE), *names]
    done = subprocess.run(command, input=content, capture_output=True)
    if done.returncode != 0:
        problem = done.stderr.decode(errors="replace").strip() if done.returncode == REFUSED else "damaged or cut off"
        raise malformed(str(path), problem, EXPECTED, REMEDY)
    stored = dict(np.load(io.BytesIO(done.stdout), allow_pickle=False))
    found: dict[str, Any] = {}
    for key, array in stored.items():
        name, dot, part = key.partition(".")
        if not dot:
            found[name] = array
        elif part == PARTS[0]:
            indices, starts, shape = (stored[f"{name}.{other}"] for other in PARTS[1:])
            found[name] = csc_array((array, indices, starts), shape=tuple(shape))
    return found


# ------------------------------------------------------------------ the child


class Refused(Exception):
    """What a file holds is not what was asked for."""


def _read(content: bytes, most: int, names: Collection[str]) -> dict[str, np.ndarray]:
    """Return the arrays, a sparse one as its parts. Raises Refused; whatever SciPy raises."""
    from scipy.io import loadmat, whosmat

    if content[:8] == b"\x89HDF\r\n\x1a\n" or content[:19] == b"MATLAB 7.3 MAT-file":
        raise Refused("a MATLAB file of version 7.3 (HDF5)")
    held = [(name, shape, kind) for name, shape, kind in whosmat(io.BytesIO(content)) if name in names]
    for name, _, kind in held:
        if kind not in NUMBERS:
            raise Refused(f"{name} is of class {kind}, not an array of numbers")
    if sum(8 * math.prod(shape) for _, shape, kind in held if kind != "sparse") > most:
        raise Refused(f"unpacks to more than {most >> 20:,} MiB")
    arrays = loadmat(io.BytesIO(content), variable_names=[name for name, *_ in held]) if held else {}
    return {key: part for name, *_ in held for key, part in _parts(name, arrays[name])}


def _parts(name: str, array: Any) -> Iterator[tuple[str, np.ndarray]]:
    from scipy.sparse import issparse

    if np.iscomplexobj(array):
        raise Refused(f"{name} is complex, not an array of real numbers")
    if not issparse(array):
        yield name, array
        return
    matrix = array.tocsc()
    rows, starts = matrix.indices, matrix.indptr
    if not (np.diff(starts) >= 0).all() or (len(rows) and not 0 <= rows.min() <= rows.max() < matrix.shape[0]):
        raise Refused(f"the sparse matrix {name} is broken")
    for part in PARTS:
        yield f"{name}.{part}", np.asarray(getattr(matrix, part))


def _limit_memory(most: int) -> None:
    """Limit the memory of this process, since the entries of a sparse matrix are not counted before they are read."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (LIBRARIES + 2 * most, resource.RLIM_INFINITY))


def main(arguments: Sequence[str]) -> int:
    """Read a file from standard input and write its arrays to standard output as an npz; return the exit status."""
    stream, most = io.BytesIO(), int(arguments[0])
    _limit_memory(most)
    try:
        arrays: dict[str, Any] = _read(sys.stdin.buffer.read(), most, arguments[1:])
        np.savez(stream, **arrays)
    except Refused as refused:
        sys.stderr.write(str(refused))
        return REFUSED
    except Exception:  # SciPy's reader may raise anything on a damaged file
        return 1
    sys.stdout.buffer.write(stream.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

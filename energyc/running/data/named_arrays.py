"""Arrays of one's own in an npz, each by the name of the input that it feeds."""

from __future__ import annotations

from collections.abc import Collection
from os import PathLike
from pathlib import Path

import numpy as np

from energyc.running.data.files import open_npz

EXPECTED = "an npz of arrays of numbers"
REMEDY = "write it by numpy.savez(PATH, x=..., label=...)"


def named_arrays(path: str | PathLike[str], names: Collection[str]) -> dict[str, np.ndarray] | None:
    """The arrays of an npz that holds one for each of ``names``; None where it lacks one or is no npz.

    An adapter that reads such files names their arrays otherwise. Raises UserError for a broken or too large npz.
    """
    place = Path(path)
    if not names or place.suffix.lower() != ".npz" or not place.is_file():
        return None
    with open_npz(place, EXPECTED, REMEDY) as arrays:
        return {name: arrays[name] for name in arrays.files} if set(names) <= set(arrays.files) else None

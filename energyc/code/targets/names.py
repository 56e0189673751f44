"""Identifiers in kernels: what a spec calls something, in a shape that nothing else has.

A name of a spec ends in an underscore, in Triton that of a pointer in ``_ptr``; the size of a dim ``D`` is ``n_D``. No
word of C++ or Python has such a shape, nor a macro of a C header, nor anything that kernels call. So no list of words
is needed, and no name of a spec can break a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: The shapes of names: of a value, of a pointer, of the size of a dim.
VALUE, POINTER, SIZE = "{}_", "{}_ptr", "n_{}"


class Names:
    """Gives each wish an ASCII identifier of a shape; the same one never twice, and none that is ``taken``."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[tuple[str, str], int] = {}  # the first number of a wish that may be free: none gets free again

    def new(self, wish: str, shape: str = VALUE) -> str:
        """The wish in its shape; numbered where another wish has the same letters."""
        base = re.sub(r"[^A-Za-z0-9]+", "_", wish).strip("_")
        if not base[:1].isalpha():
            base = f"v{base}"
        k = self._next.get((base, shape), 1)
        while (name := shape.format(f"{base}_{k}" if k > 1 else base)) in self._taken:
            k += 1
        self._taken.add(name)
        self._next[base, shape] = k + 1
        return name

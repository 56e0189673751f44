"""Identifiers in kernels: what a spec calls something, in a shape that nothing else has.

A name of a spec ends in an underscore, and in Triton that of a pointer ends in ``_ptr``. No word of C++ or Python ends
so, nor a macro of a C header, nor anything that this compiler or its runtime names itself. So no list of words is
needed, and no name of a spec can break a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: How the name of a value ends, and that of a pointer.
VALUE, POINTER = "_", "_ptr"


class Names:
    """Gives each wish an ASCII identifier of that shape; the same one never twice, and none that is ``taken``."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def new(self, wish: str, end: str = VALUE) -> str:
        """The wish with its end; numbered where another wish has the same letters."""
        base = re.sub(r"[^A-Za-z0-9]+", "_", wish).strip("_")
        if not base[:1].isalpha():
            base = f"v{base}"
        name, k = f"{base}{end}", 2
        while name in self._taken:
            name, k = f"{base}_{k}{end}", k + 1
        self._taken.add(name)
        return name

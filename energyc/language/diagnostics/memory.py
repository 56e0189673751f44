"""Running out of memory: a state of the machine, which says nothing about what was read or computed."""

from __future__ import annotations

import errno
import re

from energyc.language.diagnostics.model import UserError

#: How torch words it, whose allocators of the CPU raise a plain RuntimeError.
_OF_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory|bad_alloc", re.IGNORECASE)
_HELP = "free some memory, or use less: a smaller train.batch, smaller dims, fewer samples at once"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of the system, Python, NumPy or torch says that memory could not be allocated."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and bool(_OF_MEMORY.search(str(error))))


def out_of_memory(error: BaseException) -> UserError:
    """The error E0916 for an exception that says that memory could not be allocated."""
    said = str(error).splitlines()[0] if str(error) else ""
    return UserError(f"there is not enough memory{said and f': {said}'}", code="E0916", help=_HELP)

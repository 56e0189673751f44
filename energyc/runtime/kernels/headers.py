"""The C++ headers of the runtime: a source names those that it needs, and they are put in before it is built."""

from __future__ import annotations

import re
from functools import cache

from ...resources import resource

#: A line by which a source asks for a header of the runtime.
_INCLUDE = re.compile(r'^#include "(\w+\.h)"$', re.MULTILINE)


def expanded(source: str) -> str:
    """Return a C++ source with the headers of the runtime in the place of the lines that include them.

    A compiler then needs one text, by which its library is also known. Raises FileNotFoundError for a header that the
    runtime does not have.
    """
    return _INCLUDE.sub(lambda line: _header(line[1]), source)


@cache
def _header(name: str) -> str:
    return resource("codegen", "cpp", name).read_text(encoding="utf-8").removesuffix("\n")

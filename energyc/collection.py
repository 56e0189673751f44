"""The garbage collector of Python, while much is made that stays.

Imports: nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: New objects after which Python looks for cycles; its own default is 700.
RARELY = 1_000_000


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Look for cycles after a million new objects only; also a decorator.

    Modules, trees and graphs stay. Looking through them again and again takes a third of the time of ``energyc.load``.
    """
    before = gc.get_threshold()
    gc.set_threshold(RARELY, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)

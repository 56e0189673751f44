"""The memory of this process: its resident set, and how much a call lets it grow. Linux alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

MIB = 1024
#: Environment by which the C library returns freed memory at once, so that growth does not depend on what is free.
GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _read(field: str) -> int:
    match = re.search(rf"{field}:\s+(\d+) kB", STATUS.read_text())
    assert match is not None
    return int(match.group(1))


def peak_growth(call: Callable[[], object]) -> float:
    """The growth of the peak resident set during a call, in MiB."""
    RESET.write_text("5")
    before = _read("VmRSS")
    call()
    return (_read("VmHWM") - before) / MIB

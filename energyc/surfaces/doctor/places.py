"""The cache, and what is kept there."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from energyc.resources import cache_place
from energyc.surfaces.doctor.finding import Finding

_WITHOUT = "kernels are built, and the grammar's tables made, anew in each process"


def caches() -> Iterator[Finding]:
    """Yield findings on the cache folder and on the tables of the grammar in it."""
    elsewhere = f"export XDG_CACHE_HOME={shlex.quote(os.path.join(tempfile.gettempdir(), 'cache'))}"
    try:
        place = cache_place()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"energyc")
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        named = getattr(error, "filename", None)
        place_text = f" in {named}" if named else ""
        yield Finding("cache", "broken", f"nothing can be kept{place_text}: {why}; {_WITHOUT}", elsewhere)
        return
    sizes = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
    megabytes, total = sum(sizes) / 1e6, sum(sizes)
    facts = {"place": str(place), "bytes": total, "files": len(sizes)}
    says = f"{place}, {len(sizes)} file{'s' if len(sizes) != 1 else ''}, {megabytes:.1f} MB"
    yield Finding("cache", "works", says, facts=facts)
    yield _tables(place)


def _tables(place: Path) -> Finding:
    from energyc.language.syntax.grammar import TABLES

    kept = place / TABLES
    if kept.exists():
        return Finding("grammar", "works", f"tables are kept, {kept.stat().st_size / 1e3:.0f} kB")
    return Finding("grammar", "none", "no tables are kept yet; the first spec that is read makes them")

"""How soon an editor knows: each shipped spec read by the front end, and after a key was pressed in it.

    python -m benchmarks.language_server

``reading`` is the front end alone (words, tree, names, types, symbols), in milliseconds of the processor. ``typed`` is
what an editor waits for: from a change of one character, which breaks a statement, to the diagnostics of the new text,
over the protocol of a real process, less the server's pause of ``DELAY`` seconds for further keys; on a busy machine
others count too. Least and median of several.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from energyc.resources import folder
from energyc.surfaces.lsp.reading import read
from energyc.surfaces.lsp.server import DELAY
from tests.lsp.client import Editor

TIMES = 5


def reading(name: str, text: str) -> list[float]:
    """Milliseconds of the processor that readings take, which other work on the machine hardly lengthens."""
    taken = []
    for _ in range(TIMES):
        start = time.process_time()
        assert read(name, text).symbols
        taken.append(1e3 * (time.process_time() - start))
    return taken


def typed(editor: Editor, uri: str, text: str) -> list[float]:
    """Milliseconds from a change to its diagnostics, without the pause."""
    editor.open(uri, text)
    assert editor.diagnostics(uri, 1) == []
    line = next(k for k, content in enumerate(text.splitlines()) if content.startswith(("energy", "next", "readout")))
    taken = []
    for version in range(2, 2 * TIMES + 2):
        broken = version % 2 == 0
        spot = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0 if broken else 1}}
        start = time.perf_counter()
        editor.change(uri, version, {"range": spot, "text": "x" if broken else ""})
        assert bool(editor.diagnostics(uri, version)) == broken
        taken.append(1e3 * (time.perf_counter() - start - DELAY))
    return taken


def main() -> None:
    """Print a row for each shipped spec."""
    print(f"{'spec':<20} {'lines':>5} {'reading':>8} {'median':>7} {'typed':>7} {'median':>7}  (ms)")
    with tempfile.TemporaryDirectory() as empty, Editor(Path(empty), {"analysis": False}) as editor:
        for path in sorted(folder("specs").glob("*.energy")):
            text = path.read_text(encoding="utf-8")
            alone, waited = reading(path.name, text), typed(editor, f"file:///{path.name}", text)
            figures = (min(alone), statistics.median(alone), min(waited), statistics.median(waited))
            print(f"{path.stem:<20} {text.count(chr(10)):>5} " + " ".join(f"{figure:7.1f}" for figure in figures))


if __name__ == "__main__":
    main()

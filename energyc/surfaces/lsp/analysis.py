"""The slower passes on texts that were saved: ``energyc check`` in a process of its own, at most ``WORKERS`` at a time.

The documents that wait are in a queue. A process is killed when its text changes, and whatever becomes of it, the
server lives on: that is why each text gets a fresh one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from energyc.surfaces.lsp.documents import Document

#: After so many seconds the analysis is given up.
SECONDS = 120.0
#: So many processes run at once: typing needs a core, too.
WORKERS = 1 if (os.cpu_count() or 1) < 4 else 2
#: ``-P``: nothing is imported from the folder that the editor was started in.
COMMAND = (sys.executable, "-P", "-m", "energyc", "check", "-", "--format", "json")


@dataclass
class Analyses:
    """The queue of the documents that are to be analysed, and those that are under way; ``analyse`` does one.

    The document that was opened, saved or asked about last goes first: it is the one that is looked at.
    """

    analyse: Callable[[Document], Coroutine[Any, Any, None]]
    most: int = WORKERS
    waiting: dict[str, Document] = field(default_factory=dict)
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _workers: set[asyncio.Task[None]] = field(default_factory=set)

    def put(self, document: Document) -> None:
        """Analyse the present text of a document, in place of any older one."""
        self.drop(document)
        self.waiting[document.uri] = document
        if len(self._workers) < self.most:
            worker = asyncio.get_running_loop().create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    def prefer(self, document: Document) -> None:
        """Note that a document is looked at: where it waits, it goes first."""
        if self.waiting.pop(document.uri, None) is not None:
            self.waiting[document.uri] = document

    def drop(self, document: Document) -> None:
        """Give up what is under way for a document."""
        self.waiting.pop(document.uri, None)
        if document.uri in self.running:
            self.running[document.uri].cancel()

    def stop(self) -> None:
        """Give up everything."""
        self.waiting.clear()
        for task in self.running.values():
            task.cancel()

    async def _work(self) -> None:
        """Analyse what waits, one document after the other, until nothing does."""
        while (document := self._next()) is not None:
            task = asyncio.get_running_loop().create_task(self.analyse(document))
            self.running[document.uri] = task
            try:
                await asyncio.wait([task])
            finally:
                del self.running[document.uri]

    def _next(self) -> Document | None:
        """The document that goes first; one whose older text is still being given up waits for that."""
        uri = next((uri for uri in reversed(self.waiting) if uri not in self.running), None)
        return None if uri is None else self.waiting.pop(uri)


async def analysed(text: str) -> Mapping[str, Any]:
    """The report of ``energyc check`` as JSON; empty where it gave none in time. Cancelling it kills the process."""
    pipe, silent = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(*COMMAND, stdin=pipe, stdout=pipe, stderr=silent)
    except OSError:  # the system has no process to spare
        return {}
    try:
        output, _ = await asyncio.wait_for(process.communicate(text.encode()), SECONDS)
        report = json.loads(output)
        return report if isinstance(report, dict) and report.get("class") else {}
    except (TimeoutError, ValueError):
        return {}
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()  # the next one starts once this one is gone

"""The queue of analyses: how many run at once, which goes first, and what becomes of older texts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from energyc.surfaces.lsp import analysis
from energyc.surfaces.lsp.analysis import Analyses
from energyc.surfaces.lsp.documents import Document, Text


class Bench:
    """Analyses that last until they are told to end, and what happened to each."""

    def __init__(self, most: int = 1) -> None:
        self.started: list[str] = []
        self.finished: list[str] = []
        self.given_up: list[str] = []
        self.at_once = self.most_at_once = 0
        self.gates: dict[str, asyncio.Event] = {}
        self.queue = Analyses(self._analyse, most)

    async def _analyse(self, document: Document) -> None:
        text = document.text.content
        self.started.append(text)
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            await self.gates.setdefault(text, asyncio.Event()).wait()
            self.finished.append(text)
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # a process takes a moment to be gone
            self.given_up.append(text)
            raise
        finally:
            self.at_once -= 1

    async def end(self, text: str) -> None:
        self.gates.setdefault(text, asyncio.Event()).set()
        await settled()


async def settled() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


def document(name: str) -> Document:
    return Document(f"file:///{name}", Text(name))


def in_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@pytest.mark.parametrize("most", [1, 2])
def test_many_documents_are_analysed_a_few_at_a_time(most: int) -> None:
    async def run() -> None:
        bench = Bench(most)
        for k in range(26):
            bench.queue.put(document(str(k)))
        await settled()
        assert len(bench.started) == most
        for k in range(26):
            await bench.end(str(k))
        assert sorted(bench.finished, key=int) == [str(k) for k in range(26)]
        assert bench.most_at_once == most and not bench.queue.running and not bench.queue.waiting

    asyncio.run(run())


@in_a_loop
async def test_the_document_that_is_looked_at_goes_first() -> None:
    bench = Bench()
    documents = {name: document(name) for name in "abcd"}
    bench.queue.put(documents["a"])
    await settled()
    for name in "bcd":
        bench.queue.put(documents[name])
    bench.queue.prefer(documents["b"])
    bench.queue.prefer(documents["a"])  # it is under way, and is not begun again
    for name in "abdc":
        await bench.end(name)
    assert bench.started == bench.finished == list("abdc")


@in_a_loop
async def test_a_newer_text_takes_the_place_of_an_older_one() -> None:
    bench = Bench(2)
    first, other = document("first"), document("other")
    bench.queue.put(first)
    bench.queue.put(other)
    await settled()
    for k in range(5):
        first.text = Text(f"first {k}")
        bench.queue.put(first)
    await settled()
    assert bench.given_up == ["first"] and bench.started == ["other", "first", "first 4"]
    await bench.end("other")
    await bench.end("first 4")
    assert bench.finished == ["other", "first 4"] and bench.most_at_once == 2


@in_a_loop
async def test_what_is_dropped_is_not_analysed() -> None:
    bench = Bench()
    first, second, third = (document(name) for name in ("first", "second", "third"))
    for each in (third, second, first):
        bench.queue.put(each)
    await settled()
    bench.queue.drop(second)
    bench.queue.drop(first)
    bench.queue.drop(document("never seen"))
    await settled()
    assert bench.given_up == ["first"]
    await bench.end("third")
    assert bench.started == ["first", "third"] and bench.finished == ["third"]


@in_a_loop
async def test_stopping_ends_all() -> None:
    bench = Bench(2)
    for k in range(5):
        bench.queue.put(document(str(k)))
    await settled()
    bench.queue.stop()
    await settled()
    assert len(bench.given_up) == len(bench.started) == 2 and bench.at_once == 0
    assert not bench.queue.waiting and not bench.queue.running


def test_nothing_is_begun_once_the_loop_ends() -> None:
    bench = Bench()

    async def run() -> None:
        bench.queue.put(document("first"))
        bench.queue.put(document("second"))
        await settled()

    asyncio.run(run())
    assert bench.started == bench.given_up == ["second"]


def test_a_process_that_cannot_be_started_gives_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "COMMAND", ("/nowhere/energyc",))
    assert asyncio.run(analysis.analysed("network n\n")) == {}


def test_a_process_that_lasts_too_long_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "COMMAND", ("sleep", "60"))
    monkeypatch.setattr(analysis, "SECONDS", 0.2)
    assert asyncio.run(analysis.analysed("network n\n")) == {}

"""A small editor: it starts the server, speaks JSON-RPC with it, and keeps what it says unasked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType
from typing import Any

SECONDS = 120.0
CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {"completion": {"completionItem": {"snippetSupport": True}}},
    "workspace": {"inlayHint": {"refreshSupport": True}},
}


class Failed(Exception):
    """A request that was answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"])
        self.code, self.message = error["code"], error["message"]


class Editor:
    """An editor with a server process of its own, started in ``folder``; an ``encoding`` of None offers none."""

    def __init__(self, folder: Path, options: Mapping[str, Any] | None = None, encoding: str | None = "utf-16") -> None:
        command = [sys.executable, "-m", "energyc", "lsp"]
        root = str(Path(__file__).parents[2])
        environment = {**os.environ, "PYTHONPATH": root}
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.messages: Queue[dict[str, Any] | None] = Queue()
        self.unasked: list[dict[str, Any]] = []
        self._answers: dict[int, dict[str, Any]] = {}
        self._id = 0
        threading.Thread(target=self._read, daemon=True).start()
        capabilities = {**CAPABILITIES, "general": {"positionEncodings": [encoding]} if encoding else {}}
        started = {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities}
        self.server = self.request("initialize", {**started, "initializationOptions": dict(options or {})})
        self.notify("initialized", {})

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    # ------------------------------------------------------------ the wire

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            body = stream.read(length) if line else b""
            if not body:
                self.messages.put(None)
                return
            self.messages.put(json.loads(body))

    def send_raw(self, body: bytes) -> None:
        stream = self.process.stdin
        assert stream is not None
        stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        stream.flush()

    def send(self, message: Mapping[str, Any]) -> None:
        self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> int:
        """Send a request and do not wait."""
        self._id += 1
        self.send({"id": self._id, "method": method, "params": params})
        return self._id

    def answer(self, number: int) -> Any:
        """Wait for the answer of a request. Raises Failed."""
        self._until(lambda: number in self._answers)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]

    def request(self, method: str, params: Any = None) -> Any:
        return self.answer(self.ask(method, params))

    def _until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            try:
                message = self.messages.get(timeout=SECONDS)
            except Empty:
                raise AssertionError("the server does not answer") from None
            assert message is not None, "the server has gone"
            if "method" in message:
                self.unasked.append(message)
                if "id" in message:
                    self.send({"id": message["id"], "result": None})
            elif isinstance(message["id"], int):  # the editor's own requests have numbers
                self._answers[message["id"]] = message

    # ------------------------------------------------------------ documents

    def open(self, uri: str, text: str, version: int = 1) -> None:
        item = {"uri": uri, "languageId": "energy", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, version: int, *changes: Mapping[str, Any]) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def diagnostics(self, uri: str, version: int) -> list[dict[str, Any]]:
        """The diagnostics of a version of a document; waits for them."""

        def said() -> list[dict[str, Any]]:
            return [
                message["params"]
                for message in self.unasked
                if message["method"] == "textDocument/publishDiagnostics"
                and (message["params"]["uri"], message["params"].get("version")) == (uri, version)
            ]

        self._until(lambda: bool(said()))
        last: list[dict[str, Any]] = said()[-1]["diagnostics"]
        return last

    def wait_for(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first unasked message of a kind; waits for it."""
        self._until(lambda: any(map(found, self.unasked)))
        return next(message for message in self.unasked if found(message))

    def at(self, uri: str, line: int, character: int, **more: Any) -> dict[str, Any]:
        """The params of a request about a position."""
        return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}, **more}

    @property
    def complaints(self) -> list[str]:
        """The internal errors that the server has logged or shown."""
        methods = ("window/logMessage", "window/showMessage")
        return [message["params"]["message"] for message in self.unasked if message["method"] in methods]

    def close(self) -> int:
        """Shut the server down, and return its exit status."""
        self.request("shutdown")
        self.notify("exit", None)
        return self.process.wait(SECONDS)

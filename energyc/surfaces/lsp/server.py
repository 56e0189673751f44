"""The server: documents, and which function answers which request."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest, JsonRpcServerNotInitialized
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import RPCRequest

from energyc.surfaces.lsp import completion, decorations, navigation
from energyc.surfaces.lsp.analysis import Analyses, analysed
from energyc.surfaces.lsp.decorations import hints
from energyc.surfaces.lsp.diagnostics import actions, formatted, published
from energyc.surfaces.lsp.documents import Document, Text, View
from energyc.surfaces.lsp.hover import SIGNATURE_TRIGGERS, hover, signature
from energyc.surfaces.lsp.outline import folds, symbols
from energyc.surfaces.lsp.reading import read
from energyc.version import __version__

#: The seconds of rest after which a text that is being typed is checked.
DELAY = 0.15
#: The error code of a request that is refused with a message.
REFUSED = -32803
WARM_UP = (
    "network n\ndata d = digits(side = 8)\ndim I = 64\nclamp x[I] = d.image\nstate z[I]\nenergy e = sum[i](z[i]^2)"
)

T = TypeVar("T")


class Protocol(LanguageServerProtocol):
    """The protocol, with documents of our own: pygls would end lines at more characters than editors do.

    Every request is answered: one whose params have the wrong form, too, and one that comes too early or too late.
    """

    _server: Server

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            return None

    def handle_message(self, message: Any) -> None:
        if not hasattr(message, "jsonrpc"):
            return
        method, early = getattr(message, "method", ""), not self._server.started
        if isinstance(message, RPCRequest) and (self._shutdown or (early and method != types.INITIALIZE)):
            refused = JsonRpcInvalidRequest() if self._shutdown else JsonRpcServerNotInitialized()
            self._send_response(message.id, error=refused.to_response_error())
        elif not early or method in (types.INITIALIZE, types.EXIT):
            super().handle_message(message)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._server.opened(params.text_document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self._server.changed(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.closed(params.text_document.uri)


class Server(LanguageServer):
    """The language server of energyc."""

    def __init__(self) -> None:
        super().__init__("energyc", __version__, protocol_cls=Protocol, max_workers=2)
        self.documents: dict[str, Document] = {}
        self.front_end = ThreadPoolExecutor(1, "front-end")
        self.started = False
        self.analyses = Analyses(self._analyse)
        self.analysing = True
        self.ended_properly = False
        _register(self)

    # ------------------------------------------------------------ documents

    @property
    def encoding(self) -> str:
        """The units that columns are counted in."""
        return types.PositionEncodingKind(self.workspace.position_encoding or "utf-16").value

    def opened(self, item: types.TextDocumentItem) -> None:
        """Take a document and check it at once."""
        self.closed(item.uri)
        document = self.documents[item.uri] = Document(item.uri, Text(item.text, self.encoding), item.version)
        self._schedule(document, 0.0)
        self.analyse(document)

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """Change a document, and check it once nobody has typed for a moment."""
        document = self.documents.get(params.text_document.uri)
        if document is not None:
            self.analyses.drop(document)
            document.change(document.text.changed(params.content_changes), params.text_document.version)
            self._schedule(document, DELAY)

    def closed(self, uri: str) -> None:
        """Forget a document, and what was said of it."""
        document = self.documents.pop(uri, None)
        if document is not None:
            self.analyses.drop(document)
            document.change(Text(""), None)
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _schedule(self, document: Document, delay: float) -> None:
        loop = asyncio.get_running_loop()
        document.timer = loop.call_later(delay, lambda: loop.create_task(self.publish(document)))

    async def publish(self, document: Document) -> None:
        """Send what is to be said of a document."""
        version = document.version
        diagnostics = await self.ask(document, published)
        if diagnostics is not None and self.documents.get(document.uri) is document and document.version == version:
            params = types.PublishDiagnosticsParams(document.uri, diagnostics, version)
            self.text_document_publish_diagnostics(params)

    def analyse(self, document: Document) -> None:
        """Analyse a document in the background, unless the editor wants none of that."""
        if self.analysing:
            self.analyses.put(document)

    async def _analyse(self, document: Document) -> None:
        text = document.text
        reading = await document.reading(self.front_end)
        if not reading.ok:
            return
        report = await analysed(reading.source.text)
        if document.text is text and report:
            document.report = report
            await self.publish(document)
            self._refresh()

    def _refresh(self) -> None:
        """Ask the editor for its hints anew, where it takes that."""
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    # ------------------------------------------------------------ requests

    async def ask(self, document: Document, answer: Callable[[View], T]) -> T | None:
        """The answer of a feature on the present text of a document; None after a failure of ours, which is logged."""
        text, version, report = document.text, document.version, document.report
        try:
            reading = await document.reading(self.front_end)
            view = View(document.uri, text, reading, version, report, self._snippets)
            return await asyncio.get_running_loop().run_in_executor(self.front_end, answer, view)
        except navigation.Refused as refused:
            raise JsonRpcException(str(refused), REFUSED) from None
        except Exception as error:
            where = getattr(answer, "__name__", None) or getattr(getattr(answer, "func", None), "__name__", "answer")
            message = f"internal error in {where}: {type(error).__name__}: {error}. Please report it with the spec."
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, message))
            return None

    @property
    def _snippets(self) -> bool:
        documents = self.client_capabilities.text_document
        item = documents.completion.completion_item if documents and documents.completion else None
        return bool(item and item.snippet_support)

    def configure(self, params: types.InitializeParams) -> None:
        """Take the options of the editor: ``{"analysis": false}`` runs the front end alone."""
        self.started = True
        options = params.initialization_options
        chosen = options if isinstance(options, Mapping) else getattr(options, "__dict__", {})
        self.analysing = chosen.get("analysis", True) is not False

    def stop(self) -> None:
        """End what is under way."""
        self.analyses.stop()
        for document in self.documents.values():
            document.stop()
        self.front_end.shutdown(wait=False, cancel_futures=True)


def _at(answer: Callable[[View, types.Position], T]) -> Callable[[Any], Callable[[View], T]]:
    """A feature that is asked about a position."""
    return lambda params: lambda view: answer(view, params.position)


def _register(server: Server) -> None:
    """Register what answers each request."""

    def answers(method: str, question: Callable[[Any], Callable[[View], Any]], options: Any = None) -> None:
        async def handler(params: Any) -> Any:
            document = server.documents.get(params.text_document.uri)
            if document is None:
                return None
            server.analyses.prefer(document)
            return await server.ask(document, question(params))

        server.feature(method, options)(handler)

    answers(
        types.TEXT_DOCUMENT_COMPLETION,
        _at(completion.complete),
        types.CompletionOptions(trigger_characters=list(completion.TRIGGERS)),
    )
    answers(types.TEXT_DOCUMENT_HOVER, _at(hover))
    answers(types.TEXT_DOCUMENT_DEFINITION, _at(navigation.definition))
    answers(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, _at(navigation.highlights))
    answers(
        types.TEXT_DOCUMENT_REFERENCES,
        lambda p: partial(navigation.references, position=p.position, declaration=p.context.include_declaration),
    )
    answers(types.TEXT_DOCUMENT_PREPARE_RENAME, _at(navigation.renamable))
    answers(
        types.TEXT_DOCUMENT_RENAME,
        lambda p: partial(navigation.rename, position=p.position, name=p.new_name),
        types.RenameOptions(prepare_provider=True),
    )
    answers(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, lambda p: symbols)
    answers(types.TEXT_DOCUMENT_FOLDING_RANGE, lambda p: folds)
    answers(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lambda p: decorations.tokens, decorations.LEGEND)
    answers(types.TEXT_DOCUMENT_INLAY_HINT, lambda p: partial(hints, range=p.range))
    answers(types.TEXT_DOCUMENT_FORMATTING, lambda p: formatted)
    answers(
        types.TEXT_DOCUMENT_CODE_ACTION,
        lambda p: partial(actions, range=p.range, only=p.context.only),
        types.CodeActionOptions([types.CodeActionKind.QuickFix]),
    )
    answers(
        types.TEXT_DOCUMENT_SIGNATURE_HELP,
        _at(signature),
        types.SignatureHelpOptions(list(SIGNATURE_TRIGGERS)),
    )
    _register_events(server)


def _register_events(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.configure(params)

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        server.front_end.submit(read, "warm-up", WARM_UP)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            server.analyse(document)

    @server.feature(types.SHUTDOWN)
    def shutdown(params: Any) -> None:
        server.ended_properly = True
        server.stop()


def serve() -> NoReturn:
    """Serve one editor on standard input and output until it says so, or is gone, and end the process.

    The exit status is the one that the protocol asks for. What else is printed goes to standard error.
    """
    logging.disable()  # pygls, asyncio and executors log what an editor that is gone is not told
    server, stdout = Server(), sys.stdout.buffer
    sys.stdout = sys.stderr
    server.start_io(sys.stdin.buffer, stdout)
    server.stop()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    # At once: a text that is still being read shall not keep the process.
    os._exit(0 if server.ended_properly else 1)

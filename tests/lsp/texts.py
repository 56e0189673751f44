"""Texts for the tests of the language server, and what is asked of them: ``@`` marks the place."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from energyc.surfaces.lsp.completion import complete
from energyc.surfaces.lsp.documents import Text, View
from energyc.surfaces.lsp.reading import read

SPECS = Path(__file__).parents[2] / "specs"
URI = "file:///project/net.energy"
SMALL = """\
# A small network.
network small
dim I = 64, J = 32, K = I / 8 + 2
const c = 1/2
data digits = digits(side = 8)
clamp  x[I]      = digits.image
target label : K = digits.label
param W[I, J] ~ glorot, b[J] = 0
param V[J, K] ~ glorot
fn squash(u) = u / (1 + abs(u))
state s[J] in [0, 1]
state y[K]
let h[j] = sum[i](x[i] * W[i,j])
energy leak = c * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)
energy syn = -sum[j](h[j] * squash(s[j])) - sum[j,k](s[j] * V[j,k] * y[k])
energy bias = -sum[j](b[j] * s[j])
readout out[k] = y[k]
cost ce = cross_entropy[k](out[k], label)
metric accuracy = correct[k](out[k], label)
relax { step = 1/2, steps = 20, step.y = 1 }
nudge { beta = 1/2, steps = 4 }
train { rule = centered-ep, metrics = [accuracy], lr = 0.1, lr.W = 0.2 }
preset tiny { J = 4, relax.steps = 3, train.lr.b = 1e-2 }
"""


def marked(text: str) -> tuple[str, int]:
    """A text without its mark, and where that stood."""
    offset = text.index("@")
    return text[:offset] + text[offset + 1 :], offset


def view_of(text: str, encoding: str = "utf-16") -> View:
    return View(URI, Text(text, encoding), read("net.energy", text))


def view_at(text: str) -> tuple[View, types.Position]:
    """A view of a text and the position of its mark."""
    plain, offset = marked(text)
    view = view_of(plain)
    return view, view.text.position(offset)


def completions(text: str) -> list[str]:
    """The completions at the mark of a text, in the order in which an editor shows them."""
    view, position = view_at(text)
    items = complete(view, position).items
    return [item.label for item in sorted(items, key=lambda item: item.sort_text or item.label)]


def place_of(view: View, name: str, nth: int = 0) -> types.Position:
    """The position of the nth place where a text stands."""
    offset = -1
    for _ in range(nth + 1):
        offset = view.text.content.index(name, offset + 1)
    return view.text.position(offset)


def applied(view: View, edits: list[types.TextEdit]) -> str:
    """A text after edits, all of which count in the text before."""
    text = view.text.content
    for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
        span = view.text.span(edit.range)
        text = text[: span.start] + edit.new_text + text[span.end :]
    return text

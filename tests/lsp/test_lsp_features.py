"""Each feature of the language server on texts of its own, without the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from energyc.language.diagnostics import Source, Span
from energyc.language.resolve.words import LANGUAGE_FUNCTIONS, LAWS, PARAM_SETS, SETS, STATE_SETS
from energyc.language.syntax import format_spec, parse_partly
from energyc.language.syntax.scan import RESERVED, STATEMENT_WORDS
from energyc.running.data.registry import SHIPPED
from energyc.surfaces.lsp import decorations, navigation, words
from energyc.surfaces.lsp.decorations import hints
from energyc.surfaces.lsp.diagnostics import actions, formatted, published
from energyc.surfaces.lsp.documents import Text, View
from energyc.surfaces.lsp.hover import hover, signature
from energyc.surfaces.lsp.outline import folds, symbols
from energyc.surfaces.lsp.ties import tie_fix, ties_of
from tests.cli.run import in_python
from tests.lsp.texts import SMALL, SPECS, URI, applied, completions, place_of, view_at, view_of

# ---------------------------------------------------------------- texts and positions


@pytest.mark.parametrize(("encoding", "width"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_positions_go_there_and_back(encoding: str, width: int) -> None:
    text = Text("a𝛼b\r\n\rß\u2028c\n", encoding)
    assert [text.position(k).line for k in range(len(text.content) + 1)] == [0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 3]
    assert text.position(2) == types.Position(0, 1 + width)
    for offset in range(len(text.content) + 1):
        if text.content[offset - 1 : offset + 1] != "\r\n":  # no editor asks about the middle of a line end
            assert text.offset(text.position(offset)) == offset
    assert text.offset(types.Position(0, 99)) == 3 and text.offset(types.Position(99, 0)) == len(text.content)


def test_changes_count_one_after_the_other() -> None:
    def partial(start: tuple[int, int], end: tuple[int, int], text: str) -> types.TextDocumentContentChangePartial:
        return types.TextDocumentContentChangePartial(types.Range(types.Position(*start), types.Position(*end)), text)

    text = Text("one\r\ntwo\r\n").changed(
        [partial((0, 0), (0, 0), "zero\r\n"), partial((2, 0), (2, 3), "2"), partial((1, 3), (1, 3), "!")]
    )
    assert text.content == "zero\r\none!\r\n2\r\n"
    assert text.changed([types.TextDocumentContentChangeWholeDocument("x")]).content == "x"


# ---------------------------------------------------------------- completion


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize(
    ("text", "there", "missing"),
    [
        ("@", {"energy", "state", "preset"}, {"W"}),
        ("energy e = @", {"W", "s", "sum", "squash", "c", "I"}, {"leak", "label", "energy"}),
        ("cost e = @", {"label"}, {"leak"}),
        ("param Q[@", {"I", "J", "K"}, {"W", "i"}),
        ("param Q[J] ~ @", set(LAWS), {"J"}),
        ("noise q[J] ~ @", {"normal", "uniform"}, {"glorot"}),
        ("param Q[J] ~ normal(@", {"c", "J"}, {"W"}),
        ("state q[J] in @", set(STATE_SETS), {"normal", "symmetric"}),
        ("state q[J] in simplex[@", {"J"}, {"s"}),
        ("param Q[J, J] ~ glorot in @", set(PARAM_SETS), {"simplex"}),
        ("param Q[J, J] ~ glorot in symmetric @", {"and"}, {"simplex"}),
        ("param Q[J, J] ~ glorot in symmetric and @", {"zero_diagonal"}, {"simplex"}),
        ("clamp q[I] = @", {"digits"}, {"W"}),
        ("clamp q[I] = digits.@", {"image", "label"}, {"energy"}),
        ("target q : @", {"K"}, {"W"}),
        ("dim Q = @", {"I", "digits"}, {"W", "sum"}),
        ("data more = @", {"digits", "characters"}, {"W"}),
        ("data more = digits(@", {"side"}, {"context"}),
        ("data more = digits(side = @", {"I"}, {"side"}),
        ("let q[@", {"i", "j", "k"}, {"W"}),
        ("let q[a in @", {"I", "J"}, {"W"}),
        ("let q[j] = V[@", {"j"}, {"W"}),
        ("let q[j] = sum[k](V[j,@", {"j", "k"}, {"W"}),
        ("let q[j] = sum[@", {"i", "k"}, {"j"}),
        ("let q[j] = mean[@", {"batch"}, set()),
        ("let q[j] = sum[k | @", {"k", "j", "label", "and"}, {"W"}),
        ("flow s[j] = grad(@", {"leak", "syn"}, {"W"}),
        ("flow s[j] = grad(leak + syn, @", {"h", "s"}, {"leak", "W"}),
        ("force f on @", {"s", "y"}, {"h"}),
        ("start @", {"s", "y"}, {"h"}),
        ("clamped @", {"s", "y"}, {"h"}),
        ("clamped y[k] = @", {"label", "pi", "where"}, {"leak"}),
        ("tie Q[i,j] = @", {"W", "V"}, {"s"}),
        ("relax { @", {"step", "tolerance"}, {"rule"}),
        ("relax { measure = @", {"residual", "gradient"}, {"step"}),
        ("relax { step.@", {"s", "y"}, {"W"}),
        ("relax { solver = anderson(@", {"memory", "damping"}, {"step"}),
        ("train { rule = cent@", {"centered-ep", "ep"}, {"adam"}),
        ("train { rule = centered-@", {"centered-ep"}, {"step"}),
        ("train { schedule = cosine(@", {"warmup"}, set()),
        ("train { lr.@", {"W", "V", "b"}, {"s"}),
        ("train { metrics = [@", {"accuracy", "auc"}, {"W"}),
        ("preset q { @", {"I", "J", "c", "relax", "train"}, {"W"}),
        ("preset q { relax.@", {"steps"}, {"rule"}),
        ("preset q { train.rule = @", {"ep"}, {"steps"}),
        ("preset q { train.lr.@", {"W"}, {"steps"}),
        ("fn g(u, v) = @", {"u", "v", "tanh"}, set()),
        ("# about W @", set(), {"W"}),
        ("let q = 2@", set(), {"W"}),
    ],
)
def test_completion_by_place(text: str, there: set[str], missing: set[str]) -> None:
    """Each text stands at the end of a spec and is broken off; in its middle the same is offered."""
    for whole in (f"{SMALL}{text}", SMALL.replace("readout", f"{text}\nreadout")):
        offered = set(completions(whole))
        assert there <= offered and not missing & offered, sorted(offered)


def test_an_index_of_the_axis_comes_first() -> None:
    assert completions(SMALL + "let q[i,j] = V[@")[0] == "j"
    assert completions(SMALL + "let q[i,j,k] = W[i,j] * V[j,@")[0] == "k"


def test_what_a_layer_shows_is_offered_outside_of_it() -> None:
    text = (SPECS / "et_graph.energy").read_text().replace("block.x[n,d]", "block.@")
    assert {"x", "g", "q"} <= set(completions(text)) and "W_q" not in completions(text)


def test_the_states_of_a_repeat_are_offered_behind_it() -> None:
    text = (SPECS / "et_graph.energy").read_text()
    offered = set(completions(text + "\nreadout more[n] = @"))
    assert "stream" in offered and not {"x", "W_q"} & offered


def test_names_of_a_broken_statement_are_offered() -> None:
    assert {"Q", "R"} <= set(completions(SMALL.replace("cost ce", "param Q[J], R[K\ncost ce") + "energy e = @"))


# ---------------------------------------------------------------- hover, signatures


def shown(text: str) -> str:
    view, position = view_at(text)
    found = hover(view, position)
    return "" if found is None else str(found.contents.value)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("marked", "parts"),
    [
        ("sum[i](x[i] * @W[i,j])", ["param W[I, J]", "64 x 32 = 2,048 numbers", "glorot", "dE/dW[i,j] = "]),
        ("state @s[J]", ["state s[J]", "in `[0, 1]`", "F_s[j] = "]),
        ("let h[j@] =", ["index j in J", "from 0 to 31"]),
        ("let @h[j]", ["let h[J]", "sum[i](x[i] * W[i,j])"]),
        ("K = @I / 8", ["dim I = 64"]),
        ("const @c", ["const c = 0.5"]),
        ("fn @squash(u)", ["fn squash(u)", "u / (1 + abs(u))"]),
        ("@energy syn", ["A term of the energy"]),
        ("-@sum[j](h", ["The sum over indices"]),
        ("W[I, J] ~ @glorot", ["Glorot"]),
        ("data digits = @digits(", ["digits(side)", "image"]),
        ("= digits.@image", ["digits.image[64]", "real"]),
        ("relax { @step =", ["Step size; `auto`: from the curvature", "the default is `1.0`"]),
        ("rule = @centered-ep", ["Laborieux", "gradient"]),
        ("metrics = [@accuracy]", ["metric accuracy"]),
        ("network @small", ["A small network."]),
        ("train.@lr.b", ["peak learning rate"]),
        ("where s[j] @in [0, 1]".removeprefix("where "), []),
    ],
)
def test_hover(marked: str, parts: list[str]) -> None:
    plain = marked.replace("@", "")
    text = SMALL.replace(plain, marked) if plain in SMALL else SMALL + f"# {marked}"
    if parts:
        assert "@" in text.replace("# @", "") and plain in SMALL
    for part in parts:
        assert part in shown(text), shown(text)


def test_hover_in_a_broken_text() -> None:
    text = SMALL.replace("readout out[k] = y[k]", "readout out[k] = @y[k] +")
    assert "state y[K]" in shown(text.replace("@", "").replace("state y", "state @y"))


@pytest.mark.parametrize(
    ("text", "label", "active"),
    [
        ("energy e = sum[@", "sum[i, j | guard](e)", 0),
        ("energy e = where(i == 0, @", "where(condition, a, b)", 1),
        ("energy e = squash(@", "squash(u)", 0),
        ("energy e = cross_entropy[k](out[k], @", "cross_entropy[k](logits[k], label)", 1),
        ("energy e = layernorm[j](s[j], @", "layernorm[d](e, eps = 1e-5)", 1),
        ("param Q[J] ~ uniform(@", "uniform(bound)", 0),
        ("data q = characters(@", "characters(context, alphabet)", 0),
    ],
)
def test_signatures(text: str, label: str, active: int) -> None:
    view, position = view_at(SMALL + text)
    help = signature(view, position)
    assert help is not None
    assert (help.signatures[0].label, help.active_parameter) == (label, active)


def test_no_signature_outside_of_calls() -> None:
    view, position = view_at(SMALL + "energy e = @")
    assert signature(view, position) is None


# ---------------------------------------------------------------- names


def test_indices_are_told_apart_by_their_equation() -> None:
    view = view_of(SMALL)
    of = navigation.references(view, place_of(view, "h[j] ="), declaration=True)
    assert len(of) == 2  # declared, and read in syn
    j = view.text.position(view.text.offset(place_of(view, "h[j] =")) + 2)
    assert len(navigation.references(view, j, declaration=True)) == 2  # on both sides of its own equation
    assert len(navigation.references(view, j, declaration=False)) == 1


def test_the_names_of_layers_are_their_own() -> None:
    view = view_of((SPECS / "et_graph.energy").read_text())
    found = navigation.references(view, place_of(view, "x[N, D]"), declaration=True)
    text = view.text.content
    places = [text[view.text.offset(place.range.start) - 6 :][:7] for place in found]
    assert "block.x" in places and len(found) > 4
    outer = navigation.references(view, place_of(view, "stream[N, D]"), declaration=True)
    assert len(outer) == 5


@pytest.mark.parametrize(
    ("place", "name", "reason"),
    [
        ("W[I, J]", "V", "`V` is a param already"),
        ("W[I, J]", "sum", "word of the language"),
        ("W[I, J]", "state", "reserved word"),
        ("W[I, J]", "2W", "is not a name"),
        ("W[I, J]", "x" * 101, "at most 100"),
        ("I = 64", "c", "`c` is a const already"),
        ("c = 1/2", "j", "`j` is an index already"),
        ("image", "picture", "cannot be renamed"),
        ("glorot", "normal", "cannot be renamed"),
        ("digits(", "normal", "`digits` is an adapter and belongs to no spec"),
        ("u) = u", "u2 ", "is not a name"),
        ("= cross_entropy", "ce2", "there is no name here"),
    ],
)
def test_a_rename_that_would_change_the_meaning_is_refused(place: str, name: str, reason: str) -> None:
    view = view_of(SMALL)
    with pytest.raises(navigation.Refused, match=reason):
        navigation.rename(view, place_of(view, place), name)


@pytest.mark.parametrize(("place", "name"), [("m[i] = ", "s"), ("u) = u", "b"), ("tiny", "W"), ("s[J] in", "i")])
def test_a_rename_that_keeps_the_meaning_is_done(place: str, name: str) -> None:
    """An index may be called as a tensor, an argument as anything the function does not read, a preset as anything."""
    text = SMALL.replace("let h", "let m[i] = x[i]^2\nlet h").replace("s[j]) - sum", "s[j] * m[0]) - sum")
    view = view_of(text)
    assert view.reading.ok
    offset = 2 if place.startswith("m[") else 0
    position = view.text.position(view.text.offset(place_of(view, place)) + offset)
    edit = navigation.rename(view, position, name)
    assert edit.changes is not None
    assert view_of(applied(view, list(edit.changes[URI]))).reading.ok


def test_a_rename_reaches_what_a_mistake_hides() -> None:
    """Names behind a mistake, in a function that nothing calls, and in settings."""
    text = (
        SMALL.replace("sum[j](h[j] * squash(s[j]))", "sum[j](missing[j](s[j]) * h[j])")
        + "fn idle(u) = u * c + W[0,0]\n"
    )
    view = view_of(text)
    assert {d.code for d in view.reading.diagnostics} >= {"E0206"}
    for name, places in (("s", 5), ("c", 3), ("W", 4), ("h", 2)):
        edit = navigation.rename(
            view, place_of(view, {"s": "s[J]", "c": "c = 1", "W": "W[I", "h": "h[j]"}[name]), "fresh"
        )
        assert edit.changes is not None and len(edit.changes[URI]) == places, name


def test_a_name_of_a_broken_statement_is_found_where_it_is_read() -> None:
    view = view_of(SMALL.replace("let h[j] = sum[i](x[i] * W[i,j])", "let h[j] = sum[i]("))
    found = navigation.definition(view, place_of(view, "h[j] * squash"))
    assert found is not None and found.range.start == place_of(view, "h[j] =")


def test_a_broken_text_is_not_renamed_in() -> None:
    view = view_of(SMALL + "let = 3")
    with pytest.raises(navigation.Refused, match="does not parse"):
        navigation.rename(view, place_of(view, "W[I, J]"), "U")


def test_definitions_and_highlights() -> None:
    view = view_of(SMALL)
    use = place_of(view, "s[j]", 3)
    found = navigation.definition(view, use)
    assert found is not None and found.range.start == place_of(view, "s[J]")
    kinds = [highlight.kind for highlight in navigation.highlights(view, use)]
    assert kinds[0] == types.DocumentHighlightKind.Write and set(kinds[1:]) == {types.DocumentHighlightKind.Read}
    assert navigation.definition(view, types.Position(0, 0)) is None


# ---------------------------------------------------------------- the shape of a file


def test_the_outline_is_a_tree() -> None:
    view = view_of((SPECS / "et_graph.energy").read_text())
    tree = {symbol.name: symbol for symbol in symbols(view)}
    (repeat,) = [symbol for name, symbol in tree.items() if name.startswith("repeat")]
    inside = {symbol.name: symbol for symbol in repeat.children or ()}
    assert {"stream", "block", "start stream", "next stream"} <= set(inside)
    assert {"W_q", "x", "att", "relax"} <= {symbol.name for symbol in inside["block"].children or ()}

    def check(symbol: types.DocumentSymbol) -> None:
        whole, selected = view.text.span(symbol.range), view.text.span(symbol.selection_range)
        assert whole.start <= selected.start and selected.end <= whole.end
        for child in symbol.children or ():
            check(child)

    for symbol in tree.values():
        check(symbol)


def test_blocks_settings_and_comments_are_folded() -> None:
    view = view_of("# one\n# two\nnetwork n\nrepeat L {\n  layer a {\n    state z\n  }\n}\ntrain {\n  lr = 1\n}\n")
    assert {(fold.start_line, fold.end_line) for fold in folds(view)} == {(0, 1), (3, 7), (4, 6), (8, 10)}


def kinds_of(view: View) -> dict[str, list[str]]:
    """The type of each token, by its text."""
    data, found = decorations.tokens(view).data, {}
    line = character = 0
    for moved, across, length, kind, flags in zip(*(data[k::5] for k in range(5)), strict=True):
        line, character = line + moved, across if moved else character + across
        start = view.text.offset(types.Position(line, character))
        end = view.text.offset(types.Position(line, character + length))
        modifiers = [name for k, name in enumerate(decorations.MODIFIERS) if flags >> k & 1]
        found.setdefault(view.text.content[start:end], []).append(" ".join([decorations.TYPES[kind], *modifiers]))
    return found


def test_colours() -> None:
    found = kinds_of(view_of(SMALL))
    assert found["W"][0] == "property declaration" and found["I"][0] == "type declaration"
    assert found["centered-ep"] == ["enumMember"] and found["glorot"] == ["class defaultLibrary"] * 2
    assert found["sum"][0] == "function defaultLibrary" and found["energy"][0] == "keyword"
    assert found["# A small network."] == ["comment"] and found["x"][-1] == "variable readonly"
    assert found["j"][1] == "parameter" and found["digits"] == [
        "namespace declaration",
        "class",
        "namespace",
        "namespace",
    ]
    broken = kinds_of(view_of("network n\nlet a[ = 'what\nstate z"))
    assert broken["let"] == ["keyword"] and broken["z"] == ["variable declaration"]


def test_hints_are_what_one_could_write() -> None:
    """Taking the hints of dims leaves a spec that means the same."""
    view = view_of(SMALL)
    everywhere = view.text.range(Span(0, len(SMALL)))
    found = hints(view, everywhere)
    assert [hint.label for hint in found if hint.text_edits is None] == [" = 10"]
    written = applied(view, [edit for hint in found for edit in hint.text_edits or ()])
    assert "let h[j in J]" in written and "readout out[k in K]" in written
    again = view_of(written)
    assert again.reading.ok and not [hint for hint in hints(again, everywhere) if hint.text_edits]
    top = types.Range(types.Position(0, 0), types.Position(3, 0))
    assert [hint.label for hint in hints(view, top)] == [" = 10"]


# ---------------------------------------------------------------- layout, fixes


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_layout_keeps_comments_and_line_ends(end: str) -> None:
    text = SMALL.replace("const c = 1/2", "const   c=1/2   # half").replace("\n", end)
    view = view_of(text)
    edits = formatted(view)
    laid_out = applied(view, edits)
    assert laid_out == format_spec(Source("x", text)).replace("\r\n", "\n").replace("\n", end)
    assert "# half" in laid_out and (end == "\n" or "\n" not in laid_out.replace("\r\n", ""))
    assert formatted(view_of(laid_out)) == []
    assert formatted(view_of("network n\nlet a = (")) == []


def test_a_fix_is_offered_where_its_mistake_is() -> None:
    text = SMALL.replace("* squash(s[j])", "* sqush(s[j])")
    view = view_of(text)
    place = place_of(view, "sqush")
    (fix,) = actions(view, types.Range(place, place))
    assert fix.title == "Write `squash`" and fix.is_preferred and fix.edit is not None and fix.edit.changes is not None
    assert applied(view, list(fix.edit.changes[URI])) == SMALL
    elsewhere = place_of(view, "network")
    assert actions(view, types.Range(elsewhere, elsewhere)) == []
    assert actions(view, types.Range(place, place), ["refactor"]) == []


@pytest.mark.parametrize(
    ("params", "tie", "after"),
    [
        ("param A[D, F], B[F, D] ~ glorot", "B[f,d] = A[d,f]", "param A[D, F] ~ glorot\ntie B[f,d] = A[d,f]"),
        ("param B[F, D], A[D, F] ~ glorot", "B[f,d] = A[d,f]", "param A[D, F] ~ glorot\ntie B[f,d] = A[d,f]"),
        (
            "param A[D, F] ~ glorot\nparam B[F, D] ~ glorot",
            "B[f,d] = A[d,f]",
            "param A[D, F] ~ glorot\ntie B[f,d] = A[d,f]",
        ),
        (
            "param A[D, F] ~ glorot, B[F, D] ~ normal(1), c[D] = 0",
            "B[f,d] = A[d,f]",
            "param A[D, F] ~ glorot, c[D] = 0\ntie B[f,d] = A[d,f]",
        ),
        (
            "param A[D, F] in [0, 1], B[F, D] ~ normal(1), c[D] ~ ones",
            "B[f,d] = A[d,f]",
            "param A[D, F] ~ normal(1) in [0, 1], c[D] ~ ones\ntie B[f,d] = A[d,f]",
        ),
        (
            "param A[D, F], B[F, D], E[D] ~ normal(1)",
            "B[f,d] = A[d,f]",
            "param A[D, F], E[D] ~ normal(1)\ntie B[f,d] = A[d,f]",
        ),
        ("param B[F, D] = 1, A[D, F] ~ ones", "B[f,d] = A[d,f]", "param A[D, F] ~ ones\ntie B[f,d] = A[d,f]"),
        ("param A[D, D] ~ glorot", "A[d,e] = A[e,d]", "param A[D, D] ~ glorot in symmetric"),
        ("param A[D, D] ~ ones in [0, 1]", "A[d,e] = A[e,d]", "param A[D, D] ~ ones in [0, 1] and symmetric"),
        ("param A[D, F, D, F] ~ ones", "A[d,f,e,g] = A[e,f,d,g]", "param A[D, F, D, F] ~ ones in symmetric[D]"),
        ("param A[D, D, D] ~ ones", "A[d,e,f] = A[e,d,f]", None),
        ("param A[D, F], # why\n  B[F, D] ~ glorot", "B[f,d] = A[d,f]", None),
    ],
)
def test_a_tie_takes_the_place_of_a_param(params: str, tie: str, after: str | None) -> None:
    """The laws of the others stay what they were."""
    text = f"network n\ndim D = 2, F = 3\n{params}\nstate z[D]\n"
    source = Source("x", text)
    fix = tie_fix(source, parse_partly(source).spec, ties_of(tie))
    assert (None if fix is None else fix.applied(text)) == (
        after and f"network n\ndim D = 2, F = 3\n{after}\nstate z[D]\n"
    )


def test_diagnostics_are_complete() -> None:
    view = view_of("network n\ndim D = 2\nstate z[D]\nlet a = z[0]\nenergy e = sum[d](z[d]^2)\n")
    (unused,) = published(view)
    assert (unused.code, unused.severity) == ("W0201", types.DiagnosticSeverity.Warning)
    assert unused.tags == [types.DiagnosticTag.Unnecessary]
    assert unused.code_description is not None and Path(unused.code_description.href.removeprefix("file://")).is_file()
    report = {"terms": [], "rules": {"centered-ep": {"verdict": "biased", "why": "f", "use_instead": "aep"}}}
    (biased,) = published(View(URI, Text(SMALL), view_of(SMALL).reading, report=report))
    assert biased.message == "`centered-ep` is biased on this network, because of f\nhelp: use `aep`"
    assert biased.range.start == place_of(view_of(SMALL), "centered-ep")


# ---------------------------------------------------------------- words


def test_every_word_has_its_sentence() -> None:
    assert set(words.entries("statements")) == STATEMENT_WORDS
    assert set(words.entries("statements")) | set(words.entries("inside")) >= RESERVED
    assert set(words.entries("laws")) == set(LAWS) and set(words.entries("sets")) == set(SETS)
    assert set(words.functions()) == LANGUAGE_FUNCTIONS
    tables: tuple[Any, ...] = (
        words.entries("statements"),
        words.entries("inside"),
        words.entries("laws"),
        words.entries("sets"),
        words.functions(),
    )
    for entry in (entry for table in tables for entry in table.values()):
        assert entry.form and entry.says.endswith(".")
    for block in words.BLOCKS:
        for name in words.settings(block):
            entry = words.setting(block, name)
            assert entry is not None and "Takes" in entry.says
    for name, entry in ((name, entry) for name, entry in words.adapters().items() if name in SHIPPED):
        assert entry.says and (words.options_of(name) or name == "cifar10")


@pytest.mark.slow
def test_neither_torch_nor_sympy_is_imported() -> None:
    """The work while someone types: the server's module, a reading, and every feature."""
    code = (
        "import sys; from tests.lsp.texts import SMALL, view_of, place_of, completions\n"
        "import energyc.surfaces.lsp.server\n"
        "from energyc.surfaces.lsp.hover import hover; from energyc.surfaces.lsp.diagnostics import published\n"
        "view = view_of(SMALL); published(view); hover(view, place_of(view, 'W[I')); completions(SMALL + 'let q = @')\n"
        "heavy = {'torch', 'sympy', 'matplotlib', 'sklearn', 'PIL'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    done = in_python(code)
    assert done.stdout.strip() == "[]"


def test_other_errors_stay_while_a_statement_is_broken() -> None:
    """But for those that the broken statement may be the reason of."""
    text = SMALL.replace("* squash(s[j])", "* sqush(s[j])")
    assert [d.code for d in view_of(text).reading.diagnostics] == ["E0206"]
    typing = text.replace("metric accuracy = correct[k](out[k], label)", "metric accuracy = correct[k](out[k],")
    assert {d.code for d in view_of(typing).reading.diagnostics} == {"E0108", "E0206"}
    for whole, cut in (
        ("sum[i](x[i] * W[i,j])", "sum[i]("),
        ("y[K]", "y[K"),
        ("dim I = 64", "dim I ="),
        ("= y[k]", "= y["),
    ):
        codes = [d.code for d in view_of(text.replace(whole, cut, 1)).reading.diagnostics]
        assert "E0206" in codes and len(codes) == 2, (cut, codes)


@pytest.mark.parametrize(("dims", "offered"), [("N, M", True), ("N, N", False)])
def test_no_quick_fix_turns_a_matrix_into_its_diagonal(dims: str, offered: bool) -> None:
    text = f"network n\ndim N = 2, M = 3\nparam W[{dims}] ~ normal\nstate z[N], y[M]\nenergy e = sum[n](W[n] * z[n])\n"
    view = view_of(text)
    assert any(each.code == "E0304" for each in published(view))
    found = actions(view, view.text.range(Span(0, len(text))), None)
    assert any("W[n, " in action.title for action in found) == offered

"""Names where they stand, each with its declaration."""

from __future__ import annotations

from pathlib import Path

import pytest

from energyc.language.diagnostics import Source, Span
from energyc.language.resolve import References, resolve_partly
from energyc.language.resolve.words import CONSTANTS, LANGUAGE_FUNCTIONS
from energyc.language.syntax import ast, parse_partly
from energyc.running.data import find_adapter, read_schema
from energyc.runtime.rules import RULES

SPECS = sorted((Path(__file__).parents[2] / "specs").glob("*.energy"))


def of_text(text: str) -> References:
    source = Source("net.energy", text)
    spec = parse_partly(source).spec
    assert spec is not None
    schemas = lambda adapter, options: read_schema(find_adapter(adapter), options)  # noqa: E731
    return resolve_partly(spec, source, schemas=schemas, rules=RULES).references


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_name_in_an_expression_is_bound_or_a_word_of_the_language(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    spec, references = parse_partly(Source("net.energy", text)).spec, of_text(text)
    assert spec is not None
    names = {tree.name for tree in ast.walk(spec) if isinstance(tree, ast.Apply)}
    unbound = {name.text for name in names if name.span not in {*references.places, *references.declarations}}
    assert unbound <= {*LANGUAGE_FUNCTIONS, *CONSTANTS, "training", "batch"}
    for place, declared in references.places.items():
        assert text[place.start : place.end] == references.declarations[declared].name


HEAD = "network n\ndim D = 4, E = 4\nparam W[D, E] ~ normal(1)\nstate z[D]\n"


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("let a[d] = z[d] + sum[e](W[d,e])", {"d": "index", "e": "index", "W": "param", "z": "state"}),
        ("let a[d] = missing[d] * sum[e](W[d,e])", {"d": "index", "e": "index", "W": "param"}),
        ("let a[d] = missing(z[d]) + z[d]", {"d": "index", "z": "state"}),
        ("let a[d] = z[d, d, d] + D", {"d": "index", "z": "state", "D": "dim"}),
        ("let a = sum[d, d](z[d])", {"d": "index", "z": "state"}),
        ("let a[d] = z[d] == 1", {"d": "index", "z": "state"}),
        ("fn f[i](u) = sum[i](u) + W[0,0]", {"i": "index", "u": "argument", "W": "param"}),
        ("tie V[e,d] = W[d,e]", {"d": "index", "e": "index", "W": "param"}),
        ("tie V[e,d] = W[d,0]", {"d": "index", "W": "param"}),
        ("const c = missing + D", {"D": "dim"}),
        ("param V[D, X] ~ uniform(1, 2, D) in [D, E]", {"D": "dim", "E": "dim"}),
        ("start z[d, e] = W[d,e]", {"d": "index", "e": "index", "z": "state", "W": "param"}),
        ("relax { step.z = D, measure = nothing, step.q = 1 }", {"z": "state", "D": "dim"}),
        ("preset p { D = 3, relax.step.z = E, nothing.step.z = 3 }", {"D": "dim", "z": "state", "E": "dim"}),
        ("train { metrics = [c, unknown], lr.W = 1 }\nmetric c = z[0]", {"c": "metric", "W": "param", "z": "state"}),
        ("layer a {\n  state y[D]\n  energy e = sum[d](y[d] * z[d] * q[d])\n}", {"y": "state", "z": "state"}),
        ("layer a { state y[D] }\nlet b[d] = a.y[d] + a.none[d]", {"a": "layer", "y": "state", "d": "index"}),
    ],
)
def test_names_are_found_in_spite_of_mistakes(statement: str, names: dict[str, str]) -> None:
    text = HEAD + statement + "\n"
    start = len(HEAD)
    references = of_text(text)
    found = {
        text[place.start : place.end]: references.declarations[declared].kind
        for place, declared in references.places.items()
        if place.start >= start
    }
    assert {name: found.get(name) for name in names} == names


def test_an_index_is_that_of_its_bracket() -> None:
    text = HEAD + "let a[d] = z[d] + sum[d](z[d]) + z[d]\n"
    references = of_text(text)
    places = [k for k in range(len(HEAD), len(text)) if text[k] == "d" and text[k - 1] == "["]
    declared = [references.places.get(Span(k, k + 1), Span(k, k + 1)).start for k in places]
    outer, inner = places[0], places[2]
    assert declared == [outer, outer, inner, inner, outer]


def test_a_function_that_nothing_calls_has_its_names() -> None:
    text = HEAD + "fn f(u, d) = u * d + W[0,0]\n"
    references = of_text(text)
    found = [references.declarations[references.places[place]] for place in sorted(references.places)]
    assert [(each.name, each.kind) for each in found][-3:] == [("u", "argument"), ("d", "argument"), ("W", "param")]


def test_the_arguments_of_a_call_are_those_of_the_caller() -> None:
    text = HEAD + "fn f[i](u) = softmax[i](u)\nlet a[d] = f[d](z[d])\nlet b[d] = f[d](a[d])\n"
    references = of_text(text)
    place = text.index("softmax[i") + len("softmax[")
    assert references.places[Span(place, place + 1)].start == text.index("f[i") + 2
    call = text.index("f[d](z") + 2
    assert references.declarations[references.places[Span(call, call + 1)]].region.start == text.index("let a")

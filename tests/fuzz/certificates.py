"""Files of certificates that were tampered with: the checker answers each, and accepts nothing that is false.

A file of a spec of the repository is changed at a random place: a value of another type, a field that is gone, twice or
of another name, another number, name, text or statement, a label, bytes that are no JSON. The checker ends with a
status of its own and without a traceback; what it prints after ``yes`` is what was proved for the file as it was, or
follows from that.
"""

from __future__ import annotations

import copy
import io
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from energyc.checker.__main__ import main
from energyc.checker.judge import ON_SETS, QUANTIFIERS, judge
from energyc.checker.statements import composed
from energyc.language.diagnostics import SpecError
from energyc.mathematics.calculus import gradient
from energyc.mathematics.ir import Input, Node, interpreter, walk
from energyc.pipeline import Choices, classify, read, resolve
from energyc.surfaces.cli.values import read_settings
from tests.checker.proofs import ENERGIES, FORCES, HALVES, PLACES, Json, text_of
from tests.fuzz.cases import Find
from tests.fuzz.mutations import MUTATIONS

SPECS = (
    *("hopfield", "kuramoto", "modern_hopfield", "resistive", "sparse_coding", "predictive_coding", "deq", "sphere"),
    *("dense_memory", "diodes", "time_scales", "monotone", "cet", "dyadic", "thick", "elastic_net", "tel"),
)
#: A const that is set from outside.
POWER = "network c\ndim D = 4\nconst p = 3\nstate z[D]\nenergy e = sum[d](z[d]^p)\nrelax { step = 0.1 }\n"
#: What a label would have a reader believe.
LABEL = "the network trains to 100 %"
LABELS = (LABEL, f"\nyes          {LABEL}", f"x\r\x1b[2Kyes          {LABEL}", f"\u2028yes          {LABEL}", "")
VALUES = (None, True, False, 0, 1, -1, 1.5, 10**400, 2**63, 1e308, "", "z", "1", "1/2", "\x00", "\ud800", "é", [], {},
          [[]], [0], [None], ["z"], [["z", "1"]], {"": None}, {"z": "1"}, {"kind": "floor"})  # fmt: skip
NUMBERS = ("0", "1", "-1", "2", "1/2", "99/100", "1000", "1/1000", "1/0", "-0", "1e3", "1e999999999", "inf", "nan",
           "0x1", "9" * 999, "9" * 5000, "1/" + "9" * 999, " 1", "1 ", "1_0", "١", "1/-2", "")  # fmt: skip
HOSTILE = ("(" * 150 + "z" + ")" * 150, "-" * 5000 + "1", "(" * 5000, "1" + " + 1" * 3000, "((9^1000)^1000)^1000",
           "2^(2^(2^(2^2)))", "z[" * 90 + "0" + "]" * 90, "1/0", "0^(-1)", "9" * 5000, "1e999", "sum[i in Q](1)",
           "grad(e, z)", "lambda: 0", "__import__('os')", "z if z else z", "[z for z in z]", "'", "z[:]", "f(u=1)",
           "sum[d in D](" * 30 + "1" + ")" * 30, "(z + 1)" + " * (z + 1)" * 60, "where(z > 0, z)", "max()")  # fmt: skip


#: Consts of these specs.
CONSTS = frozenset("p c pi beta Is Vt lo hi v1 v2 m gamma lasso ridge alpha beta1 beta0 T_min T_max lambda".split())


class Original(NamedTuple):
    """A spec by its name, its file of certificates, and the statements that the checker verifies of it."""

    name: str
    text: str
    file: Json
    statements: frozenset[str]


class Place(NamedTuple):
    """Where a value stands in a file: what holds it, its key there, and its path."""

    holder: Any
    key: Any
    path: str


@cache
def original(name: str, consts: tuple[str, ...] = ()) -> Original:
    """The file of a spec by its name, with consts set from outside."""
    own = {"forces": FORCES, "energies": ENERGIES, "halves": HALVES, "places": PLACES, "power": POWER}
    text = own[name] if name in own else text_of(name)
    outside = Choices(None, read_settings(consts or (("p=4",) if name == "power" else ())))
    file = json.loads(json.dumps(classify(resolve(read(text), outside)).certificates))
    answers = judge(file, text)
    assert {answer.verdict for answer in answers} <= {"yes"}, answers
    return Original(name, text, file, frozenset(answer.about for answer in answers))


#: How often the spec is changed, and not the file.
MISMATCHED = 0.1
NAMES = ("forces", "energies", "halves", "places", "power", *SPECS)

# -------------------------------------------------------------------- changes

Change = Callable[[Json, random.Random], str | None]


def places(value: Any, path: str = "") -> Iterator[Place]:
    """Every place of a file."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield Place(value, key, f"{path}.{key}")
        yield from places(item, f"{path}.{key}")


def entries(file: Json) -> list[Json]:
    return [*file["certificates"], *file["claims"]]


def a_place(file: Json, rng: random.Random, wanted: Callable[[Any], bool] = lambda _: True) -> Place | None:
    """A place of an entry, or of the whole file."""
    within = rng.choice(entries(file)) if rng.random() < 0.8 else file
    found = [place for place in places(within) if wanted(place.holder[place.key])]
    return rng.choice(found) if found else None


def other_type(file: Json, rng: random.Random) -> None:
    place = a_place(file, rng)
    if place is not None:
        place.holder[place.key] = copy.deepcopy(rng.choice(VALUES))


def deleted(file: Json, rng: random.Random) -> None:
    place = a_place(file, rng)
    if place is not None:
        del place.holder[place.key]


def doubled(file: Json, rng: random.Random) -> str | None:
    """An item of a list, or a field with another value before or after it."""
    place = a_place(file, rng)
    if place is None:
        return None
    if isinstance(place.holder, list):
        place.holder.insert(rng.randrange(len(place.holder) + 1), copy.deepcopy(place.holder[place.key]))
        return None
    again = json.dumps(copy.deepcopy(rng.choice((*VALUES, place.holder[place.key]))))
    value = place.holder.pop(place.key)
    place.holder["\x01"] = value
    pairs = [f"{json.dumps(place.key)}: {each}" for each in (json.dumps(value), again)]
    rng.shuffle(pairs)
    return json.dumps(file).replace(f'"\\u0001": {json.dumps(value)}', ", ".join(pairs), 1)


def renamed(file: Json, rng: random.Random) -> None:
    place = a_place(file, rng)
    if place is not None and isinstance(place.holder, dict):
        name = rng.choice([f"{place.key}'", place.key.upper(), "", "kind", "of", "é", f"{place.key} ", "\x00"])
        place.holder[name] = place.holder.pop(place.key)


def another_number(file: Json, rng: random.Random) -> None:
    """A whole number, or a fraction."""
    place = a_place(file, rng, lambda v: type(v) is int or (isinstance(v, str) and bool(re.fullmatch(r"-?[\d/]+", v))))
    if place is None:
        return
    value = place.holder[place.key]
    if isinstance(value, str):
        factor = rng.choice([Fraction(1, 2), Fraction(2), Fraction(999, 1000), Fraction(1001, 1000), Fraction(-1)])
        place.holder[place.key] = rng.choice([str(Fraction(value) * factor), rng.choice(NUMBERS)])
    else:
        place.holder[place.key] = rng.choice([value + 1, value - 1, -value, 10**9, 2**70, float(value), True])


def another_text(file: Json, rng: random.Random) -> None:
    """Another text of the file, or of the same key."""
    place = a_place(file, rng, lambda v: isinstance(v, str))
    if place is not None:
        alike = [p for p in places(file) if isinstance(p.holder[p.key], str)]
        alike = [p for p in alike if p.key == place.key] if rng.random() < 0.5 else alike
        other = rng.choice(alike or [place])
        place.holder[place.key] = other.holder[other.key]


def a_token(file: Json, rng: random.Random) -> None:
    """A formula in which a token is another."""
    place = a_place(file, rng, lambda v: isinstance(v, str) and len(v) > 3)
    if place is not None:
        place.holder[place.key] = rng.choice(MUTATIONS)(place.holder[place.key], rng)


def hostile(file: Json, rng: random.Random) -> None:
    """A formula that asks for trouble."""
    place = a_place(file, rng, lambda v: isinstance(v, str))
    if place is not None:
        value, worse = place.holder[place.key], rng.choice(HOSTILE)
        place.holder[place.key] = rng.choice([worse, f"{value} * ({worse})", f"{value} + 0 * ({worse})"])


def exchanged(file: Json, rng: random.Random) -> None:
    """A part of the file in the place of another of its key, also of another spec's file."""
    place = a_place(file, rng, lambda v: isinstance(v, list | dict))
    source = file if rng.random() < 0.6 else original(rng.choice(NAMES[:8])).file
    if place is not None:
        alike = [p for p in places(source) if p.key == place.key] or [place]
        other = rng.choice(alike)
        place.holder[place.key] = copy.deepcopy(other.holder[other.key])


def a_statement(file: Json, rng: random.Random) -> None:
    """Another statement above the same proof: of another entry, of fewer or more terms, for more, at other sizes."""
    entry = rng.choice(entries(file))
    statement = entry["statement"]
    words = sorted({*re.findall(r"[A-Za-z]\w*", json.dumps(file))})
    match rng.randrange(8):
        case 0:
            entry["statement"] = copy.deepcopy(rng.choice(entries(file))["statement"])
        case 1:
            statement["for"] = rng.choice([each["statement"]["for"] for each in entries(file)] + [ON_SETS])
        case 2:
            statement["layer"] = rng.choice([None, "inner", *words])
        case 3:
            statement["sizes"] = {rng.choice([*"NDJKIM", *words]): rng.choice([1, 2, 7, 0, -1, 10**9])}
        case 4 if isinstance(statement.get("of"), list):
            statement["of"] = rng.choice([[], statement["of"] * 2, [*statement["of"], rng.choice(words)]])
            statement["of"] = statement["of"][: rng.randrange(1, 4)]
        case 5 if "attained" in statement:
            statement["attained"] = not statement["attained"]
        case 6 if "steps" in statement:
            statement["steps"] = rng.choice(["plain", "proximal", ""])
        case _:
            statement["kind"] = rng.choice("gradient symmetric floor rest unique converges contraction".split())


def a_const(file: Json, rng: random.Random) -> None:
    """A const set from outside: one of the spec, a dim, a param, or none."""
    words = sorted({*re.findall(r"\b[A-Za-z]\w*", json.dumps(file["certificates"]))} | {"zz"})
    own = [word for word in words if word in CONSTS]
    name = rng.choice(own if own and rng.random() < 0.8 else words)
    numbers = ["3", "4", "7/5", "1/10", *(each for each in NUMBERS if len(each) < 20)]
    file["consts"] = {**file["consts"], name: rng.choice(numbers)}


def relabelled(file: Json, rng: random.Random) -> None:
    label = rng.choice(LABELS)
    rng.choice(entries(file))["claim"] = label
    if rng.random() < 0.5:
        file["uncertified"] = [{"claim": label, "reason": rng.choice(LABELS)}]
    if rng.random() < 0.5:
        file["network"] = label


def moved(file: Json, rng: random.Random) -> None:
    """An entry in the other list, or all of a list gone."""
    one, other = rng.sample(["certificates", "claims"], 2)
    if file[one] and rng.random() < 0.7:
        file[other].append(file[one].pop(rng.randrange(len(file[one]))))
    else:
        file[one] = rng.choice([[], {}, "", None])
        file[other] = rng.choice([file[other], file[other], []])


def no_json(file: Json, rng: random.Random) -> str:
    """A text that is not the file: cut off, with another word in it, nested, or twice."""
    text = json.dumps(file, indent=rng.choice([None, 2]))
    at = rng.randrange(len(text))
    word = rng.choice(["NaN", "Infinity", "-Infinity", "nan", "\ufeff", "\x00", "\\ud800", ",", "}", '"', "// x"])
    value = re.search(r": (\"[^\"]*\"|\d+|null)", text[at:])
    deep = rng.choice(["[", '{"a":']) * 100_000
    nested = text[: at + value.start(1)] + deep + text[at + value.end(1) :] if value else deep
    nan = text[: at + value.start(1)] + "NaN" + text[at + value.end(1) :] if value else "NaN"
    whole = "[" * 5000 + "]" * 5000
    return rng.choice([text[:at], text[:at] + word + text[at:], nested, nan, text * 2, "", " ", "[]", "null", whole])


CHANGES: tuple[Change, ...] = (
    other_type, other_type, deleted, deleted, doubled, doubled, renamed, another_number, another_number, another_text,
    a_token, hostile, exchanged, exchanged, a_statement, a_statement, a_statement, a_const, relabelled, moved, no_json,
)  # fmt: skip


def tampered(seed: int) -> tuple[Original, str, bytes]:
    """An original, the name of a change, and the bytes of the file that it makes; or another text of the spec."""
    rng = random.Random(f"certificates {seed}")
    given, change = original(rng.choice(NAMES)), rng.choice(CHANGES)
    if rng.random() < MISMATCHED:
        text = given.text
        for _ in range(rng.choice((1, 1, 2, 3))):
            text = rng.choice(MUTATIONS)(text, rng)
        return given._replace(text=text), "another_spec", json.dumps(given.file).encode()
    file = copy.deepcopy(given.file)
    text = change(file, rng)
    content = (json.dumps(file) if text is None else text).encode("utf-8", "surrogatepass")
    if change is no_json and rng.random() < 0.3:
        at = rng.randrange(len(content) + 1)
        content = rng.choice([content[:at] + b"\xff" + content[at:], content.decode(errors="replace").encode("utf-16")])
    return given, change.__name__, content


# -------------------------------------------------------------------- what may come out


def stronger(entry: Json, given: Original) -> Iterator[Json]:
    """The statement of an entry, and those from which it follows, with the proof of the entry.

    It may be of some sizes, on the sets, of a floor that is not taken, of a slower rate, or of a shorter step.
    """
    statement = entry["statement"]
    same = {key: [statement[key]] for key in statement}
    same |= {"sizes": [statement["sizes"], {}]} if "sizes" in statement else {}
    same |= {"for": [statement["for"], QUANTIFIERS]} if statement["for"] == ON_SETS else {}
    same |= {"attained": [*{statement["attained"], True}]} if "attained" in statement else {}
    for key, sign in {"rate": 1, "step": -1}.items():
        if key in statement and Fraction(statement[key]) >= 0:
            known = [e["statement"].get(key, "0") for e in entries(given.file)]
            same[key] = [each for each in known if sign * Fraction(each) <= sign * Fraction(statement[key])]
    for values in product(*same.values()):
        yield {**entry, "statement": dict(zip(same, values, strict=True))}


def is_known(entry: Json, consts: Mapping[str, str], given: Original) -> bool:
    """Whether the statement of an entry was proved for the original file, or follows from what was.

    With other consts in its formulas, it is one that the compiler proves under these, unless it refuses such a spec.
    """
    read = {*re.findall(r"[A-Za-z]\w*", " ".join(entry["formulas"].values()))}
    changed = dict(consts.items() ^ given.file["consts"].items()).keys() & read
    if changed:
        try:
            given = original(given.name, set_anew(consts))
        except SpecError:
            return True
    return any(composed(each, given.file["consts"]) in given.statements for each in stronger(entry, given))


def is_of_slopes(entry: Json) -> bool:
    """Whether it is about the slopes of energies outside of layers."""
    statement = entry["statement"]
    return statement["kind"] == "gradient" and statement["layer"] is None and entry["steps"][0]["rule"] == "slope"


def set_anew(consts: Mapping[str, str]) -> tuple[str, ...]:
    """Consts as they are set from outside."""
    return tuple(f"{name}={value}" for name, value in sorted(consts.items()))


def is_slope(entry: Json, consts: Mapping[str, str], given: Original) -> bool:
    """Whether a gradient of energies in another spelling is right: in float64, at random values."""
    if not is_of_slopes(entry):
        return False
    names, steps, network = (
        entry["statement"]["of"],
        entry["steps"],
        resolve(read(given.text), Choices(None, read_settings(set_anew(consts)))),
    )
    at = [{**network.lets, **network.states}[by].node for by in entry["statement"]["by"]]
    lets = "".join(f"let spelled{k}{_ranging(steps[k], node)} = {steps[k]['is']}\n" for k, node in enumerate(at))
    network = resolve(read(f"{given.text}\n{lets}"), Choices(None, read_settings(set_anew(consts))))
    at = [{**network.lets, **network.states}[by].node for by in entry["statement"]["by"]]
    energy = network.graph.plus(*(network.terms[name].node for name in names))
    slopes = gradient(network.graph, energy, at, strict=False)
    spelled = [network.lets[f"spelled{k}"].node for k in range(len(steps))]
    right = [network.graph.scale(-1, slopes.get(node, network.graph.zero(node.dims))) for node in at]
    rng = np.random.default_rng(7)
    read_there = [node for node in walk([*spelled, *right]) if isinstance(node, Input)]
    inputs = {interpreter.key(node): _drawn(node, network.extents, rng) for node in read_there}
    found = interpreter.evaluate([*spelled, *right], inputs, sizes=network.extents, values=network.values)
    return all(
        np.allclose(a, b, 1e-9, 1e-9, equal_nan=True)
        for a, b in zip(found[: len(steps)], found[len(steps) :], strict=True)
    )


def _ranging(step: Json, node: Node) -> str:
    """The indices of the left side of a step, each with its dim."""
    indices = re.findall(r"\w+", step["force"].partition("[")[2])
    pairs = ", ".join(f"{index} in {dim}" for index, dim in zip(indices, node.dims, strict=True))
    return f"[{pairs}]" if pairs else ""


def _drawn(node: Input, sizes: Mapping[str, int], rng: np.random.Generator) -> np.ndarray:
    shape = (2,) * node.batched + tuple(sizes[dim] for dim in node.dims)
    return rng.normal(size=shape) if node.over is None else rng.integers(0, sizes[node.over], shape)


def said(given: Original, content: bytes) -> tuple[int, str, str]:
    """The status of the checker, and what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(out), redirect_stderr(err):
        file, spec = Path(folder) / "proofs.json", Path(folder) / "spec.energy"
        file.write_bytes(content)
        spec.write_text(given.text, encoding="utf-8")
        status = main([str(file), str(spec)])
    return status, out.getvalue(), err.getvalue()


def case(seed: int) -> Find | None:
    """A tampered file, and what is wrong with what the checker says to it."""
    given, change, content = tampered(seed)
    status, out, err = said(given, content)
    lines = out.splitlines()
    accepted = [line[13:] for line in lines if line.startswith("yes ")]
    about = f"{change}, status {status}\n{out}{err}\n{content[:20000].decode(errors='replace')}"
    if status not in (0, 1, 2) or (status == 2) != bool(err) or (status == 2 and out):
        return Find("a status that is not one of the checker's", about)
    if err and not (err.startswith("error: ") and err.count("\n") == 1):
        return Find("an error that is not one sentence", about)
    if (status == 0) != bool(accepted) and all(line.startswith(("yes ", "uncertified ")) for line in lines):
        return Find("success without an answer", about)
    if LABEL in out + err or re.search(r"(Error|Traceback|Exception)\b", out + err):
        return Find("a text of the file, or an exception, in an answer", about)
    checked = {*accepted} - given.statements or change == "another_spec"
    for entry, consts in accepted_entries(lines, content) if checked else ():
        same = change != "another_spec"
        known = is_known(entry, consts, given) if same else is_not_refuted(entry, given.text, set_anew(consts))
        if not (known or is_slope(entry, consts, given)):
            return Find(
                f"another statement is accepted by {change}", f"{composed(entry, consts)}\n{about}\n{given.text}"
            )
    return None


@cache
def verdicts(text: str, consts: tuple[str, ...]) -> Mapping[str, str]:
    """What the compiler says to the claims of a spec, by the labels of their certificates; nothing if it refuses it."""
    try:
        claims = classify(resolve(read(text), Choices(None, read_settings(consts)))).claims
    except SpecError:
        return {}
    return {f"{claim.about}: {claim.claim}": claim.verdict for claim in claims}


def is_not_refuted(entry: Json, text: str, consts: tuple[str, ...]) -> bool:
    """Whether the compiler finds no counterexample to a claim about another spec, or the slopes in it are right."""
    known = verdicts(text, consts)
    if "rule" in entry or not is_of_slopes(entry) or not known:
        return known.get(entry["claim"]) != "refuted"
    return False


def accepted_entries(lines: Sequence[str], content: bytes) -> Iterator[tuple[Json, Mapping[str, str]]]:
    """The entries of a file to which the checker says yes, each with the consts that the file sets."""
    file = json.loads(content)
    answers = [line for line in lines if not line.startswith("uncertified ")]
    for entry, line in zip(entries(file), answers, strict=True):
        if line.startswith("yes "):
            yield entry, file["consts"]

"""The shape of a file of certificates: which fields it has, and its entries."""

from __future__ import annotations

from typing import Any

from energyc.checker.nodes import KINDS
from energyc.checker.shapes import (
    LENGTHS,
    NAMES,
    PAIRS,
    SIZED,
    Malformed,
    anything,
    by,
    flag,
    left,
    list_of,
    map_of,
    record,
    text,
    text_or,
    whole,
)

_PROOF = {**SIZED, "by": NAMES}
#: The statements of certificates, by kind, and those of rule trees.
OF_CERTIFICATES = by(
    "kind",
    {
        "gradient": record({**_PROOF, "of": NAMES}),
        "symmetric": record({**_PROOF, "of": text_or(NAMES), "across": flag}),
        "matrix": record({**_PROOF, "of": text, "by": list_of(text, 2)}),
        "metric": record({**_PROOF, "of": text, "by": list_of(text, 1)}),
    },
)
OF_TREES = by("kind", {name: kind.shape for name, kind in KINDS.items()})
STEP = by(
    "rule",
    {
        "slope": record({"rule": text, "force": left, "is": text}),
        "potential": record({"rule": text, "energy": text}),
    },
)
#: The claim of an entry is for its readers: nothing rests on it.
_ENTRY = {"claim": text, "formulas": map_of(text), "statement": OF_CERTIFICATES}
_FACTS = record({}, {"squares": NAMES, "apart": NAMES, "kinks": PAIRS, "sign": whole})
#: How deep premises are nested at most.
DEPTH = 8


def premise(value: Any, at: str) -> None:
    """A node of a rule tree."""
    if at.count("premises") > DEPTH:
        raise Malformed(f"{at} is nested more than {DEPTH} premises deep")
    record(_NODE)(value, at)


_NODE = {"statement": OF_TREES, "rule": text, "premises": list_of(premise), "facts": _FACTS}
#: The shape of an entry of each list of a file.
ENTRIES = {
    "certificates": record({**_ENTRY, "steps": list_of(STEP)}),
    "claims": record({**_ENTRY, **_NODE}),
}
#: A file, whose entries are judged each by itself.
FILE = record(
    {"format": text, "version": whole, "consts": LENGTHS, **dict.fromkeys(ENTRIES, list_of(anything))},
    {"network": text, "uncertified": list_of(record({"claim": text, "reason": text}))},
)

"""The reports of ``energyc check`` in docs/gallery.md: the lines that say most, taken from the golden reports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gallery.md"
SECTION = re.compile(r"^## (?P<title>.*?): `(?P<spec>\w+)`\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
CHECK = re.compile(r"(?<=```check\n).*?(?=```)", re.DOTALL)
EXCERPT = re.compile(r"(?<=```energy\n).*?(?=```)", re.DOTALL)


def key_lines(report: str) -> str:
    """The class, each term with its class and evidence, the claims, and the rules by verdict and reason.

    Of a refuted claim there is its evidence too; what layers are like follows in the order of the report.
    """
    lines: list[str] = []
    for block in report.split("\n\n"):
        head, *rest = block.splitlines()
        if head.startswith(("network", "layer")):
            lines += [*([head] if head.startswith("layer") else []), *(x for x in rest if x.startswith("  class"))]
        elif head == "terms":
            lines += [head, *(_cut(x) for x in rest if not x.startswith("    "))]
        elif head == "claims":
            lines += [head, *_claims(rest)]
        elif head == "rules":
            lines += [head, *_rules(rest)]
    return "\n".join(lines) + "\n"


def _cut(line: str) -> str:
    """A term without the numbers of its witness."""
    return re.sub(r"witness: .*", "witness", line)


def _claims(lines: list[str]) -> Iterator[str]:
    refuted = False
    for line in lines:
        if not line.startswith("    "):
            refuted = line.endswith(": refuted")
            yield line
        elif refuted:
            yield line


def _rules(lines: list[str]) -> Iterator[str]:
    """A line for each verdict with its reason, without what to use instead."""
    groups: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        name, verdict, *why = line.split(maxsplit=2)
        reason = re.sub(r"; use [\w-]+$", "", why[0]) if why else ""
        groups.setdefault((verdict, reason), []).append(name)
    width = max(len(verdict) for verdict, _ in groups)
    for (verdict, reason), names in groups.items():
        yield f"  {verdict:<{width}}  {', '.join(names)}"
        if reason:
            yield f"    {reason}"


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")

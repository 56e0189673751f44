"""The parts of docs/gallery.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gallery.md"
SECTION = re.compile(r"^## (?P<title>.*?): `(?P<spec>\w+)`\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
CHECK = re.compile(r"(?<=```check\n).*?(?=```)", re.DOTALL)
EXCERPT = re.compile(r"(?<=```energy\n).*?(?=```)", re.DOTALL)


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")

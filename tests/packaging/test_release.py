"""What a release says of itself agrees: version, changes, citation, Pythons, license."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from energyc.version import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"


def of_yaml(path: Path) -> Any:
    return pytest.importorskip("yaml").safe_load(path.read_text(encoding="utf-8"))


def test_the_changelog_has_the_version() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[:2] == ["Unreleased", __version__]


def test_the_citation_is_of_this_version() -> None:
    citation = of_yaml(ROOT / "CITATION.cff")
    assert citation["version"] == __version__ and citation["license"] == PROJECT["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]


def test_the_pythons_that_are_named_are_those_that_are_tried() -> None:
    named = [text.rsplit(" ", 1)[1] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)]
    assert named == of_yaml(WORKFLOW)["jobs"]["wheel"]["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert f"Python {named[0]} to {named[-1]}" in (ROOT / "docs" / "index.md").read_text()


def test_only_a_tag_publishes_and_without_a_secret() -> None:
    """After the wheel was tried, with the right to ask for a token in that job alone."""
    text, workflow = WORKFLOW.read_text(), of_yaml(WORKFLOW)
    publish = workflow["jobs"].pop("publish")
    assert publish["needs"] == "wheel" and "ref_type == 'tag'" in publish["if"]
    assert publish["permissions"] == {"id-token": "write"} and workflow["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in workflow["jobs"].values()) and "secrets." not in text
    assert ".ci/wheel dist/*.whl" in text and (ROOT / ".ci" / "wheel").stat().st_mode & 0o100


def test_the_classifiers_are_known() -> None:
    known = pytest.importorskip("trove_classifiers").classifiers
    assert set(PROJECT["classifiers"]) <= set(known)

"""docs/interface.md says all that the command line has."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from energyc.surfaces.cli.main import COMMANDS, energyc

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "interface.md").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_its_options_are_documented(name: str) -> None:
    command = energyc.get_command(click.Context(energyc), name)  # type: ignore[attr-defined]
    assert f"`energyc {name}" in PAGE
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[-1] in PAGE, parameter.opts

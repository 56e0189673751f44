"""The data folders are found."""

from __future__ import annotations

import pytest

from energyc.resources import folder, resource


@pytest.mark.parametrize("name", ["grammar", "codegen", "specs"])
def test_a_data_folder_is_found(name) -> None:
    assert folder(name).is_dir()


def test_a_file_in_it() -> None:
    assert resource("grammar", "energy.lark").is_file()

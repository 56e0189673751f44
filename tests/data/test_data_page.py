"""docs/data.md: its table has every adapter, option, field and size, and its example works."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.running.data import DATA, Registry, check_batch, find_adapter

REQUIRED = {"characters": {"context": 4}, "masked_images": {"side": 8, "patch": 4}, "table": {"classes": 2}}
PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text()
ROWS = {match[1]: match[0] for match in re.finditer(r"^\| `(\w+)\(.*$", PAGE, re.MULTILINE)}


def test_the_table_has_every_adapter() -> None:
    assert set(ROWS) == set(DATA.names())


@pytest.mark.parametrize("name", DATA.names())
def test_a_row_has_every_option_field_and_size(name: str) -> None:
    adapter, row = find_adapter(name), ROWS[name]
    with pytest.raises(UserError) as raised:
        adapter.schema({"no_such_option": 1})
    takes = str(raised.value.help).split(" takes ")[1]
    options = [] if takes == "no options" else takes.split(", ")
    signature = row.split("|")[1]
    assert [option for option in options if not re.search(rf"\b{option}\b", signature)] == []
    schema = adapter.schema(REQUIRED.get(name, {}))
    if name not in ("mnist",):  # its row says: the same
        assert [word for word in (*schema.fields, *schema.sizes) if f"`{word}" not in row] == []


def test_the_example_works() -> None:
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code is not None
    registry = Registry()
    text = code[1].replace("import energyc\n", "")
    exec(text, {"energyc": _Namespace(registry)})
    dataset = registry.find("waves").open({}, None)
    for part, length in (("train", 800), ("test", 200)):
        split = dataset.split(part)
        assert len(split) == length
        check_batch("waves", dataset.schema, split.batch(np.arange(5)), 5)


class _Namespace:
    def __init__(self, registry: Registry) -> None:
        self.register_data = registry.register

"""Tables: formats found in the wild, standardisation, words, absent cells, classes, files of each kind of badness."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

from energyc.language.diagnostics import UserError
from energyc.running.data import Dataset, find_adapter
from energyc.running.data.arrays import fixed_split, standardise
from tests.drawing import SEED

ROWS = np.round(np.random.RandomState(0).randn(40, 4) * [1, 10, 0.1, 5] + [0, 3, 7, -2], 3)


def table(path: Path | None, **options: object) -> Dataset:
    return find_adapter("table").open(options, None if path is None else str(path))


def whole(dataset: Dataset, field: str) -> np.ndarray:
    """All rows of a field in the file's order."""
    parts = [dataset.split(part).batch(np.arange(len(dataset.split(part))))[field] for part in ("train", "test")]
    places = np.concatenate(fixed_split(sum(map(len, parts)), 0.2))
    return np.concatenate(parts)[np.argsort(places)]


def standard(values: np.ndarray) -> np.ndarray:
    train, _ = fixed_split(len(values), 0.2)
    return (values - values[train].mean(0)) / values[train].std(0)


FORMATS = {
    "comma": "\n".join(",".join(map(str, row)) for row in ROWS),
    "comma and head": "a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in ROWS),
    "quotes": '"a","b, b","c","d"\n' + "\n".join(",".join(f'"{cell}"' for cell in row) for row in ROWS),
    "semicolon, decimal comma, mark": "\ufeffa;b;c;d\r\n"
    + "\r\n".join(";".join(str(cell).replace(".", ",") for cell in row) for row in ROWS),
    "blanks and tabs": "\n".join(" \t".join(map(str, row)) + " \n" for row in ROWS),
    "tabs": "\n\n".join("\t".join(map(str, row)) for row in ROWS) + "\n\n",
}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_numbers(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "table.txt"
    path.write_bytes(FORMATS[kind].encode())
    dataset = table(path, inputs=3)
    np.testing.assert_allclose(whole(dataset, "x"), standard(ROWS[:, :3]), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(whole(dataset, "y"), standard(ROWS[:, 3]), rtol=1e-4, atol=1e-6)


def test_several_targets_are_the_last_columns_and_have_an_axis(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(FORMATS["comma"])
    dataset = table(path, inputs=2, targets=2)
    np.testing.assert_allclose(whole(dataset, "y"), standard(ROWS[:, 2:]), rtol=1e-4, atol=1e-6)
    assert table(path, inputs=3, targets=1).schema.fields["y"].shape == (1,)
    assert table(path, inputs=3).schema.fields["y"].shape == ()


def test_the_statistics_are_those_of_the_training_rows() -> None:
    split = table(None).split("train")
    batch = split.batch(np.arange(len(split)))
    np.testing.assert_allclose(batch["x"].mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(batch["x"].std(0), 1, atol=1e-6)
    np.testing.assert_allclose(whole(table(None), "y"), standard(load_diabetes().target), rtol=1e-5)


def test_scikit_learns_tables_by_name() -> None:
    dataset = table(None, name="wine")
    np.testing.assert_array_equal(whole(dataset, "y"), load_wine().target)
    assert dataset.schema.sizes == {"inputs": 13, "targets": 1, "classes": 3}
    assert table(None, name="breast_cancer").schema.fields["x"].shape == (30,)
    with pytest.raises(UserError, match="it has 13 inputs and a target in 3 classes"):
        table(None, name="wine", inputs=12)


def test_words_and_missing_cells_are_left_out_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    lines = [f"{a},{'north' if a > 0 else 'south'},{b},{d}" for a, b, _, d in ROWS]
    lines[4], lines[9] = "1.5,north,,3", "1.5,north,2,NA"
    path.write_text("a,place,b,d\n" + "\n".join(lines))
    rest = np.delete(np.arange(40), [4, 9])
    dropped = table(path, inputs=2)
    np.testing.assert_allclose(whole(dropped, "x"), standard(ROWS[rest][:, :2]), rtol=1e-4, atol=1e-6)
    assert dropped.notes[:2] == ("columns of words dropped: place", "2 of 40 rows dropped: missing cells")
    hot = whole(table(path, inputs=4, words="one-hot"), "x")
    north = (ROWS[rest, 0] > 0).astype(float)
    expected = standard(np.column_stack([ROWS[rest][:, :2], north, 1 - north]))
    np.testing.assert_allclose(hot, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("words", [False, True])
def test_classes_are_numbered_in_their_order(tmp_path: Path, words: bool) -> None:
    path = tmp_path / "table.csv"
    labels = np.random.RandomState(1).choice([3, 5, 8], 40)
    shown = {3: "ape", 5: "bee", 8: "cat"} if words else {3: "3", 5: "5", 8: "8"}
    lines = [",".join(map(str, row)) + "," + shown[int(label)] for row, label in zip(ROWS, labels, strict=True)]
    path.write_text("\n".join(lines))
    dataset = table(path, inputs=4, classes=3)
    np.testing.assert_array_equal(whole(dataset, "y"), np.searchsorted([3, 5, 8], labels))
    with pytest.raises(UserError) as raised:
        table(path, inputs=4, classes=2)
    assert "has 3 different values, more than classes = 2" in raised.value.message
    assert raised.value.help == "write classes = 3, or leave classes out for a real target"


def test_a_constant_column_becomes_zero(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n".join(f"0.1,{b},{d}" for _, b, _, d in ROWS))
    np.testing.assert_allclose(whole(table(path, inputs=2), "x")[:, 0], 0, atol=1e-6)


@pytest.mark.parametrize("unit", [1e300, 1e150, 1e-13, 1e-150, 1e-300])
def test_the_unit_of_a_column_does_not_matter(tmp_path: Path, unit: float) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n".join(",".join(repr(float(cell * unit)) for cell in row) for row in ROWS))
    dataset = table(path, inputs=3)
    np.testing.assert_allclose(whole(dataset, "x"), standard(ROWS[:, :3]), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(whole(dataset, "y"), standard(ROWS[:, 3]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, -7e-320, 1.1e308])
def test_a_constant_column_of_any_size_becomes_zero_and_a_test_row_shows_its_difference(value: float) -> None:
    columns = np.full((10, 1), value)
    np.testing.assert_array_equal(standardise(columns, np.arange(8)).values, 0)
    columns[9] += 0.5
    assert standardise(columns, np.arange(8)).values[9, 0] == columns[9, 0] - value


@pytest.mark.parametrize("cell", ["1e308", "-1e308", "1e39", "1e12"])
@pytest.mark.parametrize("row", range(0, 40, 9))
@pytest.mark.parametrize("column", [0, 3])
def test_a_value_that_swamps_its_column_is_named(tmp_path: Path, cell: str, row: int, column: int) -> None:
    cells = [list(map(str, numbers)) for numbers in ROWS]
    cells[row][column] = cell
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,d\n\n" + "\n".join(map(",".join, cells)))
    with pytest.raises(UserError) as raised:
        table(path, inputs=3)
    shown = f"{float(cell):g} is so far from the other values of its column that they become equal"
    assert raised.value.message.startswith(f"{path}:{row + 3}: {shown}")
    assert raised.value.code == "E0914"


def test_a_skewed_column_and_a_column_with_few_values_are_no_mistake(tmp_path: Path) -> None:
    skewed = np.exp(np.random.RandomState(2).randn(200) * 5)
    few = np.where(np.arange(200) % 50 == 7, 1e6, 0)
    path = tmp_path / "table.csv"
    path.write_text("\n".join(f"{a!r},{b!r},{b!r}" for a, b in zip(skewed.tolist(), few.tolist(), strict=True)))
    x = whole(table(path, inputs=2), "x")
    np.testing.assert_allclose(x, standard(np.column_stack([skewed, few])), rtol=1e-4, atol=1e-6)


def test_another_number_of_columns_says_what_to_write(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(FORMATS["comma"])
    with pytest.raises(UserError) as raised:
        table(path, inputs=5)
    assert "3 columns are left for x where the spec says inputs = 5 and 1 target" in raised.value.message
    assert (raised.value.help, raised.value.code) == ("write inputs = 3", "E0915")
    with pytest.raises(UserError, match="inputs = 3 and 7 targets"):
        table(path, inputs=3, targets=7)


BAD = {
    "empty": (b"", "empty"),
    "blank": (b"\n \n,,\n", "empty"),
    "binary": (b"1,2\0,3", "binary, not text"),
    "a head alone": (b"a,b,c\n", "no row of numbers"),
    "words alone": (b"a,b,c\n" * 9, "no column of numbers"),
    "few rows": (b"1,2,3\n4,5,6\n", "2 complete rows; expected at least 5 rows"),
    "one column": (b"1\n2\n3\n4\n5\n6\n", "0 columns are left for x"),
    "all absent": (b"a,b,c\n" + b"1,NA,3\n" * 9, "0 complete rows"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_table_is_one_message(tmp_path: Path, kind: str) -> None:
    data, problem = BAD[kind]
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    with pytest.raises(UserError) as raised:
        table(path, inputs=2)
    assert raised.value.message.startswith(f"{path}: {problem}")
    assert raised.value.help


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1,2", "2 cells where the first row has 4"),
        ("1,2,3,4,5", "5 cells where the first row has 4"),
        ("1,oops,3,4", "'oops' in column 2 is not a number"),
        ("1,2,inf,4", "'inf' in column 3 is not a number"),
        ("1,2,1e999,4", "'1e999' in column 3 is not a number"),
        ("1,__import__('os').system('true'),3,4", "\"__import__('os').system('true')\" in column 2 is not a number"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "table.csv"
    rows = FORMATS["comma"].split("\n")
    path.write_text("\n".join([*rows[:20], "", line, *rows[20:]]))
    with pytest.raises(UserError) as raised:
        table(path, inputs=3)
    assert raised.value.message.startswith(f"{path}:22: {problem}")


def test_a_missing_table_is_told(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "none.csv", "not found or not readable"), (tmp_path, "a folder; expected a table")):
        with pytest.raises(UserError, match=said) as raised:
            table(path)
        assert raised.value.code == "E0913"


def test_words_that_are_missing_drop_their_row_and_a_label_may_be_called_none(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n".join(f"{k},{'' if k == 7 else 'ab'[k % 2]},{('none', 'mild')[k % 2]}" for k in range(20)))
    dataset = table(path, inputs=3, classes=2, words="one-hot")
    np.testing.assert_array_equal(whole(dataset, "y"), [k % 2 == 0 for k in range(20) if k != 7])
    assert "1 of 20 rows dropped: missing cells" in dataset.notes


#: What a cell or the end of one may be changed to.
PIECES = (
    *"\"',;\t \n-=#\\\x0c\x85",
    "nan",
    "inf",
    "1e999",
    "9" * 30,
    "0x1F",
    "NA",
    "?",
    "",
    "1e-320",
    "True",
    "１",
    "NaT",
)


def test_a_mutated_table_is_read_or_refused(tmp_path: Path) -> None:
    drawn = random.Random(SEED)
    path = tmp_path / "table.csv"
    read = 0
    for _ in range(200):
        text = drawn.choice(list(FORMATS.values()))
        for _ in range(drawn.randint(0, 3)):
            start = drawn.randrange(len(text))
            text = text[:start] + drawn.choice(PIECES) + text[start + drawn.choice((0, 1, 5)) :]
        path.write_text(text)
        options = drawn.choice(({}, {"classes": 40}, {"targets": 1}, {"words": "one-hot"}))
        try:
            dataset = table(path, inputs=3, **options)
        except UserError as error:
            assert error.code in ("E0914", "E0915") and error.message.startswith(str(path))
            continue
        read += 1
        assert np.isfinite(whole(dataset, "x")).all() and np.isfinite(whole(dataset, "y")).all()
    assert read


def test_pandas_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match="tables need pandas, which is not installed") as raised:
        table(None)
    assert raised.value.code == "E0913" and "'pandas>=2.2'" in str(raised.value.help)

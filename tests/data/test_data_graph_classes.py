"""Graph classification: the TU format in its variants, padding, eigenvectors, the drawn graphs, hostile files."""

from __future__ import annotations

import os
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.running.data import Dataset, check_batch, files, find_adapter
from energyc.running.data.graph_classes import eigenvectors

# two triangles and a path of four; the graph of a node is not in order, and some edges are given in one direction
TABLES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 1\n4, 5\n5, 6\n6, 4\n7, 8\n8,9\n9, 10\n10, 9\n7, 7\n",
    "graph_indicator": "3\n3\n3\n1\n1\n1\n2\n2\n2\n2\n",
    "graph_labels": "1\n-1\n1\n",
    "node_labels": "5\n5\n7\n5\n5\n5\n9\n9\n9\n7\n",
    "node_attributes": "\n".join(f" {k}.5, {k % 3}" for k in range(10)) + "\n",
}
SIZES = {"nodes": 5, "inputs": 5, "classes": 2, "eigenvectors": 3}


def folder(path: Path, tables: dict[str, str] = TABLES) -> str:
    for name, text in tables.items():
        (path / f"TOY_{name}.txt").write_text(text)
    return str(path)


def zipped(path: Path, tables: dict[str, str] = TABLES, inner: str = "TOY//") -> str:
    with zipfile.ZipFile(path / "TOY.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in tables.items():
            archive.writestr(f"{inner}TOY_{name}.txt", text)
        archive.writestr(f"{inner}README.txt", "read me")
    return str(path / "TOY.zip")


def opened(path: str | None, **options: object) -> Dataset:
    return find_adapter("graph_classes").open({**SIZES, **options}, path)


def whole(dataset: Dataset) -> dict[str, np.ndarray]:
    """All graphs, the training ones first."""
    parts = [dataset.split(part) for part in ("train", "test")]
    batches = [part.batch(np.arange(len(part))) for part in parts]
    for batch in batches:
        check_batch("toy", dataset.schema, batch, len(batch["label"]))
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


@pytest.mark.parametrize("make", [folder, zipped, lambda path: zipped(path, inner="")])
def test_folders_and_zips_give_the_same_graphs(tmp_path: Path, make) -> None:
    (tmp_path / "data").mkdir()
    fields = whole(opened(make(tmp_path / "data")))
    sizes = fields["mask"].sum(1).astype(int)
    assert sorted(sizes) == [3, 3, 4]
    assert sorted(zip(sizes, fields["label"], strict=True)) == [(3, 1), (3, 1), (4, 0)]  # -1 and 1 are 0 and 1
    path = int(np.argmax(sizes))
    chain = np.zeros((6, 6), int)
    chain[0, 1:5] = chain[1:5, 0] = 1  # CLS is joined to all nodes, and not to padding
    for node in (1, 2, 3):
        chain[node, node + 1] = chain[node + 1, node] = 1
    np.testing.assert_array_equal(fields["adjacency"][path], chain)
    # one-hot labels 5, 7, 9, then two attributes of mean 0 and deviation 1 over all nodes
    np.testing.assert_array_equal(fields["features"][path][:, :3].argmax(1)[:4], [2, 2, 2, 1])
    first = (np.arange(10) + 0.5 - 5) / np.arange(10).std()
    np.testing.assert_allclose(fields["features"][path][:4, 3], first[6:], rtol=1e-6)
    assert (fields["features"][path][4] == 0).all()


def test_notes_say_how_the_file_was_read(tmp_path: Path) -> None:
    notes = opened(folder(tmp_path)).notes
    assert notes[:2] == ("3 graphs of 3 to 4 nodes", "3 node labels, 2 attributes, standardised over all nodes")
    assert notes[2:4] == ("1 edge from a node to itself left out", "7 edges added, whose opposite alone was given")


def test_without_labels_and_attributes_the_degree_is_the_feature(tmp_path: Path) -> None:
    tables = {name: TABLES[name] for name in ("A", "graph_indicator", "graph_labels")}
    fields = whole(opened(folder(tmp_path, tables), inputs=1))
    degree = fields["adjacency"][:, 1:, 1:].sum(2)
    raw = np.array([2] * 6 + [1, 2, 2, 1])
    expected = np.where(fields["mask"] > 0, (degree - raw.mean()) / raw.std(), 0)
    np.testing.assert_allclose(fields["features"][..., 0], expected, rtol=1e-6)


def test_eigenvectors_solve_their_equation_with_fixed_signs() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        upper = np.triu(random.integers(0, 2, (7, 7)), 1)
        matrix = upper + upper.T
        matrix[0, 1:] = matrix[1:, 0] = 1
        vectors = eigenvectors(matrix, 4)
        scale = np.diag(matrix.sum(1) ** -0.5)
        normalised = scale @ matrix @ scale
        values = np.einsum("ne,nm,me->e", vectors, normalised, vectors)
        np.testing.assert_allclose(normalised @ vectors, vectors * values, atol=1e-12)
        np.testing.assert_allclose(values, np.sort(np.linalg.eigvalsh(normalised))[::-1][:4], atol=1e-12)
        np.testing.assert_allclose(vectors.max(0), np.abs(vectors).max(0))
    # of two entries that are equal in size the first is positive
    np.testing.assert_allclose(eigenvectors(np.array([[0, 1], [1, 0]]), 2), [[0.5**0.5] * 2, [0.5**0.5, -(0.5**0.5)]])


def test_a_small_graph_has_fewer_eigenvectors_and_zeros_after_them(tmp_path: Path) -> None:
    fields = whole(opened(folder(tmp_path), nodes=8, eigenvectors=9))
    small = fields["eigenvectors"][fields["mask"].sum(1) == 3]
    assert np.abs(small[:, :4, :4]).sum() > 0 and (small[:, :, 4:] == 0).all() and (small[:, 4:] == 0).all()


def test_the_drawn_classes_differ_by_their_triangle_alone() -> None:
    dataset = opened(None, nodes=12, inputs=2)
    fields = whole(dataset)
    assert [len(dataset.split(part)) for part in ("train", "test")] == [360, 40]
    graph = fields["adjacency"][:, 1:, 1:]
    triangles = np.einsum("nij,njk,nki->n", graph, graph, graph) // 6
    np.testing.assert_array_equal(triangles, fields["label"])
    edges = graph.sum((1, 2)) // 2
    sizes = fields["mask"].sum(1)
    assert set(edges - sizes) == {0, 1}  # a chain and a ring with one more edge
    again = whole(opened(None, nodes=12, inputs=2))
    other = whole(find_adapter("graph_classes").open({**SIZES, "nodes": 12, "inputs": 2}, None, seed=1))
    np.testing.assert_array_equal(fields["features"], again["features"])
    assert not np.array_equal(fields["features"], other["features"])


def test_each_class_has_a_tenth_of_its_graphs_in_the_test() -> None:
    dataset = opened(None, nodes=12, inputs=1)
    test = dataset.split("test").batch(np.arange(40))
    np.testing.assert_array_equal(np.bincount(test["label"]), [20, 20])


@pytest.mark.parametrize(
    ("options", "message", "help"),
    [
        ({"nodes": 3}, "1 of its 3 graphs have more than 3 nodes (nodes = 3), the largest 4", "write nodes = 4"),
        ({"inputs": 4}, "its nodes have 5 features (3 node labels, 2 attributes, ", "write inputs = 5"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_with_the_right_ones(
    tmp_path: Path, options: dict, message: str, help: str
) -> None:
    with pytest.raises(UserError) as raised:
        opened(folder(tmp_path), **options)
    assert message in raised.value.message and help in str(raised.value.help) and raised.value.code == "E0915"


@pytest.mark.parametrize(
    ("count", "start"), [(417, "write nodes = 417, or more; or take graph_bags"), (5000, "take graph_bags")]
)
def test_large_graphs_are_pointed_to_bags(tmp_path: Path, count: int, start: str) -> None:
    indicator, edges = "1\n" * count, "1, 2\n2, 1\n"
    tables = {"A": edges, "graph_indicator": indicator, "graph_labels": "1\n"}
    with pytest.raises(UserError, match="the largest") as raised:
        opened(folder(tmp_path, tables))
    assert str(raised.value.help).startswith(start)


def test_more_labels_than_classes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="3 labels, more than classes = 2"):
        opened(folder(tmp_path, {**TABLES, "graph_labels": "1\n2\n3\n"}))


HOSTILE = {
    "a node beyond the last": ("A", "1, 11\n", "its table A has numbers from 1 to 11"),
    "a node below the first": ("A", "0, 1\n", "its table A has numbers from 0 to 1"),
    "an edge between graphs": ("A", "1, 2\n1, 4\n", "the edge in line 2 of its table A joins two graphs"),
    "an edge of three nodes": ("A", "1, 2, 3\n", "its table A is [1, 3], not [1, 2]"),
    "words": ("A", "one, two\n", "TOY_A.txt: could not convert string 'one' to int64 at row 0, column 1"),
    "a number too large": ("A", "1, 99999999999999999999999\n", "TOY_A.txt: could not convert"),
    "an empty table": ("A", "\n \n", "TOY_A.txt: empty"),
    "a graph beyond the last": ("graph_indicator", "4\n" * 10, "graph_indicator has numbers from 4 to 4"),
    "a graph without nodes": ("graph_labels", "1\n1\n1\n1\n", "graph 4 has no node"),
    "a label too few": ("node_labels", "1\n1\n", "its table node_labels is [2, 1], not [10, 1]"),
    "a ragged table": ("node_attributes", "1, 2\n3\n", "TOY_node_attributes.txt: the number of columns changed"),
    "not a number": ("node_attributes", "nan, 1\n" * 10, "a number that is not finite"),
    "bytes": ("graph_labels", "\0\xff\xfe", "TOY_graph_labels.txt: could not convert"),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("make", [folder, zipped])
def test_a_broken_table_is_one_message(tmp_path: Path, kind: str, make) -> None:
    table, text, message = HOSTILE[kind]
    with pytest.raises(UserError) as raised:
        opened(make(tmp_path, {**TABLES, table: text}))
    assert message in raised.value.message
    assert raised.value.code == "E0914" and raised.value.help


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no TOY_graph_labels\.txt"):
        opened(zipped(tmp_path, {name: text for name, text in TABLES.items() if name != "graph_labels"}))
    with pytest.raises(UserError, match=r"no files named NAME_A\.txt"):
        opened(zipped(tmp_path, {}))
    with pytest.raises(UserError, match="not found"):
        opened(str(tmp_path / "nothing.zip"))


def test_a_zip_that_is_none_or_cut_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(zipped(tmp_path))
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    with pytest.raises(UserError, match="not a valid zip"):
        opened(str(path))
    broken = bytearray(content)
    broken[80:90] = b"\xff" * 10
    path.write_bytes(bytes(broken))
    with pytest.raises(UserError) as raised:
        opened(str(path))
    assert raised.value.code == "E0914"
    path.write_bytes(content)
    monkeypatch.setattr(files, "LARGEST_FILE", 100)
    with pytest.raises(UserError, match="unpacks to more than"):
        opened(str(path))


def test_a_pipe_among_the_tables_is_refused_and_not_opened(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (tmp_path / "TOY_node_labels.txt").unlink()
    os.mkfifo(tmp_path / "TOY_node_labels.txt")
    with pytest.raises(UserError, match=r"TOY_node_labels\.txt: a pipe, socket or device") as raised:
        opened(path)
    assert raised.value.code == "E0914"


def test_members_names_reach_no_file_system(tmp_path: Path) -> None:
    opened(zipped(tmp_path, inner="../../"))
    assert [path.name for path in tmp_path.iterdir()] == ["TOY.zip"]


def test_flipped_eigenvectors_differ_in_signs_and_in_training_alone() -> None:
    options = {"nodes": 16, "inputs": 2, "eigenvectors": 3, "flipped": Fraction(1, 2)}
    split = find_adapter("graph_classes").open(options, None).split("train")
    calm, drawn, later = (split.batch(np.arange(8), epoch=k, augment=k > 0)["eigenvectors"] for k in range(3))
    one = split.batch(np.arange(5, 6), epoch=1, augment=True)["eigenvectors"]
    signs = np.where((calm * drawn).sum(1) < 0, -1, 1)
    np.testing.assert_array_equal(drawn, calm * signs[:, None])
    np.testing.assert_array_equal(drawn[5:6], one)
    assert len(set(map(tuple, signs))) > 2 and (drawn != later).any()

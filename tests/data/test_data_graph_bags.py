"""Disjoint unions: every graph is in one sample, whole, and padding touches none."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.running.data import check_batch, find_adapter
from tests.data.test_data_graph_classes import folder, zipped

SIZES = {"graphs": 5, "nodes": 41, "edges": 90}


def samples(options: dict, path: str | None = None) -> list[dict[str, np.ndarray]]:
    dataset = find_adapter("graph_bags").open(options, path)
    found = []
    for part in ("train", "test"):
        split = dataset.split(part)
        batch = split.batch(np.arange(len(split)))
        check_batch("bags", dataset.schema, batch, len(split))
        found += [{name: values[k] for name, values in batch.items()} for k in range(len(split))]
    return found


def graphs(sample: dict[str, np.ndarray]) -> list[tuple]:
    """The graphs of a sample: label, features, adjacency."""
    found = []
    for number in np.flatnonzero(sample["present"]):
        nodes = np.flatnonzero(sample["graph"] == number)
        inside = np.isin(sample["targets"], nodes)
        assert np.isin(sample["sources"][inside], nodes).all()
        matrix = np.zeros((len(nodes), len(nodes)), int)
        np.add.at(matrix, (sample["targets"][inside] - nodes[0], sample["sources"][inside] - nodes[0]), 1)
        found.append((int(sample["label"][number]), sample["features"][nodes].tobytes(), matrix.tobytes()))
    return found


@pytest.mark.abridged
@pytest.mark.parametrize("sizes", [SIZES, {"graphs": 400, "nodes": 60, "edges": 4000}, {"graphs": 2}])
def test_the_graphs_are_those_of_graph_classes(sizes: dict) -> None:
    mine = [graph for sample in samples(sizes) for graph in graphs(sample)]
    padded = find_adapter("graph_classes").open({}, None)
    theirs = []
    for part in ("train", "test"):
        split = padded.split(part)
        batch = split.batch(np.arange(len(split)))
        for k in range(len(split)):
            nodes = int(batch["mask"][k].sum())
            matrix = batch["adjacency"][k, 1 : nodes + 1, 1 : nodes + 1]
            theirs.append((int(batch["label"][k]), batch["features"][k, :nodes].tobytes(), matrix.tobytes()))
    assert sorted(mine) == sorted(theirs) and len(mine) == 400


def test_the_last_graph_and_the_last_node_are_padding() -> None:
    for sample in samples(SIZES):
        assert sample["present"][-1] == 0 and sample["graph"][-1] == 4
        missing = sample["targets"] == 40
        assert (sample["sources"][missing] == 40).all()
        assert (sample["features"][sample["graph"] == 4] == 0).all()
        assert 0 < sample["present"].sum() <= 4


def test_files_are_read(tmp_path: Path) -> None:
    options = {"graphs": 3, "nodes": 11, "edges": 20, "inputs": 5}
    (tmp_path / "a").mkdir()
    for path in (folder(tmp_path / "a"), zipped(tmp_path)):
        found = [graph for sample in samples(options, path) for graph in graphs(sample)]
        assert sorted(label for label, _, _ in found) == [0, 1, 1]


@pytest.mark.parametrize(
    ("options", "help"), [({"nodes": 4}, "nodes = 5, edges = 20"), ({"edges": 5}, "nodes = 9, edges = 6")]
)
def test_a_graph_that_has_no_room_is_refused_with_the_room_it_needs(tmp_path: Path, options: dict, help: str) -> None:
    sizes = {"graphs": 3, "nodes": 9, "edges": 20, "inputs": 5, **options}
    with pytest.raises(UserError) as raised:
        find_adapter("graph_bags").open(sizes, folder(tmp_path))
    assert raised.value.code == "E0915" and help in str(raised.value.help)


def test_with_eigenvectors_a_graph_begins_with_cls_and_is_that_of_graph_classes() -> None:
    mine = samples({"graphs": 5, "nodes": 60, "edges": 240, "inputs": 2, "eigenvectors": 3})
    padded = find_adapter("graph_classes").open({"inputs": 2, "eigenvectors": 3}, None)
    theirs = {}
    for part in ("train", "test"):
        split = padded.split(part)
        batch = split.batch(np.arange(len(split)))
        for k in range(len(split)):
            tokens = int(batch["mask"][k].sum()) + 1
            adjacency = batch["adjacency"][k, :tokens, :tokens]
            theirs[batch["features"][k, : tokens - 1].tobytes()] = (adjacency, batch["eigenvectors"][k, :tokens])
    for sample in mine:
        assert sample["cls"][-1] == 59 and not sample["eigenvectors"][59].any()
        for number in np.flatnonzero(sample["present"]):
            tokens = np.flatnonzero(sample["graph"] == number)
            assert sample["cls"][number] == tokens[0] and not sample["features"][tokens[0]].any()
            adjacency, vectors = theirs.pop(sample["features"][tokens[1:]].tobytes())
            found = np.zeros_like(adjacency)
            inside = np.isin(sample["targets"], tokens)
            np.add.at(found, (sample["targets"][inside] - tokens[0], sample["sources"][inside] - tokens[0]), 1)
            np.testing.assert_array_equal(found, adjacency)
            np.testing.assert_array_equal(sample["eigenvectors"][tokens], vectors)
    assert not theirs


def test_the_room_that_is_asked_for_counts_cls(tmp_path: Path) -> None:
    sizes = {"graphs": 3, "nodes": 5, "edges": 20, "inputs": 5, "eigenvectors": 2}
    with pytest.raises(UserError) as raised:
        find_adapter("graph_bags").open(sizes, folder(tmp_path))
    assert "with CLS" in raised.value.message and "nodes = 6" in str(raised.value.help)


def test_flipped_eigenvectors_are_those_of_their_graph_but_for_signs_and_in_training_alone() -> None:
    sizes = {"graphs": 5, "nodes": 61, "edges": 160, "eigenvectors": 3}
    plain = find_adapter("graph_bags").open(sizes, None).split("train")
    split = find_adapter("graph_bags").open({**sizes, "flipped": Fraction(1, 2)}, None).split("train")
    indices = np.arange(8)
    calm, whole = split.batch(indices, seed=3), plain.batch(indices, augment=True)
    drawn, again, later = (split.batch(indices, seed=3, epoch=epoch, augment=True) for epoch in (1, 1, 2))
    one = split.batch(indices[5:6], seed=3, epoch=1, augment=True)
    np.testing.assert_array_equal(calm["eigenvectors"], whole["eigenvectors"])
    np.testing.assert_array_equal(drawn["eigenvectors"], again["eigenvectors"])
    np.testing.assert_array_equal(drawn["eigenvectors"][5:6], one["eigenvectors"])
    assert (drawn["eigenvectors"] != later["eigenvectors"]).any()
    signs = set()
    for sample in range(8):
        for number in np.flatnonzero(calm["present"][sample]):
            nodes = calm["graph"][sample] == number
            before, after = (batch["eigenvectors"][sample][nodes] for batch in (calm, drawn))
            sign = np.where((before * after).sum(0) < 0, -1, 1)
            np.testing.assert_array_equal(after, before * sign)
            signs.add(tuple(sign))
    assert len(signs) > 2


def test_flips_of_eigenvectors_that_there_are_not_are_refused() -> None:
    with pytest.raises(UserError, match="flipped"):
        find_adapter("graph_bags").open({**SIZES, "flipped": Fraction(1, 2)}, None)

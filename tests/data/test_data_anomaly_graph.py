"""Graphs with anomalies: MATLAB, CARE-GNN's files and npz, parts, filler edges, the drawn graph, hostile files."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import coo_matrix, csc_matrix

from energyc.language.diagnostics import UserError
from energyc.running.data import Dataset, check_batch, files, find_adapter
from energyc.running.data.edges import undirected

NODES, RANDOM = 60, np.random.default_rng(5)
FEATURES = RANDOM.normal(size=(NODES, 3)) * [1, 100, 0.01] + [5, 0, 1]
LABELS = (np.arange(NODES) % 6 == 0).astype(np.uint8)  # 10 anomalies
PAIRS = np.unique(np.sort(RANDOM.integers(0, NODES, (90, 2)), axis=1), axis=0)
ONE, TWO = (undirected(*part.T, NODES) for part in (PAIRS[:50], PAIRS[40:]))
BOTH = undirected(*PAIRS.T, NODES)
SIZES: dict[str, Any] = {"nodes": NODES, "inputs": 3, "labelled": Fraction(2, 5)}


def matrix(edges: Any) -> csc_matrix:
    return csc_matrix(coo_matrix((np.ones(len(edges)), (edges.targets, edges.sources)), (NODES, NODES)))


def network(path: Path) -> str:
    content = {"Network": matrix(BOTH), "Attributes": csc_matrix(FEATURES), "Label": LABELS[:, None]}
    savemat(path / "graph.mat", content, do_compression=True)
    return str(path / "graph.mat")


def care_gnn(path: Path) -> str:
    relations = {"homo": matrix(BOTH), "net_upu": matrix(ONE), "net_usu": matrix(TWO)}
    savemat(path / "graph.mat", {**relations, "features": csc_matrix(FEATURES), "label": LABELS[None].astype(float)})
    return str(path / "graph.mat")


def arrays(path: Path, **content: Any) -> str:
    given = {"x": FEATURES.astype(np.float32), "y": LABELS.astype(np.int8), "rur": ends(ONE), "rtr": ends(TWO)}
    given |= {"original_node_id": np.arange(NODES), **content}
    np.savez_compressed(path / "graph.npz", **{name: value for name, value in given.items() if value is not None})
    return str(path / "graph.npz")


def ends(edges: Any) -> np.ndarray:
    return np.stack([edges.sources, edges.targets]).astype(np.int32)


def opened(path: str | None, **options: object) -> Dataset:
    return find_adapter("anomaly_graph").open({**SIZES, **options}, path)


def parts(dataset: Any) -> list[dict[str, np.ndarray]]:
    """Training, validation and test."""
    splits = [dataset.split("train"), dataset.validation, dataset.split("test")]
    batches = [split.batch(np.arange(1)) for split in splits]
    for batch in batches:
        check_batch("graph", dataset.schema, batch, 1)
    return [{name: values[0] for name, values in batch.items()} for batch in batches]


@pytest.mark.parametrize("make", [network, care_gnn, arrays])
def test_each_format_gives_the_same_graph(tmp_path: Path, make) -> None:
    train, validation, test = parts(opened(make(tmp_path), edges=len(BOTH)))
    for name in ("features", "sources", "targets", "labels"):
        np.testing.assert_array_equal(train[name], validation[name])
        np.testing.assert_array_equal(train[name], test[name])
    standard = (FEATURES - FEATURES.mean(0)) / FEATURES.std(0)
    np.testing.assert_allclose(train["features"], standard, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(train["labels"], LABELS)
    pairs = set(zip(train["sources"].tolist(), train["targets"].tolist(), strict=True))
    expected = {pair for a, b in PAIRS.tolist() if a != b for pair in ((a, b), (b, a))}
    assert pairs == expected and len(train["sources"]) == len(expected)


@pytest.mark.parametrize(("make", "relation"), [(care_gnn, "upu"), (care_gnn, "net_upu"), (arrays, "rur")])
def test_a_relation_is_chosen_by_name(tmp_path: Path, make, relation: str) -> None:
    train, *_ = parts(opened(make(tmp_path), edges=len(ONE), relation=relation))
    np.testing.assert_array_equal(train["sources"], ONE.sources)
    np.testing.assert_array_equal(train["targets"], ONE.targets)


def test_an_unknown_relation_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        opened(care_gnn(tmp_path), edges=len(ONE), relation="uup")
    assert raised.value.help == "relation is one of all, homo, upu, usu"


@pytest.mark.parametrize(("labelled", "counts"), [(Fraction(2, 5), (24, 12, 24)), (Fraction(1, 10), (6, 18, 36))])
def test_the_parts_are_disjoint_and_have_the_same_share_of_anomalies(tmp_path: Path, labelled, counts) -> None:
    masks = [part["part"] for part in parts(opened(network(tmp_path), edges=len(BOTH), labelled=labelled))]
    np.testing.assert_array_equal(np.sum(masks, axis=0), 1)
    assert tuple(int(mask.sum()) for mask in masks) == counts
    for mask, count in zip(masks, counts, strict=True):
        assert abs((mask * LABELS).sum() - count / 6) <= 1


def test_the_split_is_a_function_of_its_option_and_not_of_the_seed(tmp_path: Path) -> None:
    path, adapter = network(tmp_path), find_adapter("anomaly_graph")
    options = {**SIZES, "edges": len(BOTH)}
    first, other_seed, other_split = (
        parts(adapter.open({**options, "split": split}, path, seed=seed))[0]["part"]
        for split, seed in ((0, 0), (0, 7), (1, 0))
    )
    np.testing.assert_array_equal(first, other_seed)
    assert not np.array_equal(first, other_split)


def test_unlabelled_nodes_are_in_no_part(tmp_path: Path) -> None:
    masks = [part["part"] for part in parts(opened(network(tmp_path), edges=len(BOTH), unlabelled=20))]
    np.testing.assert_array_equal(np.sum(masks, axis=0), np.arange(NODES) >= 20)


def test_without_a_validation_part_the_others_are_the_test(tmp_path: Path) -> None:
    dataset = opened(network(tmp_path), edges=len(BOTH), validation=Fraction(0))
    assert dataset.validation is None  # type: ignore[attr-defined]
    assert dataset.split("test").batch(np.arange(1))["part"].sum() == 36


def test_missing_edges_lead_from_the_last_node_to_itself_and_change_no_other(tmp_path: Path) -> None:
    exact, *_ = parts(opened(network(tmp_path), edges=len(BOTH)))
    filled, *rest = parts(opened(network(tmp_path), nodes=NODES + 3, edges=len(BOTH) + 7))
    np.testing.assert_array_equal(filled["sources"][: len(BOTH)], exact["sources"])
    np.testing.assert_array_equal(filled["targets"][: len(BOTH)], exact["targets"])
    assert (filled["sources"][len(BOTH) :] == NODES + 2).all() and (filled["targets"][len(BOTH) :] == NODES + 2).all()
    for part in (filled, *rest):
        assert (part["part"][NODES:] == 0).all() and (part["labels"][NODES:] == 0).all()
        assert (part["features"][NODES:] == 0).all()
    np.testing.assert_array_equal(filled["features"][:NODES], exact["features"])
    # what a node reads from its neighbours, with and without the filler
    scores = np.random.default_rng(0).normal(size=(NODES + 3,))
    for node in range(NODES):
        seen = [np.logaddexp.reduce(scores[part["sources"][part["targets"] == node]]) for part in (exact, filled)]
        assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("options", "message", "help"),
    [
        ({"nodes": 59}, "more than nodes = 59", f"write nodes = 60, edges = {len(BOTH)}"),
        ({"edges": len(BOTH) - 1}, f"{len(BOTH)} directed edges, more than", f"edges = {len(BOTH)}"),
        ({"edges": len(BOTH) + 1}, "no node to spare", "or nodes = 61: the last node then takes the edges"),
        ({"inputs": 4}, "3 features but the spec says inputs = 4", "write inputs = 3"),
        ({"labelled": Fraction(0)}, "its training part has 0 nodes, all of one label", "change labelled"),
        ({"labelled": Fraction(1)}, "its validation part has 1 node, all", "change labelled"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_with_the_right_ones(
    tmp_path: Path, options: dict, message: str, help: str
) -> None:
    with pytest.raises(UserError) as raised:
        opened(network(tmp_path), **{"edges": len(BOTH), **options})
    assert message in raised.value.message and help in str(raised.value.help) and raised.value.code == "E0915"


# ------------------------------------------------------------------ the drawn graph


@pytest.mark.slow
def test_the_drawn_graph_has_the_sizes_of_the_spec_and_degrees_tell_nothing() -> None:
    for seed in range(3):
        train, *_ = parts(find_adapter("anomaly_graph").open({}, None, seed=seed))
        pairs = set(zip(train["sources"].tolist(), train["targets"].tolist(), strict=True))
        assert len(pairs) == 24000 and all((b, a) in pairs and a != b for a, b in pairs)
        anomalous = train["labels"] == 1
        assert anomalous.sum() == 200
        degree = np.bincount(train["targets"], minlength=2000)
        gap = degree[anomalous].mean() - degree[~anomalous].mean()
        assert abs(gap) < 4 * degree.std() / 200**0.5, seed


def test_an_anomaly_differs_from_its_neighbours_and_only_a_little_from_the_others() -> None:
    train, *_ = parts(find_adapter("anomaly_graph").open({}, None, seed=2))
    features, anomalous = train["features"], train["labels"] == 1
    sums = np.zeros_like(features)
    np.add.at(sums, train["targets"], features[train["sources"]])
    means = sums / np.maximum(1, np.bincount(train["targets"], minlength=2000))[:, None]

    def auc(score: np.ndarray) -> float:
        ranks = score.argsort().argsort() + 1
        return (ranks[anomalous].sum() - 200 * 201 / 2) / (200 * 1800)

    assert auc(((features - means) ** 2).sum(1)) > 0.9
    assert 0.35 < auc((features**2).sum(1)) < 0.65
    assert 0.35 < auc((means**2).sum(1)) < 0.65


@pytest.mark.parametrize("options", [{"edges": 24001}, {"nodes": 99}, {"nodes": 400, "edges": 20000}])
def test_a_graph_that_cannot_be_drawn_is_refused(options: dict) -> None:
    with pytest.raises(UserError) as raised:
        opened(None, **{"nodes": 2000, "edges": 24000, "inputs": 8, **options})
    assert raised.value.code == "E0912"


# ------------------------------------------------------------------ hostile files


def refused(path: str, **options: object) -> UserError:
    with pytest.raises(UserError) as raised:
        opened(path, **{"edges": len(BOTH), **options})
    assert raised.value.code == "E0914" and raised.value.help
    return raised.value


CONTENT = {"Network": matrix(BOTH), "Attributes": FEATURES, "Label": LABELS[:, None]}
WRONG_MATLAB: dict[str, tuple[dict[str, Any], str]] = {
    "a cell": ({"Label": np.array([1, "a"], object)}, "Label is of class cell, not an array of numbers"),
    "a struct": ({"Network": {"a": 1}}, "Network is of class struct, not an array of numbers"),
    "text": ({"Label": "normal"}, "Label is of class char, not an array of numbers"),
    "complex numbers": ({"Attributes": FEATURES * 1j}, "Attributes is complex, not an array of real numbers"),
    "a rectangular relation": ({"Network": FEATURES}, "Network is float64 [60, 3]"),
    "too few labels": ({"Label": LABELS[1:, None]}, "59 labels of 60 nodes"),
    "other labels": ({"Label": LABELS[:, None] + 1}, "labels other than 0 and 1"),
    "features that are not finite": ({"Attributes": FEATURES * np.inf}, "not finite"),
    "no features": ({"Attributes": None}, "it holds "),
    "no relation": ({"Network": None}, "no relation"),
    "two kinds of labels": ({"label": LABELS}, "it holds Label, label"),
}


@pytest.mark.parametrize("kind", WRONG_MATLAB)
def test_a_matlab_file_that_holds_something_else_is_one_message(tmp_path: Path, kind: str) -> None:
    change, message = WRONG_MATLAB[kind]
    content = {name: value for name, value in {**CONTENT, **change}.items() if value is not None}
    savemat(tmp_path / "graph.mat", content)
    assert message in refused(str(tmp_path / "graph.mat")).message


def test_objects_beside_the_arrays_are_never_built(tmp_path: Path) -> None:
    savemat(tmp_path / "graph.mat", {**CONTENT, "extra": np.array([{"deep": [1, "a"]}], object)})
    opened(str(tmp_path / "graph.mat"), edges=len(BOTH))


def test_damaged_matlab_files_are_one_message(tmp_path: Path) -> None:
    content = Path(network(tmp_path)).read_bytes()
    path = tmp_path / "damaged.mat"
    for damaged in (content[:60], content[:-9], b"", b"MATLAB 7.3 MAT-file" + bytes(500), b"\x89HDF\r\n\x1a\n"):
        path.write_bytes(damaged)
        refused(str(path))
    random = np.random.default_rng(11)
    for _ in range(6):  # flipped bytes: an error, or numbers that fit none the less
        damaged = bytearray(content)
        for place in random.integers(128, len(content), 3):
            damaged[place] ^= int(random.integers(1, 256))
        path.write_bytes(bytes(damaged))
        try:
            opened(str(path), edges=len(BOTH))
        except UserError as error:
            assert error.code in ("E0914", "E0915")


def test_flipped_bytes_of_an_uncompressed_file_are_one_message(tmp_path: Path) -> None:
    savemat(tmp_path / "graph.mat", CONTENT)
    content = (tmp_path / "graph.mat").read_bytes()
    random = np.random.default_rng(12)
    for _ in range(8):
        damaged = bytearray(content)
        for place in random.integers(128, len(content), 2):
            damaged[place] ^= int(random.integers(1, 256))
        (tmp_path / "graph.mat").write_bytes(bytes(damaged))
        try:
            opened(str(tmp_path / "graph.mat"), edges=len(BOTH))
        except UserError as error:
            assert error.code in ("E0914", "E0915")


def test_a_sparse_matrix_with_rows_beyond_its_shape_is_refused(tmp_path: Path) -> None:
    broken = matrix(BOTH)
    broken.indices[3] = 10**6
    savemat(tmp_path / "graph.mat", {**CONTENT, "Network": broken})
    assert "the sparse matrix Network is broken" in refused(str(tmp_path / "graph.mat")).message


def test_a_matlab_file_is_measured_before_it_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    savemat(stream, {"Attributes": np.zeros((1000, 500))}, do_compression=True)
    (tmp_path / "graph.mat").write_bytes(stream.getvalue())
    monkeypatch.setattr(files, "LARGEST_FILE", 1 << 20)
    assert "unpacks to more than 1 MiB" in refused(str(tmp_path / "graph.mat")).message


WRONG_NPZ: dict[str, tuple[dict[str, Any], str]] = {
    "pickled objects": ({"x": np.array([{}, []], object)}, "not a valid npz of numbers"),
    "a node beyond the last": ({"rur": np.array([[0, 60], [1, 2]])}, "rur has nodes from 0 to 60"),
    "a node below the first": ({"rur": np.array([[0, -1], [1, 2]])}, "rur has nodes from -1 to 2"),
    "real edges": ({"rur": ends(ONE).astype(float)}, "rur is float64 [2, "),
    "edges as rows": ({"rur": ends(ONE).T}, "rur is int32 ["),
    "words": ({"y": np.array(["a"] * NODES)}, "labels other than 0 and 1"),
    "features of another shape": ({"x": FEATURES[:, 0]}, "its features are [60]"),
    "no relation": ({"rur": None, "rtr": None}, "no relation"),
}


@pytest.mark.parametrize("kind", WRONG_NPZ)
def test_an_npz_that_holds_something_else_is_one_message(tmp_path: Path, kind: str) -> None:
    change, message = WRONG_NPZ[kind]
    assert message in refused(arrays(tmp_path, **change)).message


def test_an_npz_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = arrays(tmp_path)
    monkeypatch.setattr(files, "LARGEST_FILE", 1000)
    assert "unpacks to more than" in refused(path).message

"""Attention weights against transcriptions in plain torch; they sum to 1 over the keys that a guard lets in."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from energyc.studies.inspection.attention import find_attention, weights
from energyc.studies.inspection.parts import Nothing, Part
from tests.independent import Tensors
from tests.inspection.parts import CET, ET, TOLERANCE, params, part, parts
from tests.specs.test_flows import layer_norm

LANGUAGE = {"T": 5, "D": 8, "H": 2}


def tokens(p: Tensors, x: Tensor) -> Tensor:
    return (p["gamma"] * layer_norm(x) + p["delta"]).flatten(1, 2)


def et(p: Tensors, part: Part, states: Tensors) -> Tensor:
    """All patches but the one that asks."""
    g = tokens(p, states["x"])
    query, key = (torch.einsum("yhd,bnd->bhny", p[name], g) for name in ("W_q", "W_k"))
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return scores.masked_fill(torch.eye(scores.shape[-1], dtype=torch.bool), -torch.inf).softmax(-1)


def cet(p: Tensors, part: Part, states: Tensors) -> Tensor:
    z = states["z"].flatten(1, 2)
    query, key = (torch.einsum("had,bnd->bhna", p[name], z) for name in ("W_q", "W_k"))
    return (query @ key.transpose(-1, -2) / 4).softmax(-1)


def thick(p: Tensors, part: Part, states: Tensors) -> Tensor:
    """The places up to the one that asks."""
    n = p["g1"] * layer_norm(states["z"]) + p["h1"]
    query, key = (torch.einsum("hda,btd->bhta", p[name], n) for name in ("W_q", "W_k"))
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf).softmax(-1)


def hopfield(p: Tensors, part: Part, states: Tensors) -> Tensor:
    return (8 * states["z"] @ p["X"].T).softmax(-1)[:, None]


@pytest.mark.abridged
@pytest.mark.parametrize(
    ("spec", "sizes", "transcription"),
    [
        ("et_image", ET, et),
        ("cet", CET, cet),
        ("thick", LANGUAGE, thick),
        ("modern_hopfield", {"D": 9, "M": 4}, hopfield),
    ],
)
def test_weights_are_those_of_a_transcription(
    spec: str, sizes: dict[str, int], transcription: Callable[[Tensors, Part, Tensors], Tensor]
) -> None:
    one = part(spec, sizes)
    (attention,) = find_attention(one.network)
    found = weights(one, attention)
    np.testing.assert_allclose(found.sum(tuple(range(-len(attention.keys), 0))), 1, rtol=TOLERANCE)
    expected = transcription(params(one), one, one.rest()).numpy()
    assert np.ptp(expected) > 0.01  # so that it is a test
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=TOLERANCE, atol=1e-15)


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize(
    ("spec", "sizes", "heads", "queries", "keys"),
    [
        ("et_image", ET, ("H",), ("G", "G"), ("G", "G")),
        ("thick", LANGUAGE, ("H",), ("T",), ("T",)),
        ("modern_hopfield", {"D": 9, "M": 4}, (), (), ("M",)),
        ("et_anomaly", {"N": 6, "E": 9, "F": 3, "D": 4, "H": 2, "Y": 2, "K": 3, "U": 3}, ("H",), ("N",), ("E",)),
    ],
)
def test_axes(spec: str, sizes: dict[str, int], heads: object, queries: object, keys: object) -> None:
    one = part(spec, sizes)
    (attention,) = find_attention(one.network)
    dims = [attention.dims(axes) for axes in (attention.heads, attention.queries, attention.keys)]
    assert dims == [heads, queries, keys]
    extents = one.network.extents
    shape = weights(one, attention).shape
    assert shape[1:] == (math.prod(extents[d] for d in dims[0]), *(extents[d] for d in (*dims[1], *dims[2])))


def test_each_place_asks_the_memories() -> None:
    text = """network recall
dim H = 2, T = 4, D = 3, M = 5
clamp x[T, D]
param K[H, M, D] ~ normal(1)
state z[T, D]
energy e = 1/2 * sum[t,d]((z[t,d] - x[t,d])^2) - sum[h,t](logsumexp[m](sum[d](K[h,m,d] * z[t,d])))
relax { step = 1/4, steps = 5 }
"""
    one = part(text)
    (attention,) = find_attention(one.network)
    dims = [attention.dims(axes) for axes in (attention.heads, attention.queries, attention.keys)]
    assert dims == [("H",), ("T",), ("M",)]
    expected = torch.einsum("hmd,btd->bhtm", params(one)["K"], one.rest()["z"]).softmax(-1).numpy()
    np.testing.assert_allclose(weights(one, attention), expected, rtol=TOLERANCE)


def test_a_token_that_no_guard_lets_in_has_no_weights() -> None:
    """Of a graph's padding nobody is a neighbour."""
    sizes = {"M": 5, "F": 3, "D": 4, "H": 2, "Y": 2, "K": 3, "E": 2, "T": 2, "L": 2}
    for one in parts("et_graph", sizes, scale=0.1):
        (attention,) = find_attention(one.network)
        sums = weights(one, attention).sum(-1)
        joined = one.clamps["adj"].bool() & ~torch.eye(6, dtype=torch.bool)
        expected = np.broadcast_to(joined.any(-1).numpy()[:, None], sums.shape)
        np.testing.assert_allclose(sums, expected, atol=TOLERANCE)


@pytest.mark.slow
def test_too_large_a_table_is_refused_before_it_is_made() -> None:
    one = part("et_anomaly", {"F": 3, "D": 4, "H": 1, "Y": 2, "K": 3, "U": 3})
    (attention,) = find_attention(one.network)
    with pytest.raises(Nothing, match="a table of 1 x 24,000 x 2,000 weights, too many"):
        weights(one, attention)


def test_a_relaxation_that_diverged_has_no_weights() -> None:
    text = """network blown
dim D = 3, M = 2
clamp x[D]
param X[M, D] ~ normal(1)
state z[D]
start z[d] = 3 + x[d]^2
energy att = -logsumexp[m](sum[d](X[m,d] * z[d]))
force blow on z[d] = z[d]^3
relax { step = 1, steps = 20 }
"""
    one = part(text)
    (attention,) = find_attention(one.network)
    with pytest.raises(Nothing, match="the weights in att are not finite: the relaxation diverged"):
        weights(one, attention)


def test_a_softmax_of_the_cost_alone_is_no_attention() -> None:
    assert find_attention(part("tel_digits", {"I": 9, "C": 5}).network) == []

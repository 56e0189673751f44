"""Images, decoders, memories and positions, against what is worked out by hand or by nudging the network itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from energyc.mathematics.ir import interpreter
from energyc.running.data.digits import Digits
from energyc.running.data.masked_images import MaskedImages
from energyc.running.data.patterns import Patterns
from energyc.running.training.feeds import Feeds
from energyc.studies.inspection import memories as memories_module
from energyc.studies.inspection.decode import (
    answered_images,
    centres,
    find_decoders,
    force_images,
    image_inputs,
    moved_by,
    seen_images,
)
from energyc.studies.inspection.memories import (
    find_memories,
    find_positions,
    memory_images,
    row_count,
    similarity,
    strongest,
)
from energyc.studies.inspection.parts import Part
from tests.inspection.parts import CET, ET, TOLERANCE, params, part
from tests.specs.test_flows import et_flow, patches

MODELS = Path(__file__).parents[2] / "specs" / "zoo"
ET_IMAGES = {"img": (3, 12, 12), "t": (3, 12, 12)}
CET_IMAGES = {"x": (1, 12, 12), "t": (1, 12, 12)}


# ------------------------------------------------------------------ images


def test_what_the_data_call_an_image() -> None:
    class Bound:
        def __init__(self, schema: object) -> None:
            self.schema = schema

    data = {
        "digits": Bound(Digits().schema({"side": 5})),
        "patterns": Bound(Patterns().schema({"size": 10})),
        "masked": Bound(MaskedImages().schema({"side": 8, "patch": 4, "masked": 0.5, "channels": 3})),
    }
    clamps = {"x": ("digits", "image"), "probe": ("patterns", "probe"), "hidden": ("masked", "mask")}
    targets = {"label": ("digits", "label"), "t": ("masked", "clean")}
    assert image_inputs(Feeds(data, clamps, targets)) == {"x": (1, 5, 5), "t": (3, 8, 8)}  # type: ignore[arg-type]


@pytest.mark.slow
def test_patches_of_an_answer_are_put_together() -> None:
    """The readout of et_image is compared patch by patch with the target."""
    one = part("et_image", ET)
    picture = answered_images(one.network, ET_IMAGES)["patches"]
    image = torch.randn(2, 3, 12, 12, dtype=torch.float64)
    assert picture.like == "t"
    np.testing.assert_array_equal(picture.images(patches(image, 4).numpy()), image.numpy())


def test_an_answer_in_overlapping_windows_is_averaged_and_an_uncovered_pixel_is_no_number() -> None:
    text = """network windows
dim C = 1, S = 5, P = 2, G = 3
target t[C, S, S]
param w[G, P] ~ normal(1)
clamp x[G, P]
state z[G, P]
energy e = 1/2 * sum[g,p]((z[g,p] - w[g,p] * x[g,p])^2)
readout rows[g,p] = z[g,p]
cost mse = sum[g,p]((z[g,p] - t[0, 2, g + p])^2)
"""
    one = part(text)
    picture = answered_images(one.network, {"t": (1, 5, 5)})["rows"]
    values = np.array([[[1.0, 2.0], [4.0, 8.0], [16.0, 32.0]]])
    image = picture.images(values)[0, 0]
    np.testing.assert_array_equal(image[2, :4], [1, 3, 12, 32])
    assert np.isnan(image[2, 4]) and np.isnan(image[:2]).all() and np.isnan(image[3:]).all()


def test_a_class_is_no_image() -> None:
    one = part("hopfield", {"I": 9, "J": 4, "K": 3})
    assert answered_images(one.network, {"x": (1, 3, 3)}) == {}
    assert [picture.like for picture in seen_images(one.network, {"x": (1, 3, 3)})] == ["x"]


# ------------------------------------------------------------------ memories


def shown(one: Part, images: dict[str, tuple[int, int, int]]) -> dict[str, np.ndarray]:
    """All rows of each param that can be shown."""
    found = find_memories(one.network, find_decoders(one.network, images))
    return {m.param: memory_images(one, m, np.arange(np.prod(row_count(one, m)))) for m in found}


def test_memories_of_the_energy_transformer_go_through_its_decoder() -> None:
    """A readout is affine in the normalised token g, so a row of xi adds ``sum[d](xi[s,d] W_dec[d])`` to its patch."""
    one = part("et_image", ET)
    p, found = params(one), shown(one, ET_IMAGES)
    assert found.keys() == {"W_enc", "W_q", "W_k", "xi"}
    expected = torch.einsum("sd,dcpr->scpr", p["xi"], p["W_dec"]).numpy()
    np.testing.assert_allclose(found["xi"], expected, rtol=TOLERANCE)
    expected = torch.einsum("yhd,dcpr->yhcpr", p["W_q"], p["W_dec"]).flatten(0, 1).numpy()
    np.testing.assert_allclose(found["W_q"], expected, rtol=TOLERANCE)
    np.testing.assert_allclose(found["W_enc"], p["W_enc"].numpy(), rtol=TOLERANCE)  # an image is its own decoder


def test_memories_of_the_convergent_energy_transformer_go_to_where_its_image_rests() -> None:
    """Its readout is a state y, with force -y + b + W_dec^T z: let y rest with a token of z moved along a row."""
    one = part("cet", CET)
    found = shown(one, CET_IMAGES)
    assert {"W_mem", "W_q", "W_k", "W_enc", "W_dec"} == found.keys()
    states = one.rest()
    row = params(one)["W_mem"][:, 3]

    def rest(z: torch.Tensor) -> torch.Tensor:
        y = torch.zeros_like(states["y"])
        moved: torch.Tensor = y + one.net.force({"z": z, "y": y}, one.clamps)["y"]
        return moved

    moved = states["z"].clone()
    moved[:, 2, 2] += row
    difference = (rest(moved) - rest(states["z"]))[0].numpy()
    np.testing.assert_allclose(found["W_mem"][3], difference[:, 4:8, 4:8], rtol=1e-8, atol=1e-12)
    outside = difference.copy()
    outside[:, 4:8, 4:8] = 0
    assert np.abs(outside).max() < 1e-12 < np.abs(difference).max()


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize(("spec", "param", "sizes"), [
    ("hopfield", "W1", {"I": 9, "J": 4, "K": 3}),
    ("predictive_coding", "W1", {"I": 9, "J": 4, "L": 3, "K": 3}),
    ("deq", "U", {"I": 9, "D": 4, "K": 3}),
    ("tel_digits", "W", {"I": 9, "C": 4}),
    ("resistive", "g1", {"I": 9, "J": 4, "K": 3}),
    (str(MODELS / "nonnegative_code.energy"), "D", {"I": 9, "M": 4}),
    (str(MODELS / "kuramoto.energy"), "W", {"I": 9, "J": 4, "K": 3}),
])  # fmt: skip
def test_weights_of_pixels_are_images_as_they_are(spec: str, param: str, sizes: dict[str, int]) -> None:
    one = part(spec, sizes)
    found = shown(one, {next(iter(one.network.clamps)): (1, 3, 3)})
    assert found.keys() == {param}
    weights = params(one)[param].numpy()
    weights = weights.T if one.network.params[param].node.dims[0] == "I" else weights
    np.testing.assert_allclose(found[param], weights.reshape(-1, 1, 3, 3), rtol=TOLERANCE)


def test_patterns_are_memories_of_what_is_retrieved() -> None:
    one = part("modern_hopfield", {"D": 9, "M": 4})
    found = shown(one, {"probe": (1, 3, 3), "stored": (1, 3, 3)})
    np.testing.assert_allclose(found["X"][:, 0], params(one)["X"].numpy().reshape(4, 3, 3), rtol=TOLERANCE)


def test_a_decoder_that_is_not_linear_is_none() -> None:
    """Through a tanh nothing is shown but what has pixels of its own."""
    text = """network curved
dim D = 4, M = 3, C = 1, S = 2
clamp x[D]
target t[C, S, S]
param xi[M, D], W[D, C, S, S] ~ normal(1)
state z[D]
energy e = 1/2 * sum[d]((z[d] - x[d])^2) - sum[m](tanh(sum[d](xi[m,d] * z[d])))
readout image[c,u,v] = tanh(sum[d](W[d,c,u,v] * z[d]))
cost mse = sum[c,u,v]((tanh(sum[d](W[d,c,u,v] * z[d])) - t[c,u,v])^2)
"""
    images = {"t": (1, 2, 2)}
    assert shown(part(text), images).keys() == {"W"}
    straight = text.replace("tanh(sum[d](W[d,c,u,v] * z[d]))", "sum[d](W[d,c,u,v] * z[d])")
    assert shown(part(straight), images).keys() == {"xi", "W"}


def test_the_largest_rows_come_first_where_not_all_fit() -> None:
    one = part("modern_hopfield", {"D": 9, "M": 4})
    (memory,) = find_memories(one.network, find_decoders(one.network, {"stored": (1, 3, 3)}))
    norms = params(one)["X"].norm(dim=1)
    assert list(strongest(one, memory, 2)) == list(norms.argsort(descending=True)[:2])
    assert list(strongest(one, memory, 4)) == [0, 1, 2, 3]


@pytest.mark.parametrize(("spec", "sizes", "images", "expected"), [
    ("et_image", ET, ET_IMAGES, [1.5, 5.5, 9.5]),
    ("cet", CET, CET_IMAGES, [1.5, 3.5, 5.5, 7.5, 9.5]),
])  # fmt: skip
def test_tokens_stand_amid_their_patches(
    spec: str, sizes: dict[str, int], images: dict[str, tuple[int, int, int]], expected: list[float]
) -> None:
    one = part(spec, sizes)
    decoder = next(d for d in find_decoders(one.network, images) if len(d.source.dims) == 3 and "W_dec" in d.params)
    rows, columns = centres(one, decoder, [0, 1])
    np.testing.assert_allclose(rows, expected)
    np.testing.assert_allclose(columns, expected)


# ------------------------------------------------------------------ forces


@pytest.mark.slow
def test_the_flow_of_the_energy_transformer_through_its_decoder() -> None:
    one = part("et_image", ET)
    found = moved_by(one.network, find_decoders(one.network, ET_IMAGES))
    assert found is not None and found[0] == "x"
    images = force_images(one, *found, [0, 5])
    p = params(one)
    for row, step in enumerate((0, 5)):
        flow = et_flow(p, one.clamps, one.net.relax(one.clamps, steps=step).states["x"].requires_grad_())
        expected = torch.einsum("bijd,dcpr->bcipjr", flow, p["W_dec"]).reshape(3, 3, 12, 12)
        np.testing.assert_allclose(images[row], expected.detach().numpy(), rtol=1e-8, atol=1e-12)


def test_an_image_that_relaxes_itself_moves_along_its_force() -> None:
    one = part("modern_hopfield", {"D": 9, "M": 4})
    found = moved_by(one.network, find_decoders(one.network, {"stored": (1, 3, 3)}))
    assert found is not None and found[0] == "z"
    p, z = params(one), one.clamps["probe"]
    expected = (8 * z @ p["X"].T).softmax(-1) @ p["X"] - z
    np.testing.assert_allclose(force_images(one, *found, [0])[0].reshape(3, 9), expected.numpy(), rtol=TOLERANCE)


@pytest.mark.parametrize(("spec", "sizes"), [("hopfield", {"I": 9, "J": 4, "K": 3}), ("deq", {"I": 9, "D": 4, "K": 3})])
def test_a_state_that_is_no_image_has_no_forces(spec: str, sizes: dict[str, int]) -> None:
    one = part(spec, sizes)
    assert moved_by(one.network, find_decoders(one.network, {"x": (1, 3, 3)})) is None


# ------------------------------------------------------------------ positions


@pytest.mark.abridged
@pytest.mark.parametrize(
    ("spec", "sizes", "param", "places"),
    [("et_image", ET, "pos", (3, 3)), ("cet", CET, "b_pos", (5, 5)), ("thick", {"T": 5, "D": 8, "H": 2}, "pos", (5,))],
)
def test_similarity_of_positions(spec: str, sizes: dict[str, int], param: str, places: tuple[int, ...]) -> None:
    one = part(spec, sizes)
    (positions,) = find_positions(one.network)
    assert positions.param == param
    vectors = params(one)[param].reshape(-1, params(one)[param].shape[-1])
    expected = torch.nn.functional.cosine_similarity(vectors[:, None], vectors[None], dim=-1)
    found = similarity(one, positions)
    assert found.shape == (*places, *places)
    np.testing.assert_allclose(found.reshape(expected.shape), expected.numpy(), rtol=TOLERANCE)


@pytest.mark.parametrize(("spec", "sizes"), [
    ("hopfield", {"I": 9, "J": 4, "K": 3}),
    ("hopfield_conv", {"C1": 2, "C2": 2}),
    ("tel_digits", {"I": 9, "C": 4}),
])  # fmt: skip
def test_no_positions(spec: str, sizes: dict[str, int]) -> None:
    assert find_positions(part(spec, sizes).network) == []


@pytest.mark.slow
def test_a_vector_of_zero_is_like_none() -> None:
    one = part("et_image", ET)
    (positions,) = find_positions(one.network)
    with torch.no_grad():
        one.net.params["pos"][1, 2] = 0
    assert np.all(similarity(one, positions)[1, 2] == 0)


@pytest.mark.slow
def test_a_product_taken_in_pairs_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above ``LARGE`` products the interpreter sums in pairs of factors: else paper sizes would take days."""
    for spec, sizes in (("et_image", ET), ("cet", CET)):
        one = part(spec, sizes)
        states, nodes = one.rest(), [term.node for term in one.network.terms.values()]
        plain = one.values(nodes, states)
        monkeypatch.setattr(interpreter, "LARGE", 0)
        for found, expected in zip(one.values(nodes, states), plain, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        monkeypatch.undo()


@pytest.mark.slow
def test_many_rows_are_taken_to_the_image_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    one = part("et_image", ET)
    whole = shown(one, ET_IMAGES)["xi"]
    monkeypatch.setattr(memories_module, "CHUNK", 3)
    np.testing.assert_allclose(shown(one, ET_IMAGES)["xi"], whole, rtol=1e-12, atol=1e-15)

"""Draw the attention of a network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from energyc.files import Place, SafePath
from energyc.language.diagnostics import Option, UserError, spoken
from energyc.running.data.characters import Characters
from energyc.studies.inspection import attention as attending
from energyc.studies.inspection.decode import centres
from energyc.studies.inspection.parts import Nothing, Part, parts_of
from energyc.surfaces.report.images import Ground, draw_matrices, draw_over_image
from energyc.surfaces.report.scene import Scene, View

#: How many heads are drawn unless some are named, and how many queries or keys a matrix has at most.
MOST_HEADS, MOST_TOKENS = 6, 1024


def attention(scene: Scene) -> list[SafePath]:
    """Draw the attention weights of a sample at the end of the free phase. Raises Nothing, UserError."""
    alone = parts_of(scene.network, scene.session.net, scene.seen.clamps)
    found = [(part, each) for part in alone for each in attending.find_attention(part.network)]
    if not found:
        raise Nothing("no term has a softmax or logsumexp of the states")
    paths, reasons = [], []
    for number, (part, each) in enumerate(found):
        same = [other.term for owner, other in found[:number] if owner is part].count(each.term)
        path = scene.path("attention", part.label, each.term, str(same + 1) if same else "")
        try:
            _draw_attention(scene, part, each, path)
            paths.append(path)
        except Nothing as nothing:
            reasons.append(str(nothing))
    if not paths:
        raise Nothing(reasons[0])
    for reason in reasons:
        scene.notify(reason)
    return paths


def _draw_attention(scene: Scene, part: Part, each: attending.Attention, path: Place) -> None:
    if not each.queries and not part.label:
        _draw_retrieval(scene, each, path)
        return
    weights = attending.weights(part, each)[0]
    heads = _heads(scene.view, len(weights))
    owner = f"{part.label}, " if part.label else ""
    title = f"{owner}weights in {each.term} at the end of the free phase, test sample {scene.view.sample}"
    ground = _ground(scene, part, each)
    if ground is not None:
        draw_over_image(weights, ground, _tokens(scene.view, weights.shape[1:3]), heads, path, title)
        return
    sides = (each.dims(each.queries), each.dims(each.keys))
    queries, keys = (int(np.prod([part.network.extents[dim] for dim in dims])) for dims in sides)
    if max(queries, keys) > MOST_TOKENS:
        raise Nothing(f"the attention in {each.term} is of {queries:,} x {keys:,} weights, too many to be drawn")
    names = (f"query ({', '.join(sides[0])})", f"key ({', '.join(sides[1])})")
    labels = _characters(scene, sides[0]) if sides[0] == sides[1] else []
    draw_matrices(weights.reshape(len(weights), queries, keys), heads, path, title=title, names=names, labels=labels)


def _draw_retrieval(scene: Scene, each: attending.Attention, path: Place) -> None:
    """Draw weights that a sample has once, over memories, for all samples of the batch."""
    (part,) = scene.parts
    weights = attending.weights(part, each)
    if weights[0, 0].size > MOST_TOKENS:
        raise Nothing(f"the attention in {each.term} is over {weights[0, 0].size:,} places, too many to be drawn")
    table = weights.reshape(len(weights), weights.shape[1], -1).transpose(1, 0, 2)
    names = ("test sample", ", ".join(each.dims(each.keys)))
    title = f"weights in {each.term} at the end of the free phase"
    draw_matrices(table, _heads(scene.view, len(table)), path, title=title, names=names)


def _heads(view: View, count: int) -> Sequence[int]:
    """The heads to draw. Raises UserError for one that there is not."""
    for head in view.heads:
        if head >= count:
            message = f"there is no head {head}: there are {count}, counted from 0"
            raise UserError(message, code="E0530", help=spoken("give another {}", Option("head")))
    return view.heads or range(min(count, MOST_HEADS))


def _tokens(view: View, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """The tokens to draw. Raises UserError for one that there is not."""
    for token in view.tokens:
        if len(token) != 2 or any(place >= size for place, size in zip(token, sizes, strict=True)):
            shown = ",".join(map(str, token))
            message = f"there is no token {shown}: they are on a grid of {sizes[0]} x {sizes[1]}, counted from 0"
            help_text = spoken("give another {}, as {}", Option("token"), Option("token", "0,3"))
            raise UserError(message, code="E0530", help=help_text)
    few = [(row * sizes[0] // 4, column * sizes[1] // 4) for row in (1, 3) for column in (1, 3)]
    return [(token[0], token[1]) for token in view.tokens] or few


def _ground(scene: Scene, part: Part, each: attending.Attention) -> Ground | None:
    """The image that the tokens stand for, where they are on a grid."""
    dims = each.dims(each.keys)
    image = _background(scene)
    if image is None or len(dims) != 2 or each.dims(each.queries) != dims:
        return None
    for decoder in scene.decoders:
        axes = _axes(decoder.source.dims, dims)
        if axes is not None and len(decoder.source.dims) > len(dims) and decoder.params:
            return Ground(image, *centres(part, decoder, axes))
    rows, columns = (_evenly(part.network.extents[dim], size) for dim, size in zip(dims, image.shape[:2], strict=True))
    return Ground(image, rows, columns)


def _background(scene: Scene) -> np.ndarray | None:
    """The image that the network sees, else the one that it should answer with: [height, width(, 3)] in [0, 1]."""
    given, others = ({**batch.clamps, **batch.targets} for batch in (scene.seen, scene.batch))
    name = next((name for name in given if name in scene.images), None)
    if name is None:
        return None
    pixels = given[name][0].cpu().double().numpy().reshape(scene.images[name])
    signed = bool((others[name] < 0).any())  # values in [-1, 1], not in [0, 1]
    shades = np.clip((pixels + 1) / 2 if signed else pixels, 0, 1)
    return np.asarray(shades[0] if len(shades) == 1 else np.moveaxis(shades, 0, -1))


def _axes(dims: Sequence[str], wanted: Sequence[str]) -> list[int] | None:
    """The first axes of these dims, in order."""
    axes: list[int] = []
    for dim in wanted:
        axis = next((a for a, own in enumerate(dims) if own == dim and a not in axes), None)
        if axis is None:
            return None
        axes.append(axis)
    return axes


def _evenly(places: int, pixels: int) -> np.ndarray:
    return np.asarray((np.arange(places) + 0.5) * pixels / places - 0.5)


def _characters(scene: Scene, dims: Sequence[str]) -> list[str]:
    """The characters at the places of a text, where the network reads one along these dims."""
    for name, clamp in scene.network.clamps.items():
        binding = scene.network.bindings[clamp.source[0]] if clamp.source else None
        if binding is not None and binding.adapter == Characters.name and clamp.node.dims == tuple(dims):
            ids = [int(k) for k in scene.seen.clamps[name][0]]
            return [_visible(Characters().decode([k], dict(binding.options))) for k in ids]
    return []


def _visible(character: str) -> str:
    return {" ": "·", "\n": "¶", "\t": "»", "$": r"\$"}.get(character, character)

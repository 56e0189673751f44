"""Draw a trained network: how it relaxes, and its energies, states, forces, memories, attention, positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import torch

from energyc.files import Place, SafePath
from energyc.language.diagnostics import Option, UserError, spoken
from energyc.running.data.characters import Characters
from energyc.studies.inspection import attention as attending
from energyc.studies.inspection.decode import centres, force_images, moved_by
from energyc.studies.inspection.memories import (
    Memories,
    Positions,
    find_memories,
    find_positions,
    memory_images,
    row_count,
    similarity,
    strongest,
)
from energyc.studies.inspection.parts import Nothing, Part, parts_of
from energyc.studies.inspection.traces import Trace, adapts_in_training, energies_over_time, states_over_time
from energyc.surfaces.report.images import (
    Ground,
    draw_images,
    draw_matrices,
    draw_memories,
    draw_over_image,
    draw_similarity,
)
from energyc.surfaces.report.relaxation import (
    draw_energies,
    draw_states,
    energy_curves,
    find_images,
    growing_reconstructions,
    growing_steps,
    triples,
)
from energyc.surfaces.report.scene import Choice, Scene

#: How many rows of a param, and how many places of a state, are drawn at most.
MOST_ROWS, MOST_PLACES = 144, 1024


# ------------------------------------------------------------------ over the steps


def energy(scene: Scene) -> list[SafePath]:
    """Draw energy and residual of each sample over the steps. Raises Nothing."""
    info = scene.session.info
    if info.get("layers"):
        raise Nothing("each of its layers relaxes down an energy of its own")
    path, has_energies = scene.path("energy"), info.get("energies") != []
    energy_curves(scene.session.net, scene.batch, path, forces=info.get("forces", ()), energies=has_energies)
    return [path]


def images(scene: Scene) -> list[SafePath]:
    """Draw the images that the network completes; without layers also after few and many steps. Raises Nothing."""
    net, batch = scene.session.net, scene.batch
    answer = find_images(net, batch, scene.known, scene.session.feeds)
    if answer is None:
        raise Nothing("no readout is an image like a clamp and a target")
    triples(net, batch, answer, scene.path("triples"))
    if scene.session.info.get("layers"):
        return [scene.path("triples")]
    growing_reconstructions(net, batch, answer, scene.path("growing"))
    return [scene.path("triples"), scene.path("growing")]


def energies(scene: Scene) -> list[SafePath]:
    """Draw each energy term over the steps, and their total. Raises Nothing."""
    traces: dict[str, Trace] = {}
    for part in scene.parts:
        if part.network.energies:
            traces[part.label] = energies_over_time(part)
    if not traces:
        raise Nothing("no term is an energy")
    draw_energies(traces, scene.path("energies"))
    return [scene.path("energies")]


def states(scene: Scene) -> list[SafePath]:
    """Draw the size of each state over the steps; in training too, where that goes another way."""
    runs = {"inference": {part.label: states_over_time(part) for part in scene.parts}}
    if any(adapts_in_training(part.network) for part in scene.parts):
        runs["training"] = {part.label: states_over_time(part, training=True) for part in scene.parts}
    draw_states(runs, scene.path("states"))
    return [scene.path("states")]


def forces(scene: Scene) -> list[SafePath]:
    """Draw what the force adds to the image after growing numbers of steps, through the decoder. Raises Nothing."""
    if not scene.images:
        raise Nothing("the data hold no images")
    (part, *_) = scene.parts
    moved = moved_by(scene.network, scene.decoders)
    if moved is None:
        raise Nothing("no state moves along what is an image, or is mapped to one linearly")
    if part.net.numbered:
        raise Nothing("the force changes from step to step")
    state, decoder = moved
    steps = (0, *growing_steps(part.free_steps, part.free_steps))
    images = np.nan_to_num(force_images(part, state, decoder, steps))
    largest = np.abs(images).max(axis=(2, 3, 4), keepdims=True)
    shades = np.divide(images, largest, out=np.zeros_like(images), where=largest > 0)
    rows = {
        f"after {step} step{'s' if step != 1 else ''}": torch.from_numpy(row)
        for step, row in zip(steps, shades, strict=True)
    }
    draw_images(rows, scene.path("forces"))
    return [scene.path("forces")]


# ------------------------------------------------------------------ params


def memories(scene: Scene) -> list[SafePath]:
    """Draw the rows of each param that can be shown as images. Raises Nothing."""
    if not scene.images:
        raise Nothing("the data hold no images")
    (part, *_) = scene.parts
    found = find_memories(scene.network, scene.decoders)
    if not found:
        raise Nothing("no param has rows that are compared with what is an image, or is mapped to one linearly")
    return [_draw_memories(scene, part, memory) for memory in found]


def _draw_memories(scene: Scene, part: Part, memory: Memories) -> SafePath:
    path = scene.path("memories", memory.param)
    chosen = strongest(part, memory, MOST_ROWS)
    counts = row_count(part, memory)
    total = int(np.prod(counts))
    which = f"the {len(chosen)} largest of {total:,} rows" if len(chosen) < total else f"{total} rows"
    through = f", through {', '.join(sorted(memory.decoder.params))}" if memory.decoder.params else ""
    images = memory_images(part, memory, chosen)
    title = f"{memory.param}: {which}{through}"
    if len(counts) == 2 and len(chosen) == total:
        dims = [scene.network.params[memory.param].node.dims[axis] for axis in memory.rows]
        few = int(np.argmin(counts))
        order = np.arange(total).reshape(counts)
        images = images[(order if few == 0 else order.T).ravel()]
        draw_memories(
            images, path, title=title, columns=max(counts), rows=f"rows: {dims[few]}, columns: {dims[1 - few]}"
        )
    else:
        draw_memories(images, path, title=title)
    return path


def positions(scene: Scene) -> list[SafePath]:
    """Draw how alike the position biases are. Raises Nothing."""
    found = [(part, positions) for part in scene.parts for positions in find_positions(part.network)]
    if not found:
        raise Nothing("no param has a vector for each place of a state")
    return scene.each(found, lambda one: _draw_positions(scene, *one))


def _draw_positions(scene: Scene, part: Part, positions: Positions) -> SafePath:
    dims = part.network.states[positions.state].node.dims
    count = math.prod(part.network.extents[dims[axis]] for axis in positions.places)
    if count > MOST_PLACES:
        raise Nothing(f"{positions.param} has {count:,} places, too many to be drawn")
    path = scene.path("positions", part.label, positions.param)
    draw_similarity(similarity(part, positions), path, title=f"{positions.param}: similarity of its {count} places")
    return path


# ---------------------------------------------------------------- attention


#: How many heads are drawn unless some are named, and how many queries or keys a matrix has at most.
MOST_HEADS, MOST_TOKENS = 6, 1024


def attention(scene: Scene) -> list[SafePath]:
    """Draw the attention weights of a sample at the end of the free phase. Raises Nothing, UserError."""
    alone = parts_of(scene.network, scene.session.net, scene.seen.clamps)
    found = [(part, each) for part in alone for each in attending.find_attention(part.network)]
    if not found:
        raise Nothing("no term has a softmax or logsumexp of the states")

    def draw(number: int) -> SafePath:
        part, each = found[number]
        same = [other.term for owner, other in found[:number] if owner is part].count(each.term)
        path = scene.path("attention", part.label, each.term, str(same + 1) if same else "")
        _draw_attention(scene, part, each, path)
        return path

    return scene.each(range(len(found)), draw)


def _draw_attention(scene: Scene, part: Part, each: attending.Attention, path: Place) -> None:
    if not each.queries and not part.label:
        _draw_retrieval(scene, each, path)
        return
    weights = attending.weights(part, each)[0]
    heads = _heads(scene.choice, len(weights))
    owner = f"{part.label}, " if part.label else ""
    title = f"{owner}weights in {each.term} at the end of the free phase, test sample {scene.choice.sample}"
    ground = _ground(scene, part, each)
    if ground is not None:
        draw_over_image(weights, ground, _tokens(scene.choice, weights.shape[1:3]), heads, path, title)
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
    draw_matrices(table, _heads(scene.choice, len(table)), path, title=title, names=names)


def _heads(choice: Choice, count: int) -> Sequence[int]:
    """The heads to draw. Raises UserError for one that there is not."""
    for head in choice.heads:
        if head >= count:
            message = f"there is no head {head}: there are {count}, counted from 0"
            raise UserError(message, code="E0530", help=spoken("give another {}", Option("head")))
    return choice.heads or range(min(count, MOST_HEADS))


def _tokens(choice: Choice, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """The tokens to draw. Raises UserError for one that there is not."""
    for token in choice.tokens:
        if len(token) != 2 or any(place >= size for place, size in zip(token, sizes, strict=True)):
            shown = ",".join(map(str, token))
            message = f"there is no token {shown}: they are on a grid of {sizes[0]} x {sizes[1]}, counted from 0"
            help_text = spoken("give another {}, as {}", Option("token"), Option("token", "0,3"))
            raise UserError(message, code="E0530", help=help_text)
    few = [(row * sizes[0] // 4, column * sizes[1] // 4) for row in (1, 3) for column in (1, 3)]
    return [(token[0], token[1]) for token in choice.tokens] or few


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


Draw = Callable[[Scene], list[SafePath]]
#: What is drawn of any network that relaxes, by kind.
RELAXING: Mapping[str, Draw] = MappingProxyType({"energy": energy, "images": images})
#: What is drawn of the inside of a network, by kind.
INSIDE: Mapping[str, Draw] = MappingProxyType(
    {
        "energies": energies,
        "states": states,
        "forces": forces,
        "memories": memories,
        "attention": attention,
        "positions": positions,
    }
)

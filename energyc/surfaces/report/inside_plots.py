"""Draw a trained network: how it relaxes, and its energies, states, forces, memories, attention, positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import torch

from energyc.files import SafePath
from energyc.studies.inspection.decode import force_images, moved_by
from energyc.studies.inspection.memories import (
    Memories,
    find_memories,
    find_positions,
    memory_images,
    row_count,
    similarity,
    strongest,
)
from energyc.studies.inspection.parts import Nothing, Part
from energyc.studies.inspection.traces import Trace, adapts_in_training, energies_over_time, states_over_time
from energyc.surfaces.report.attention_plots import attention
from energyc.surfaces.report.images import draw_images, draw_memories, draw_similarity
from energyc.surfaces.report.relaxation import (
    draw_energies,
    draw_states,
    energy_curves,
    find_images,
    growing_reconstructions,
    growing_steps,
    triples,
)
from energyc.surfaces.report.scene import Scene

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
    paths, reasons = [], []
    for part, positions in found:
        extents = part.network.extents
        count = math.prod(extents[part.network.states[positions.state].node.dims[axis]] for axis in positions.places)
        if count > MOST_PLACES:
            reasons.append(f"{positions.param} has {count:,} places, too many to be drawn")
            continue
        path = scene.path("positions", part.label, positions.param)
        draw_similarity(similarity(part, positions), path, title=f"{positions.param}: similarity of its {count} places")
        paths.append(path)
    if not paths:
        raise Nothing(reasons[0])
    for reason in reasons:
        scene.notify(reason)
    return paths


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

"""The data that pictures of the inside of a network are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from energyc.files import SafePath
from energyc.language.diagnostics import Option, UserError, spoken
from energyc.language.network import Network
from energyc.running.training.feeds import Batch, Feed
from energyc.running.training.session import Session
from energyc.studies.inspection.decode import Decoder, Shape, find_decoders, image_inputs
from energyc.studies.inspection.parts import Nothing, Part, parts_of

Found = TypeVar("Found")


@dataclass(frozen=True)
class Choice:
    """What is drawn: the kinds, all if none is named, of how many test samples.

    Attention is that of one ``sample``, of some ``heads``, from some ``tokens``; of a few where none are named.
    """

    kinds: tuple[str, ...] = ()
    samples: int = 8
    sample: int = 0
    heads: tuple[int, ...] = ()
    tokens: tuple[tuple[int, ...], ...] = ()

    def has(self, kind: str) -> bool:
        """Whether a kind is to be drawn."""
        return not self.kinds or kind in self.kinds


#: All kinds, of a few samples.
EVERYTHING = Choice()


@dataclass(frozen=True)
class Scene:
    """A trained network on some test samples, where its pictures go, and who is told of one that is left out.

    ``known`` is the network of the spec; None where there is a module alone.
    """

    known: Network | None
    session: Session
    feed: Feed
    batch: Batch
    choice: Choice
    folder: SafePath
    notify: Callable[[str], None] = lambda text: None

    @property
    def network(self) -> Network:
        """The network of the spec."""
        assert self.known is not None
        return self.known

    @cached_property
    def parts(self) -> list[Part]:
        """The relaxing parts, on the batch."""
        return parts_of(self.network, self.session.net, self.batch.clamps)

    @cached_property
    def images(self) -> dict[str, Shape]:
        """The clamps and targets that are images."""
        return image_inputs(self.session.feeds)

    @cached_property
    def decoders(self) -> list[Decoder]:
        """The tensors that the network maps to images linearly; of a network of layers nothing is known."""
        return [] if self.network.layers else find_decoders(self.network, self.images)

    @cached_property
    def seen(self) -> Batch:
        """The one sample whose attention is drawn. Raises UserError if there is none of that number."""
        if self.choice.sample >= len(self.feed):
            message = f"there is no test sample {self.choice.sample}: there are {len(self.feed):,}, counted from 0"
            raise UserError(message, code="E0530", help=spoken("give another {}", Option("sample")))
        return self.feed.batch(np.array([self.choice.sample]), seed=self.session.options.seed)

    def each(self, found: Iterable[Found], draw: Callable[[Found], SafePath]) -> list[SafePath]:
        """Draw each of what was found, and tell of those without a picture. Raises Nothing where all are."""
        paths, reasons = list[SafePath](), list[str]()
        for one in found:
            try:
                paths.append(draw(one))
            except Nothing as nothing:
                reasons.append(str(nothing))
        if not paths:
            raise Nothing(reasons[0])
        for reason in reasons:
            self.notify(reason)
        return paths

    def path(self, *words: str) -> SafePath:
        """The place of a picture, by the words of its name."""
        return self.folder / f"{'-'.join(word.replace(' ', '-') for word in words if word)}.png"

"""Names for indices: the spec's own where it has them, the dim in small letters otherwise, never one that is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True)
class IndexNames:
    """Candidate names for the indices over each dim, best first; ``taken`` are the names that mean something else."""

    usual: Mapping[str, tuple[str, ...]]
    taken: frozenset[str]

    @staticmethod
    def learn(pairs: Iterable[tuple[str, str]], taken: Collection[str]) -> IndexNames:
        """From pairs of a dim and what the spec calls an index over it: the commonest first."""
        seen: dict[str, Counter[str]] = {}
        for dim, index in pairs:
            seen.setdefault(dim, Counter())[index] += 1
        usual = {dim: tuple(index for index, _ in counted.most_common()) for dim, counted in seen.items()}
        return IndexNames(usual, frozenset(taken))

    def fresh(self, dim: str, scope: Collection[str], wish: str | None = None) -> str:
        """A name for an index over ``dim`` that is not in scope; ``wish`` if it is free."""
        return next(c for c in self._candidates(dim, wish) if c not in scope and c not in self.taken)

    def fresh_names(self, dims: Sequence[str], scope: Collection[str]) -> tuple[str, ...]:
        """A name for each dim, all different."""
        names: list[str] = []
        for dim in dims:
            names.append(self.fresh(dim, {*scope, *names}))
        return tuple(names)

    def _candidates(self, dim: str, wish: str | None) -> Iterator[str]:
        if wish is not None:
            yield wish
        yield from self.usual.get(dim, ())
        small = dim.lower()
        yield small
        yield from (f"{small}{k}" for k in count(2))

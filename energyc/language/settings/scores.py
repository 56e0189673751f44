"""The metrics over a whole split: ``macro_f1(score = logit, label = anomalous, of = scored)``.

The metrics that a spec declares are means over samples. These are not: they are computed from all entries of a split at
once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from energyc.language.settings.kinds import Kind, Misfit, Number, Variant, Word
from energyc.language.settings.values import Call, Value

#: The threshold with the highest macro-F1 on the validation part.
BEST = "best"


@dataclass(frozen=True)
class Score:
    """A metric over a whole split.

    It compares the readout ``score`` with the target ``label``, at the entries where the target ``of`` is not 0 (None:
    at all). A score above ``threshold`` means the label 1. ``perplexity`` is the exponential of the mean of ``loss``.
    """

    name: str
    score: str | None = None
    label: str | None = None
    of: str | None = None
    threshold: float | str = 0.0
    loss: str = "cost"

    @property
    def compares(self) -> bool:
        """Whether it compares a readout with a target."""
        return self.name != "perplexity"

    def call(self) -> Call:
        """As a spec writes it, without what it leaves out."""
        plain = Score(self.name)
        given = {key: getattr(self, key) for key in ("score", "label", "of", "threshold", "loss")}
        return Call(self.name, {key: value for key, value in given.items() if value != getattr(plain, key)})


class Threshold(Number):
    """A number, or the word ``best``."""

    @property
    def wanted(self) -> str:
        return f"a number or {BEST}"

    def read(self, value: object) -> float | str | None:  # type: ignore[override]
        return BEST if value == BEST else super().read(value)


_COMPARED: Mapping[str, Kind] = MappingProxyType({"score": Word(), "label": Word(), "of": Word()})
_KEYWORDS: Mapping[str, Mapping[str, Kind]] = MappingProxyType(
    {
        "macro_f1": {**_COMPARED, "threshold": Threshold()},
        "auc": _COMPARED,
        "rmse": _COMPARED,
        "perplexity": {"loss": Word()},
    }
)
SCORES: Mapping[str, Variant] = MappingProxyType(
    {name: Variant({name: keywords}, f"{name}({next(iter(keywords))} = ...)") for name, keywords in _KEYWORDS.items()}
)


class Metrics(Kind):
    """A list of metrics: words, and calls of ``SCORES``. It sets ``metrics``, all names, and ``scores``, the calls."""

    @property
    def wanted(self) -> str:
        return "a list of metrics, as [accuracy, auc(score = logit, label = y)]"

    def read(self, value: object) -> tuple[str | Score, ...]:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(self._item(item, value) for item in items)

    def fields(self, name: str, value: object) -> dict[str, object]:
        items = self.read(value)
        names = [item if isinstance(item, str) else item.name for item in items]
        if len(set(names)) < len(names):
            raise Misfit("a list without repetitions", value)
        return {name: tuple(names), "scores": tuple(item for item in items if isinstance(item, Score))}

    def _item(self, item: object, value: object) -> str | Score:
        if isinstance(item, str):
            return item
        if not isinstance(item, Call) or item.name not in SCORES:
            calls = f"a list of words and of calls of {', '.join(SCORES)}"
            raise Misfit(calls if isinstance(item, Call) else self.wanted, item if isinstance(item, Call) else value)
        return Score(item.name, **SCORES[item.name].read(item).keywords)  # type: ignore[arg-type]


def as_written(names: Sequence[str], scores: Collection[Mapping[str, Value]]) -> list[Value]:
    """The value of ``metrics`` that gave these names and, as JSON, these calls."""
    calls = {str(score["name"]): _call(score) for score in scores}
    return [calls.get(str(name), name) for name in names]


def _call(score: Mapping[str, Value]) -> Call:
    keywords = _KEYWORDS.get(str(score["name"]), {})
    given = {key: value for key, value in score.items() if key in keywords and value is not None}
    return Call(str(score["name"]), given)


def unclear(
    score: Score, readouts: Collection[str], targets: Collection[str], metrics: Collection[str]
) -> Iterator[str]:
    """The mistakes in the names of a metric, in a network that has these; each a clause after ``train.metrics:``."""
    if not score.compares:
        if score.loss not in ("cost", *metrics):
            yield f"{score.name} names no metric `{score.loss}`"
        return
    for key, kind, names in (("score", "readout", readouts), ("label", "target", targets)):
        name = getattr(score, key)
        if name is None and len(names) != 1:
            yield f"{score.name} does not say its {key}, and there are {len(names)} {kind}s"
        elif name is not None and name not in names:
            yield f"{score.name} names no {kind} `{name}`"
    if score.of is not None and score.of not in targets:
        yield f"{score.name} names no target `{score.of}`"

"""Parse and check the files of a run folder.

A run folder may have been edited, damaged or sent by someone else. Keys that are not named here are preserved, such as
those of other versions and the extra state of a module in a checkpoint.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, TypeVar, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

Step = Annotated[int, Field(ge=0, lt=2**63)]
Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]  # beyond it, as elsewhere, a number is a float
Finite = Annotated[float, Field(allow_inf_nan=False)]
Numbers = dict[str, Integer | float | None]
Source = Annotated[list[str], Field(min_length=2, max_length=2)]
OPEN, CLOSED = ConfigDict(extra="allow"), ConfigDict(extra="forbid")


@with_config(OPEN)
class Measured(TypedDict):
    """The held-out numbers of the evaluation after update ``step``."""

    step: Step
    numbers: Numbers
    validation: NotRequired[Numbers]


@with_config(OPEN)
class Best(TypedDict):
    """The best evaluation so far, and the value that decided it."""

    step: Step
    value: Integer | float
    numbers: Numbers
    validation: NotRequired[Numbers]


@with_config(CLOSED)
class Controller(TypedDict):
    """The controller of the Jacobian penalty."""

    weight: float
    average: float | None


@with_config(OPEN)
class State(TypedDict, total=False):
    """``state.json`` of a checkpoint: the state of a run apart from its tensors."""

    epoch: Step
    position: Step
    samples: Step
    seed: int
    best: Best | None
    evaluated: Measured | None
    idle: Step
    partial: Step
    controller: Controller | None
    beta: float | None
    extra: dict[str, Any]


@with_config(OPEN)
class Manifest(TypedDict):
    """``manifest.json`` of a checkpoint: its step, and the SHA-256 of each of its files."""

    step: Step
    files: dict[str, str]


@with_config(OPEN)
class ScoreForm(TypedDict):
    """A metric over a whole split."""

    name: str


@with_config(OPEN)
class Options(TypedDict, total=False):
    """The structure of the options; ``TrainOptions`` checks their values."""

    rates: dict[str, float | list[float] | dict[str, float]]
    decays: dict[str, float]
    momenta: dict[str, float]
    penalty: dict[str, float] | None
    scores: list[ScoreForm]


@with_config(OPEN)
class Samples(TypedDict):
    """The samples of a clamp or target: their shape, and the means of the first and of the last few."""

    shape: list[int]
    means: Annotated[list[float | None], Field(min_length=2, max_length=2)]


@with_config(OPEN)
class MadeOf(TypedDict, total=False):
    """The identity of spec and data."""

    samples: dict[str, Samples]
    files: dict[str, str]
    spec: str


@with_config(OPEN)
class StoredField(TypedDict):
    """A field of data: the shape of a sample, its kind, its classes, and the size of its picture."""

    shape: list[Step]
    kind: Literal["real", "integer"]
    classes: Step | None
    image: Annotated[list[Step], Field(min_length=3, max_length=3)] | None


@with_config(OPEN)
class StoredSchema(TypedDict):
    """The fields and sizes of data whose adapter may not be known where the run is read."""

    fields: dict[str, StoredField]
    sizes: dict[str, Step]


@with_config(OPEN)
class Fed(TypedDict, total=False):
    """The binding and the field that feed each clamp and target."""

    clamps: dict[str, Source]
    targets: dict[str, Source]


@with_config(OPEN)
class RunInfo(TypedDict, total=False):
    """``run.json``: the spec and the data of a run, and its options."""

    network: str
    rule: str
    options: Options
    steps: Step
    training_samples: Step
    params: dict[str, list[Step]]
    bindings: Fed
    energies: list[str]
    forces: list[str]
    layers: list[str]
    device: str
    dtype: str
    versions: dict[str, str]
    target: str
    data: dict[str, str]
    arrays: str
    map: dict[str, str]
    given: dict[str, str]
    schemas: dict[str, StoredSchema]
    made_of: MadeOf
    fold: Step | None
    spec: str
    preset: str | None
    overrides: dict[str, str]
    loggers: list[str]


@with_config(CLOSED)
class SaturatedOutput(TypedDict):
    """An output that rests on a bound in nearly all samples."""

    unit: str
    bound: Finite
    resting: Step
    pulled: Step
    wider: str


@with_config(CLOSED)
class Saturated(TypedDict):
    """The saturated units of an evaluation."""

    samples: Step
    count: Step
    outputs: list[SaturatedOutput]
    hidden: dict[str, Finite]


@with_config(OPEN)
class Row(TypedDict):
    """A line of ``metrics.jsonl`` or ``timings.jsonl``, which has numbers under further names too."""

    step: Step
    kind: NotRequired[str]
    split: NotRequired[str]
    cost: NotRequired[float | None]
    residual: NotRequired[float | None]
    residual_max: NotRequired[float | None]
    saturated: NotRequired[Saturated | float | None]  # a number is a metric of the spec


@with_config(OPEN)
class RelaxationRow(TypedDict):
    """A line of ``relaxations.jsonl``: the steps ``at`` which samples were looked at, and a list for each sample."""

    step: Step
    at: list[Step]
    energies: NotRequired[list[list[float | None]]]
    residuals: list[list[float | None]]


class StoredSymptom(TypedDict):
    """A symptom of a seed."""

    what: str
    helps: str


class Health(TypedDict):
    """The health of a seed."""

    limit: float
    settled: float | None
    settled_test: float | None
    residual: float | None
    gradient: float | None
    symptoms: list[StoredSymptom]
    remark: NotRequired[str]
    rests: NotRequired[bool]
    saturated: NotRequired[Saturated | None]


@with_config(OPEN)
class Summary(TypedDict, total=False):
    """``summary.json`` of a folder of seeds, or of folds."""

    seeds: Annotated[list[Step], Field(min_length=1)]
    folds: Annotated[list[Step], Field(min_length=1)]
    health: list[Health | None]


class Malformed(ValueError):
    """A file is not JSON or has a value of the wrong type; the message says where."""


T = TypeVar("T")


def parse(form: type[T], content: str | bytes) -> T:
    """Parse the content of a file of type ``form``. Raises Malformed."""
    try:
        # Not pydantic's own reader, which refuses the escapes of paths that are not UTF-8.
        return cast(T, _adapter(cast(Hashable, form)).validate_python(json.loads(content), strict=True))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Malformed(f"{place}: {first['msg']}" if place else first["msg"]) from None
    except (ValueError, RecursionError) as error:
        raise Malformed(f"invalid JSON: {error}") from None


def parse_row(line: str) -> dict[str, Any]:
    """Parse a row; a value under a further name that is not a number becomes None.

    Raises Malformed, for a number that is not finite too: a run writes null for it.
    """
    row = dict(parse(Row, line))
    for key, value in row.items():
        _require_finite(key, value)
    return {key: value if key in Row.__annotations__ or _is_number(value) else None for key, value in row.items()}


def parse_relaxation(line: str) -> RelaxationRow:
    """Parse a row of ``relaxations.jsonl``. Raises Malformed."""
    row = parse(RelaxationRow, line)
    for kind, samples in (("energies", row.get("energies", ())), ("residuals", row["residuals"])):
        for sample in samples:
            if len(sample) != len(row["at"]):
                raise Malformed(f"{kind}: {len(sample)} numbers at {len(row['at'])} steps")
            for value in sample:
                _require_finite(kind, value)
    return row


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def _require_finite(key: str, value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise Malformed(f"{key} is not a finite number")


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    return TypeAdapter(form)

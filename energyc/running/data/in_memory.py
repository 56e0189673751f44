"""Data that a program has in memory: arrays by field, or samples one by one, such as a torch ``Dataset``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from energyc.language.diagnostics import Spoken, UserError
from energyc.running.data.arrays import ArraySplit, Portion, SplitDataset, as_promised, fixed_split, stacked
from energyc.running.data.schema import Dataset, FieldSchema, Schema, Split
from energyc.running.data.validate import check_batch

#: The share of samples held out for the test where none are given for it.
HELD_OUT = Fraction(1, 5)
#: The most samples of a part, whose numbers take 8 bytes each where they are shuffled.
MOST_SAMPLES = 1 << 28
_MAP = 'give the name among the data of each input, as map={"x": "images"}'
_PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Parts:
    """Training samples, and those of the other parts where they are given: each arrays by name, or samples.

    ``unread`` are the names of arrays that stand beside these in a file.
    """

    train: Any
    test: Any = None
    validation: Any = None
    unread: tuple[str, ...] = ()

    def given(self) -> Iterator[tuple[str, Any]]:
        """The parts that are there, by name."""
        yield from ((name, part) for name in _PARTS if (part := getattr(self, name)) is not None)

    def mapped(self, names: Mapping[str, str], inputs: Collection[str]) -> Parts:
        """The same by the names of inputs, of which ``names`` are called otherwise here. Raises UserError E0932."""
        return replace(self, **{name: _mapped(part, names, inputs) for name, part in self.given()})


def parts_of(value: Any, test: Any = None, validation: Any = None) -> Parts:
    """The parts of samples: given one by one, or as a dict with ``train`` and perhaps ``test`` and ``validation``."""
    if isinstance(value, Mapping) and "train" in value and set(value) <= set(_PARTS):
        twice = [name for name, part in (("test", test), ("validation", validation)) if part is not None]
        twice = [name for name in twice if name in value]
        if twice:
            message = f"the {twice[0]} part is given twice, among the data and by {twice[0]}="
            raise _wrong(message, "leave out one of them")
        return Parts(value["train"], value.get("test", test), value.get("validation", validation))
    return Parts(value, test, validation)


@dataclass(frozen=True)
class _Mapped:
    """Samples that are dicts, by the names of inputs."""

    samples: Any
    names: Mapping[str, str]
    inputs: Collection[str]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, number: int) -> Any:
        return _by_input(self.samples[number], self.names, self.inputs)


def _mapped(part: Any, names: Mapping[str, str], inputs: Collection[str]) -> Any:
    if isinstance(part, Mapping):
        return _by_input(part, names, inputs)
    if is_samples(part) and not is_array(part) and not isinstance(part, tuple):
        return _Mapped(part, names, inputs)
    kind = type(part).__name__
    raise _wrong(f"map names arrays, and the data are {kind}, which has no names", "give a dict of arrays by name")


def _by_input(named: Any, names: Mapping[str, str], inputs: Collection[str]) -> Any:
    """Arrays, or the values of a sample, by the names of inputs; the others keep theirs. Raises UserError E0932."""
    if not isinstance(named, Mapping):
        raise _wrong(f"map names arrays, and a sample is {type(named).__name__}", "return a dict by names")
    sources = {name: names.get(name, name) for name in inputs}
    if absent := [source for name, source in sources.items() if name in names and source not in named]:
        raise _wrong(f"map names {absent[0]}, and the data have {', '.join(map(str, named)) or 'nothing'}", _MAP)
    rest = {name: value for name, value in named.items() if name not in sources.values()}
    return rest | {name: named[source] for name, source in sources.items() if source in named}


def is_samples(value: Any) -> bool:
    """Whether a value is a collection of samples, each a tuple or a dict."""
    return hasattr(value, "__getitem__") and hasattr(value, "__len__") and not isinstance(value, Mapping)


def is_array(value: Any) -> bool:
    """Whether a value is an array or a tensor, or converts to one by itself."""
    return hasattr(value, "__array__") and hasattr(value, "shape")


def dataset_of(name: str, schema: Schema, parts: Parts, origin: str | None = None) -> Dataset:
    """The dataset of some samples that are to have a schema; a fixed fifth is held out where there is no test part.

    ``name`` is what messages call it, ``origin`` the file it was read from. Raises UserError E0932.
    """
    notes: dict[str, None] = {}
    _note_unread(parts.unread, notes)
    splits = {part: _split(f"{name} ({part})", schema, value, notes) for part, value in parts.given()}
    most = max(map(len, splits.values()))
    if most > MOST_SAMPLES:
        message = f"{name} has {most:,} samples, and their order is held in memory: {MOST_SAMPLES:,} at most"
        raise _wrong(message, "give a part of them")
    if "test" not in splits:
        if len(splits["train"]) < 2:
            message = f"{name}: one sample cannot be both trained on and held out"
            raise _wrong(message, "give held-out samples with test=")
        rows = fixed_split(len(splits["train"]), float(HELD_OUT))
        splits["train"], splits["test"] = (Portion((splits["train"],), part) for part in rows)
        notes["no test part was given: a fixed random fifth of the samples is held out"] = None
    origin = origin or f"given by the program: {type(parts.train).__name__}"
    return SplitDataset(schema, origin, splits["train"], splits["test"], tuple(notes), splits.get("validation"))


def _split(name: str, schema: Schema, value: Any, notes: dict[str, None]) -> Split:
    if hasattr(value, "dataset") and hasattr(value, "batch_size"):
        raise _wrong(f"{name} is a {type(value).__name__}", "give its .dataset; train.batch sets the size of batches")
    if is_array(value):
        value = (value,)
    if isinstance(value, tuple) and all(map(is_array, value)):
        value = _in_order(name, schema, value)
    if isinstance(value, Mapping):
        return _array_split(name, schema, value, notes)
    if is_samples(value):
        return _SampleSplit.of(name, schema, value, notes)
    raise _refused(name, value)


def _note_unread(names: Iterable[Any], notes: dict[str, None]) -> None:
    """Note the arrays that feed nothing."""
    if shown := ", ".join(map(str, names)):
        notes[f"not read: {shown}"] = None


def _in_order(name: str, schema: Schema, values: Sequence[Any]) -> dict[str, Any]:
    """Arrays without names by the names of the fields, in their order. Raises UserError."""
    names = list(schema.fields)
    if len(values) != len(names):
        count = "1 array was" if len(values) == 1 else f"{len(values)} arrays were"
        raise _wrong(f"{name}: {count} given for {', '.join(names)}", _by_name(names))
    return dict(zip(names, values, strict=True))


# -------------------------------------------------------------------- arrays


def _array_split(name: str, schema: Schema, values: Mapping[str, Any], notes: dict[str, None]) -> ArraySplit:
    """Arrays of a user by field, checked, of the shapes and kinds of a schema. Raises UserError."""
    missing = [field for field in schema.fields if field not in values]
    if missing:
        said = f"{name}: there is no {missing[0]} among {', '.join(map(str, values)) or 'nothing'}"
        raise _wrong(said, _by_name(list(schema.fields)))
    _note_unread([field for field in values if field not in schema.fields], notes)
    places = {field: f"{name}: {field}" for field in schema.fields}
    given = {field: _array(place, values[field]) for field, place in places.items()}
    shared = _shared(schema, given)
    arrays = {
        field: _fitted(places[field], given[field], about, notes, batch=field not in shared)
        for field, about in schema.fields.items()
    }
    if shared:
        notes[f"every sample has the same {', '.join(shared)}"] = None
        count = next(len(array) for field, array in arrays.items() if field not in shared)
        arrays |= {field: np.broadcast_to(arrays[field], (count, *arrays[field].shape)) for field in shared}
    lengths = {field: len(array) for field, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{field} {count}" for field, count in lengths.items())
        raise _wrong(f"{name}: the arrays differ in their number of samples: {shown}", "samples are paired by number")
    if not all(lengths.values()):
        raise _wrong(f"{name} has no sample", "give at least one")
    split = ArraySplit(arrays, exact=True)
    checked = Schema({f: about for f, about in schema.fields.items() if arrays[f].dtype != np.uint8})
    check_batch(name, checked, arrays, len(split))
    return split


# -------------------------------------------------------------------- samples


@dataclass(frozen=True)
class _SampleSplit:
    """Samples that are asked for one by one.

    What a sample draws by torch's generator (a crop, a flip) is a function of the run's seed, the epoch and its number;
    of its number alone where it is not trained on.
    """

    name: str
    schema: Schema
    samples: Any
    trains: bool

    @staticmethod
    def of(name: str, schema: Schema, samples: Any, notes: dict[str, None]) -> _SampleSplit:
        """Samples of a user, of which the first is looked at. Raises UserError."""
        split = _SampleSplit(name, schema, samples, name.endswith("(train)"))
        if len(split) == 0:
            raise _wrong(f"{name} has no sample", "give at least one")
        split._sample(0, notes)
        return split

    def __len__(self) -> int:
        """The number of samples. Raises UserError where there is none."""
        try:
            return len(self.samples)
        except Exception as error:
            raise _wrong(
                f"{self.name}: its length is not known ({type(error).__name__})", "give it a __len__"
            ) from error

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The samples at ``indices``; without ``augment`` what they draw does not change."""
        key = (seed, epoch) if augment and self.trains else (0, 0)
        with _generator() as seeded:
            rows = []
            for number in map(int, indices):
                seeded(*key, number)
                rows.append(self._sample(number, {}))
        batch = stacked(self.schema, rows)
        check_batch(self.name, self.schema, batch, len(rows), indices)
        return batch

    def _sample(self, number: int, notes: dict[str, None]) -> dict[str, np.ndarray]:
        """A sample by field. Raises UserError."""
        place = f"{self.name}, sample {number}"
        try:
            sample = self.samples[number]
        except Exception as error:
            said = str(error).splitlines()[0] if str(error) else "no text"
            message = f"{place}: {type(self.samples).__name__} raised {type(error).__name__}: {said}"
            raise _wrong(message, f"look at it in Python: data[{number}]") from error
        values = self._by_field(place, sample)
        fitted = {
            field: _fitted(f"{place}: {field}", _array(f"{place}: {field}", values[field]), about, notes, batch=False)
            for field, about in self.schema.fields.items()
        }
        return {field: as_promised(value, exact=True) for field, value in fitted.items()}

    def _by_field(self, place: str, sample: Any) -> Mapping[str, Any]:
        names = list(self.schema.fields)
        if isinstance(sample, Mapping):
            missing = [name for name in names if name not in sample]
            if missing:
                shown = ", ".join(map(str, sample)) or "nothing"
                raise _wrong(
                    f"{place} has no {missing[0]}; it has {shown}", f"a sample is a dict with {', '.join(names)}"
                )
            return sample
        values = sample if isinstance(sample, tuple | list) else (sample,)
        if len(values) != len(names):
            order = f"({', '.join(names)})"
            message = f"{place} is {_count(len(values))}; a sample has {_count(len(names))}: {', '.join(names)}"
            raise _wrong(message, f"return a tuple {order} or a dict by these names")
        return dict(zip(names, values, strict=True))


def _generator() -> AbstractContextManager[Callable[..., None]]:
    """A context in which torch's generator is seeded anew by numbers, and which leaves it as it was."""
    torch = sys.modules.get("torch")  # who draws by it has imported it
    return nullcontext(lambda *key: None) if torch is None else _forked(torch)


@contextmanager
def _forked(torch: Any) -> Iterator[Callable[..., None]]:
    with torch.random.fork_rng(devices=[]):
        yield lambda *key: torch.manual_seed(
            int(np.random.SeedSequence(_unsigned(key)).generate_state(1, np.uint64)[0] >> 1)
        )


def _unsigned(key: Sequence[int]) -> list[int]:
    return [part & 0xFFFF_FFFF_FFFF_FFFF for part in key]


# -------------------------------------------------------------------- values


def _shared(schema: Schema, given: Mapping[str, np.ndarray]) -> list[str]:
    """The fields that are given without an axis of samples, and so for all of them; none where no field has one."""
    fields = [field for field, about in schema.fields.items() if given[field].shape == about.shape]
    return fields if len(fields) < len(given) else []


def _array(place: str, value: Any) -> np.ndarray:
    """An array of an array, a tensor, a picture, a number or a list of numbers. Raises UserError."""
    try:
        held = value.detach().cpu() if hasattr(value, "detach") else value
        if str(getattr(held, "dtype", "")) == "torch.bfloat16":
            held = held.float()
        array = np.asarray(held)
    except MemoryError:
        raise
    except Exception as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise _wrong(
            f"{place} is {type(value).__name__}, which makes no array: {said}", "give an array of numbers"
        ) from error
    if array.dtype.kind not in "biuf":
        what = "None" if value is None else f"{type(value).__name__} of {array.dtype}"
        words = "; numpy.unique(labels, return_inverse=True)[1] numbers labels" if array.dtype.kind in "US" else ""
        raise _wrong(f"{place} is {what}, not numbers", f"give an array of numbers{words}")
    if np.ma.is_masked(held):
        raise _wrong(f"{place} is a masked array, some of whose numbers are masked", "fill them: .filled(0)")
    return array


def _fitted(place: str, array: np.ndarray, field: FieldSchema, notes: dict[str, None], *, batch: bool) -> np.ndarray:
    """An array in the shape and the kind of a field, with a note on what was changed. Raises UserError."""
    array = _shaped(place, array, field, notes, batch)
    if field.kind == "integer":
        if array.dtype.kind == "f":
            help_text = "convert it: .astype('int64') of an array, .long() of a tensor"
            raise _wrong(f"{place} is {array.dtype}, and holds the numbers of classes or places", help_text)
        if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
            raise _wrong(f"{place} holds {array.max()}, which no int64 holds", "give the numbers of classes or places")
        return array.astype(np.int64)
    if array.dtype == np.uint8:
        notes[f"{_what(place)}: uint8, scaled from 0 to 255 to [0, 1]"] = None
        return array
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)


def _shaped(place: str, array: np.ndarray, field: FieldSchema, notes: dict[str, None], batch: bool) -> np.ndarray:
    """An array with the axes of a field: those of size 1 may come and go, and a row takes the entries of any shape."""
    own, wanted = array.shape[1:] if batch else array.shape, field.shape
    if own == wanted and (array.ndim or not batch):
        return array
    same = [n for n in own if n != 1] == [n for n in wanted if n != 1]
    rows = len(wanted) == 1 and int(np.prod(own)) == wanted[0]
    if (batch and array.ndim == 0) or not (same or rows):
        lead = ["samples"] if batch else []
        shown, form = f"[{', '.join(map(str, array.shape))}]", f"[{', '.join(map(str, [*lead, *wanted]))}]"
        raise _wrong(f"{place} has shape {shown}; it takes {form}", _to_fit(own, field))
    notes[f"{_what(place)}: {list(own)} read as {list(wanted)}"] = None
    return array.reshape((len(array), *wanted) if batch else wanted)


def _to_fit(own: tuple[int, ...], field: FieldSchema) -> str:
    """The remedy where an array has other axes than a field."""
    if field.kind == "integer" and len(own) == len(field.shape) + 1 and field.classes == own[-1]:
        return "give the number of each class, as .argmax(-1) of one-hot rows"
    text = "reshape it, or set the dims of the spec: "
    return Spoken(f"{text}--set DIM=SIZE", f"{text}dims={{...}}")


def _what(place: str) -> str:
    return place.rpartition(": ")[2]


def _count(number: int) -> str:
    return "one value" if number == 1 else f"{number} values"


def _by_name(names: Sequence[str]) -> str:
    return "give a dict of arrays: {" + ", ".join(f'"{name}": ...' for name in names) + "}"


def _wrong(message: str, help_text: str) -> UserError:
    return UserError(message, code="E0932", help=help_text)


def _refused(name: str, value: Any) -> UserError:
    """The error for a value that is not data."""
    kind = type(value).__name__
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return _wrong(
            f"{name} is {kind}, whose samples cannot be asked for by number", "give it __len__ and __getitem__"
        )
    help_text = "give a dict of arrays, a torch Dataset, an adapter or a path"
    return _wrong(f"{name} is {kind}, which is not data", help_text)

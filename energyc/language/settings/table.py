"""A block of settings as a table, and how what a spec gives for it is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from dataclasses import field as dataclass_field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from energyc.language.diagnostics import UserError, did_you_mean, listed, near
from energyc.language.settings.kinds import Kind, Misfit
from energyc.language.settings.values import written

UNKNOWN_NAME, CONTRADICTION = "E0501", "E0503"
UNKNOWN_SETTING, UNKNOWN_OWNER = "E0541", "E0543"
#: The word that unsets a setting, as if the spec did not have it.
NONE = "none"
#: The longest value that a message shows in full.
LONGEST = 40


@dataclass(frozen=True)
class Setting:
    """A row of the table.

    ``unit`` is what a number counts, ``otherwise`` the default in words where it is not a constant. ``owner`` is
    ``state`` or ``param`` where a single one can have a value of its own, as in ``step.y``; the field ``single`` of the
    block has those values by name. They are of the kind ``each`` where that is another one.
    """

    kind: Kind
    meaning: str
    unit: str = ""
    otherwise: str = ""
    owner: str = ""
    single: str = ""
    each: Kind | None = None


def setting(
    default: Any,
    kind: Kind,
    meaning: str,
    *,
    unit: str = "",
    otherwise: str = "",
    owner: str = "",
    single: str = "",
    each: Kind | None = None,
) -> Any:
    """A field of a block, with its default and its row of the table."""
    row = Setting(kind, meaning, unit, otherwise, owner, single, each)
    return dataclass_field(default=default, metadata={"setting": row})


class Block(Protocol):
    """A frozen dataclass whose fields are settings, by the ``word`` of its block in a spec."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    #: The word before the braces, the code of a value that does not fit.
    word: ClassVar[str]
    misfit: ClassVar[str]


B = TypeVar("B", bound=Block)


def table(block: type[Block]) -> dict[str, Setting]:
    """The settings of a block by their names, in the order of its fields."""
    return {field.name: field.metadata["setting"] for field in fields(block) if "setting" in field.metadata}


@dataclass(frozen=True)
class Fault:
    """The mistake in the setting ``key``: the code and the message of its diagnostic, and a remedy.

    ``instead`` is what to write in place of the ``part`` of ``key = value`` that is wrong; empty where that is unknown.
    """

    key: str
    code: str
    message: str
    help: str | None = None
    part: Literal["setting", "owner", "value"] = "value"
    instead: str = ""

    def error(self) -> UserError:
        """As an error outside a spec."""
        return UserError(self.message, code=self.code, help=self.help)


def read(
    block: type[B], given: Mapping[str, object], owners: Mapping[str, Collection[str]] = MappingProxyType({})
) -> tuple[B, list[Fault]]:
    """A block with the given values, a wrong one left at its default; and what is wrong.

    ``none`` unsets a setting, and so does None. ``owners`` are the names of states and params, where known.
    """
    rows, faults = table(block), list[Fault]()
    values: dict[str, Any] = {row.single: {} for row in rows.values() if row.single}
    for key, value in given.items():
        try:
            name, owner = _setting_of(block, rows, key, owners)
            if value is None or (value == NONE and not rows[name].kind.takes_none):
                continue
            kind = rows[name].each if owner else None
            typed = _typed(block, key, kind or rows[name].kind, value)
        except _Faulty as error:
            faults.append(error.fault)
            continue
        if owner:
            values[rows[name].single][owner] = typed[name]
        else:
            values |= typed
    return block(**values), faults


class _Faulty(Exception):
    """A setting that cannot be read."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        self.fault = Fault(*args)


def _setting_of(
    block: type[Block], rows: Mapping[str, Setting], key: str, owners: Mapping[str, Collection[str]]
) -> tuple[str, str]:
    """The setting that a key names, and the state or param that it is for alone. Raises _Faulty."""
    name, dot, owner = key.partition(".")
    if name not in rows or (dot and not rows[name].owner):
        help_text = did_you_mean(key, rows, f"it has {listed(rows)}")
        raise _Faulty(
            key, UNKNOWN_SETTING, f"`{block.word}` has no setting `{key}`", help_text, "setting", meant(name, rows)
        )
    kind = rows[name].owner
    if dot and owner not in owners.get(kind, (owner,)):
        names = owners[kind]
        help_text = did_you_mean(owner, names, f"the {kind}s are {listed(names)}" if names else f"there are no {kind}s")
        message = f"there is no {kind} `{owner}`"
        raise _Faulty(key, UNKNOWN_OWNER, message, help_text, "owner", meant(owner, names))
    return name, owner


def _typed(block: type[Block], key: str, kind: Kind, value: object) -> dict[str, object]:
    """The fields that a setting sets, by their names. Raises _Faulty."""
    try:
        return kind.fields(key.partition(".")[0], value)
    except Misfit as error:
        subject = f"`{block.word}.{key}`" if error.part is None else f"the {error.part} of `{block.word}.{key}`"
        text = written(error.value)
        shown = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
        message = f"{subject} is {error.wanted}, not `{shown}`"
        instead = kind.instead(error.value) if error.part is None else None
        help_text = did_you_mean(text, kind.words) if instead is None else f"write `{key} = {written(instead)}`"
        fitting = "" if error.part is not None else written(instead) if instead is not None else meant(text, kind.words)
        raise _Faulty(key, block.misfit, message, help_text, "value", fitting) from None


def meant(word: str, known: Collection[str]) -> str:
    """The known name that was probably meant; empty where none is spelt alike."""
    return next(iter(near(word, known)), "")


#: The square of a larger number overflows float32, and that of a number below its inverse vanishes.
LARGE = 1e19


def extremes(*blocks: Block) -> tuple[str, ...]:
    """Return the settings of some blocks with extreme values, as ``train.lr = 1e+300``."""
    values = (pair for block in blocks for pair in _numbers(block.word, block))
    return tuple(f"{name} = {value:g}" for name, value in values if value and not 1 / LARGE <= abs(value) <= LARGE)


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Return every number in a value, with the name of its setting."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value
    elif isinstance(value, tuple):
        for item in value:
            yield from _numbers(name, item)
    elif is_dataclass(value):
        singles = {row.metadata["setting"].single: row.name for row in fields(value) if "setting" in row.metadata}
        for row in fields(value):
            yield from _each(name, singles.get(row.name, row.name), getattr(value, row.name))


def _each(block: str, name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Return the numbers of a field, those of single states or params by their names."""
    if isinstance(value, dict):
        for owner, item in value.items():
            yield from _numbers(f"{block}.{name}.{owner}", item)
    else:
        yield from _numbers(f"{block}.{name}", value)

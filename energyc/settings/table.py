"""A block of settings as a table, and the reading of what is written in one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import Field, dataclass, fields
from dataclasses import field as dataclass_field
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeVar

from energyc.diagnostics import UserError, did_you_mean, listed
from energyc.settings.kinds import Kind, Misfit, NotYet
from energyc.settings.values import written

UNKNOWN_NAME, CONTRADICTION = "E0501", "E0503"
UNKNOWN_SETTING, UNKNOWN_OWNER, PLANNED = "E0541", "E0543", "E0190"
#: The word that takes a setting back: it is then as if it had not been written.
NONE = "none"
#: How much of a value is shown.
LONGEST = 40


@dataclass(frozen=True)
class Setting:
    """A row of the table, as the documentation shows it.

    ``unit`` is what a number counts, ``otherwise`` the default in words where it is no constant. ``owner`` is ``state``
    or ``param`` where single ones may be set too, as ``step.y``; the field ``single`` gathers those by their names.
    """

    kind: Kind
    meaning: str
    unit: str = ""
    otherwise: str = ""
    owner: str = ""
    single: str = ""


def setting(
    default: Any, kind: Kind, meaning: str, *, unit: str = "", otherwise: str = "", owner: str = "", single: str = ""
) -> Any:
    """A field of a block: a setting, with what it is where the spec does not say it."""
    row = Setting(kind, meaning, unit, otherwise, owner, single)
    return dataclass_field(default=default, metadata={"setting": row})


class Block(Protocol):
    """A frozen dataclass whose fields are settings, by the ``word`` of its block in a spec."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    #: The word before the braces, the code of a value that does not fit, the settings that are planned.
    word: ClassVar[str]
    misfit: ClassVar[str]
    planned: ClassVar[tuple[str, ...]]


B = TypeVar("B", bound=Block)


def table(block: type[Block]) -> dict[str, Setting]:
    """The settings of a block by their names, in the order of its fields."""
    return {field.name: field.metadata["setting"] for field in fields(block) if "setting" in field.metadata}


@dataclass(frozen=True)
class Fault:
    """What is wrong with the setting ``key``: the code and the message of its diagnostic, and a remedy."""

    key: str
    code: str
    message: str
    help: str | None = None

    def error(self) -> UserError:
        """As a mistake outside a spec."""
        return UserError(self.message, code=self.code, help=self.help)


def read(
    block: type[B], given: Mapping[str, object], owners: Mapping[str, Collection[str]] = MappingProxyType({})
) -> tuple[B, list[Fault]]:
    """A block with the values given for its settings, one that is wrong left at its default; and what is wrong.

    ``none`` takes a setting back, and so does None. ``owners`` are the names of states and params, where known.
    """
    rows, faults = table(block), list[Fault]()
    values: dict[str, Any] = {row.single: {} for row in rows.values() if row.single}
    for key, value in given.items():
        name, _, owner = key.partition(".")
        fault = _unknown(block, rows, key, owners)
        if fault is not None:
            faults.append(fault)
        elif value is not None and (value != NONE or rows[name].kind.takes_none):
            try:
                fields_set = rows[name].kind.fields(name, value)
            except NotYet as error:
                faults.append(Fault(key, PLANNED, f"{error} is not yet supported"))
            except Misfit as error:
                faults.append(_misfit(block, key, rows[name].kind, error))
            else:
                if owner:
                    values[rows[name].single][owner] = fields_set[name]
                else:
                    values |= fields_set
    return block(**values), faults


def _unknown(
    block: type[Block], rows: Mapping[str, Setting], key: str, owners: Mapping[str, Collection[str]]
) -> Fault | None:
    """What is wrong with a key: it names no setting, one that is planned, or a state or param that is not there."""
    name, dot, owner = key.partition(".")
    if name in block.planned:
        return Fault(key, PLANNED, f"`{block.word}.{key}` is not yet supported")
    if name not in rows or (dot and not rows[name].owner):
        help_text = did_you_mean(key, rows, f"it has {listed(rows)}")
        return Fault(key, UNKNOWN_SETTING, f"`{block.word}` has no setting `{key}`", help_text)
    kind = rows[name].owner
    if dot and kind in owners and owner not in owners[kind]:
        names = owners[kind]
        help_text = did_you_mean(owner, names, f"the {kind}s are {listed(names)}" if names else f"there are no {kind}s")
        return Fault(key, UNKNOWN_OWNER, f"there is no {kind} `{owner}`", help_text)
    return None


def _misfit(block: type[Block], key: str, kind: Kind, error: Misfit) -> Fault:
    subject = f"`{block.word}.{key}`" if error.part is None else f"the {error.part} of `{block.word}.{key}`"
    value = written(error.value)
    shown = value if len(value) <= LONGEST else value[: LONGEST - 3] + "..."
    help_text = did_you_mean(value, kind.words)
    return Fault(key, block.misfit, f"{subject} is {error.wanted}, not `{shown}`", help_text)

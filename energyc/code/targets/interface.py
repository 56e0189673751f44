"""The contract of a target: all that the compiler, a run, the doctor and the commands ask of one.

A target is a package of this room with an object that fulfils :class:`Target`, and a line in the registry beside it.
It is given the plan of a module (:class:`~energyc.code.plan.module.ModulePlan`): a derivation, every routine with its
order and what is hoisted, the features of its rules; and the options of the module. Of these
:class:`~energyc.code.module.context.Context` makes names for the printers of equations, and
:func:`~energyc.code.targets.kernels.kernels_of` the loop nests of the phases. It gives a
:class:`~energyc.code.module.printed.Printed`, whose text defines the class that
:func:`~energyc.code.module.names.class_name` names. It is called with ``device``, ``dtype`` and ``seed``, and what it
makes has ``relax(clamps)``, which takes tensors or arrays and returns a record with ``states`` and ``residual``.

Where a target ``learns``, that is a module of torch with the runtime of energyc: it is trained, moved to devices and
studied. Any other is on the CPU, and its ``params`` are arrays by the names of the spec, into which the weights of a
run are copied. Its records are not called as those of the runtime (``Relaxed``, ``Gradients``), which have cards in a
notebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from energyc.code.module.context import Options
    from energyc.code.module.printed import Printed
    from energyc.code.plan import ModulePlan


class Absent(Exception):
    """This machine lacks what a target runs on, and nothing that could be installed helps; the text says why."""


class Missing(Exception):
    """A requirement of a target is not installed; the text says which."""


@dataclass(frozen=True)
class Needs:
    """The needs of a target's modules beside torch: a C++ ``compiler``, or the packages of an ``extra`` of energyc."""

    compiler: bool = False
    extra: str | None = None


@dataclass(frozen=True)
class Ready:
    """Whether the phases of a module can run: the seconds that building took, where it did, or why they cannot."""

    built_in: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Trial:
    """Where the doctor tries a target: a device and a dtype, and how ``close`` its states must be to torch's.

    ``facts`` are versions and the like, which its finding tells.
    """

    device: str = "cpu"
    dtype: str = "float64"
    close: float = 1e-9
    facts: Mapping[str, str] = field(default_factory=dict)


class Target(Protocol):
    """A language or a library that modules are written for.

    ===============  =====================================================================================
    name             what ``--target`` and ``show --stage`` say
    title            how the doctor calls it
    learns           whether its modules are those of torch, with the runtime of energyc
    phases           how messages call what phases run as; None for plain operations of torch
    usual_on         kinds of devices on which ``--target auto`` takes it: ``cpu``, ``cuda``
    needs            what its modules need beside torch
    settled          what the doctor says where it works; ``{seconds}`` and the facts of its trial are filled in
    ===============  =====================================================================================
    """

    name: str
    title: str
    learns: bool
    phases: str | None
    usual_on: frozenset[str]
    needs: Needs
    settled: str

    def module(self, planned: ModulePlan, options: Options) -> Printed:
        """Write the module; the same plan and options give the same bytes.

        Where the target has no form for a network, the module is one of torch, and says why in ``fallback``.
        """
        ...

    def ready(self, printed: Printed, device: str, dtype: str) -> Ready:
        """Build what has to be built, and say whether phases run on a device in a dtype: ``float32``, ``bfloat16``."""
        ...

    def trial(self) -> Trial:
        """Where the doctor tries it. Raises Absent, Missing."""
        ...

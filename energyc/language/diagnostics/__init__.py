"""Diagnostics, the same for every pass, and their rendering.

It knows source text, positions in it and what other libraries call a setting, and nothing else of the language.

Imports: ``resources``.
"""

from energyc.language.diagnostics.failures import (
    CompilerBug,
    SpecError,
    arithmetic,
    is_out_of_memory,
    out_of_memory,
    stage,
)
from energyc.language.diagnostics.model import Diagnostic, Label, Misuse, UnknownName, UserError
from energyc.language.diagnostics.near import did_you_mean, listed, near, quoted
from energyc.language.diagnostics.remedy import Edit, Fix, Remedy, inserting, remedied, removing, writing
from energyc.language.diagnostics.render import render_text, render_user_error, summary, to_json
from energyc.language.diagnostics.render_line import escaped
from energyc.language.diagnostics.source import Position, Source, Span
from energyc.language.diagnostics.spoken import Given, Mapped, Option, Resuming, Spoken, in_python, spoken

__all__ = [
    "CompilerBug",
    "Diagnostic",
    "Edit",
    "Fix",
    "Given",
    "Label",
    "Mapped",
    "Misuse",
    "Option",
    "Position",
    "Remedy",
    "Resuming",
    "Source",
    "Span",
    "SpecError",
    "Spoken",
    "UnknownName",
    "UserError",
    "arithmetic",
    "did_you_mean",
    "escaped",
    "in_python",
    "inserting",
    "is_out_of_memory",
    "listed",
    "near",
    "out_of_memory",
    "quoted",
    "remedied",
    "removing",
    "render_text",
    "render_user_error",
    "spoken",
    "stage",
    "summary",
    "to_json",
    "writing",
]

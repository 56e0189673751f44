"""Diagnostics, the same for every pass, and their rendering.

It knows source text, positions in it and what other libraries call a setting, and nothing else of the language.

Imports: ``resources``.
"""

from energyc.diagnostics.bug import CompilerBug, stage
from energyc.diagnostics.model import Diagnostic, Label, UnknownName, UserError
from energyc.diagnostics.near import did_you_mean, listed, near, quoted
from energyc.diagnostics.numbers import arithmetic
from energyc.diagnostics.remedy import Edit, Fix, Remedy, inserting, remedied, removing, writing
from energyc.diagnostics.render import render_text, render_user_error, summary
from energyc.diagnostics.render_json import to_json
from energyc.diagnostics.render_line import escaped
from energyc.diagnostics.source import Position, Source, Span
from energyc.diagnostics.spec_error import SpecError

__all__ = [
    "CompilerBug",
    "Diagnostic",
    "Edit",
    "Fix",
    "Label",
    "Position",
    "Remedy",
    "Source",
    "Span",
    "SpecError",
    "UnknownName",
    "UserError",
    "arithmetic",
    "did_you_mean",
    "escaped",
    "inserting",
    "listed",
    "near",
    "quoted",
    "remedied",
    "removing",
    "render_text",
    "render_user_error",
    "stage",
    "summary",
    "to_json",
    "writing",
]

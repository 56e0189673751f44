"""Measure the fidelity of the learning rules against the implicit gradient on a live network.

It returns numbers only; ``report`` presents them.

Imports: ``calculus``, ``diagnostics``, ``emit``, ``ir``, ``pipeline``, ``plan``, ``resolve``, ``resources``,
``rules``, ``runs``, ``runtime``, ``settings``, ``syntax``, ``train``; libraries: ``numpy``, ``safetensors``, ``scipy``,
``torch``.
"""

from energyc.verify.compare import Measure
from energyc.verify.fidelity import Fidelity, RuleFidelity, measure_fidelity
from energyc.verify.looseness import Loose, Looseness
from energyc.verify.precision import PrecisionRow, PrecisionTable, precision_table
from energyc.verify.probe import Probe, random_probe
from energyc.verify.products import Phased, ProductsCost
from energyc.verify.record import Above, Crossing, Record, record
from energyc.verify.settling import Settling
from energyc.verify.spectrum import Spectrum, spectrum
from energyc.verify.sweep import Sweep
from energyc.verify.symmetry import Symmetry
from energyc.verify.verification import MeasuredCheckpoint, Verification, verify

__all__ = [
    "Above",
    "Crossing",
    "Fidelity",
    "Loose",
    "Looseness",
    "Measure",
    "MeasuredCheckpoint",
    "Phased",
    "PrecisionRow",
    "PrecisionTable",
    "Probe",
    "ProductsCost",
    "Record",
    "RuleFidelity",
    "Settling",
    "Spectrum",
    "Sweep",
    "Symmetry",
    "Verification",
    "measure_fidelity",
    "precision_table",
    "random_probe",
    "record",
    "spectrum",
    "verify",
]

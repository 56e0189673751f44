"""Measure the fidelity of the learning rules against the implicit gradient on a live network.

It returns numbers only; ``report`` presents them.

Imports: ``calculus``, ``claims``, ``diagnostics``, ``folder``, ``ir``, ``module``, ``network``, ``pipeline``, ``plan``,
``resources``, ``runs``, ``runtime``, ``settings``, ``syntax``, ``targets``, ``training``; libraries: ``numpy``,
``safetensors``, ``scipy``, ``torch``.
"""

from energyc.studies.verify.compare import Measure, Sweep
from energyc.studies.verify.fidelity import Fidelity, RuleFidelity, measure_fidelity
from energyc.studies.verify.guarantees import Guarantee
from energyc.studies.verify.looseness import Loose, Looseness
from energyc.studies.verify.precision import PrecisionTable, ProductsCost, precision_table
from energyc.studies.verify.samples import Record, given_samples, random_probe, record
from energyc.studies.verify.settling import Settling
from energyc.studies.verify.spectrum import Spectrum, spectrum
from energyc.studies.verify.symmetry import Symmetry
from energyc.studies.verify.verification import MeasuredCheckpoint, Verification, verify

__all__ = [
    "Fidelity",
    "Guarantee",
    "Loose",
    "Looseness",
    "Measure",
    "MeasuredCheckpoint",
    "PrecisionTable",
    "ProductsCost",
    "Record",
    "RuleFidelity",
    "Settling",
    "Spectrum",
    "Sweep",
    "Symmetry",
    "Verification",
    "given_samples",
    "measure_fidelity",
    "precision_table",
    "random_probe",
    "record",
    "spectrum",
    "verify",
]

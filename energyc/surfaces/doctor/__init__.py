"""Examination of this machine for ``energyc doctor``: findings, each with the command that mends what does not work.

| module | content |
|---|---|
| ``trial`` | a process that imports torch, reads the specs, relaxes a network, builds kernels |
| ``findings`` | a finding, a probe that cannot raise, and what that process found, also where it crashed |
| ``examination`` | all findings: also on Python, the libraries and extras, the cache; their text and JSON |

The process of the command itself imports nothing that may be broken.

Imports: ``extras``, ``files``, ``pipeline``, ``resources``, ``runs``, ``syntax``, ``tables``, ``targets``, ``version``;
libraries: ``packaging``, ``torch``.
"""

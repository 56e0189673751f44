"""Examination of this machine for ``energyc doctor``: findings, each with the command that mends what does not work.

| module | content |
|---|---|
| ``finding`` | a finding, and a probe that cannot raise |
| ``requirements`` | what energyc and its extras require, and what is installed |
| ``trial`` | a process that imports torch, reads the specs, relaxes a network, builds kernels |
| ``tried`` | what that process found, also where it crashed |
| ``installing`` | the command that installs a C++ compiler here |
| ``examination`` | all findings |

The process of the command itself imports nothing that may be broken.

Imports: ``extras``, ``files``, ``pipeline``, ``resources``, ``runs``, ``syntax``, ``targets``, ``version``;
libraries: ``packaging``, ``torch``.
"""

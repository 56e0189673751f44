"""Checks certificates of proofs independently: it reads a file of them and a spec, and imports nothing else of energyc.

``python -m energyc.checker FILE SPEC`` prints an answer to each certificate: what the file holds has to have its shape
(``shapes``), and what is verified is put into words (``statements``). The formulas of the spec are read anew
(``syntax``), brought to one form (``algebra``, ``formulas``) and compared (``judge``, ``case``, ``symmetry``). Rule
trees (``nodes``, ``terms``, ``slopes``, ``claims``) rest on what is known of values (``ranges``, ``functions``,
``bounds``), of their growth (``growth``, ``far``), of kinks (``kinks``), and of quadratic forms (``forms``).

Imports: nothing.
"""

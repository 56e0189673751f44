"""Certificates of a symmetric Jacobian as data, and the checker that replays them.

Imports: ``enclosures``, ``fields``, ``ir``; libraries: ``numpy``.
"""

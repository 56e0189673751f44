"""Nudged phases, their contrast, and the strength of a nudge.

Imports: ``equations``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""

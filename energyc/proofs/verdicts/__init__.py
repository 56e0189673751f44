"""The verdict on each learning rule, which rules are admissible, and the classification in the notation of the spec.

Imports: ``calculus``, ``checker``, ``claims``, ``conservativeness``, ``derive``, ``diagnostics``,
``fields``, ``functions``, ``ir``, ``network``, ``notation``, ``runtime``, ``syntax``; libraries:
``numpy``.
"""

"""The verdict on each learning rule, which rules are admissible, and the classification in the notation of the spec.

Imports: ``calculus``, ``claims``, ``conservativeness``, ``derive``, ``diagnostics``, ``functions``, ``ir``,
``network``, ``notation``, ``rules``.
"""

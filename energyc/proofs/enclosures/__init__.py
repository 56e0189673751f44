"""Ranges of values: intervals, exact and multiprecision evaluation of graphs, bounds of nodes.

Imports: ``calculus``, ``expressions``, ``functions``, ``ir``, ``notation``; libraries: ``mpmath``,
``numpy``.
"""

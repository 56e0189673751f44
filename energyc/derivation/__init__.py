"""The derivatives of a network, and its formulas in the notation of the spec.

In: a network. Out: forces, Jacobian products and parameter updates as nodes; nodes as formulas in text, LaTeX, MathML.

| room | content |
|---|---|
| ``derive`` | forces, local updates and the other routines of a network, each on demand |
| ``notation`` | nodes as formulas with the spec's own names and indices |

It imports the wings ``mathematics`` and ``language``.
"""

"""The language of specs: from text to a typed network, or to every error in it.

In: the text of a spec, with what is set beside it. Out: a :class:`~energyc.language.network.Network`, or diagnostics.

| room | content |
|---|---|
| ``diagnostics`` | errors with their places and remedies, and how they are rendered |
| ``settings`` | every setting of a spec: its kind, default, unit and meaning |
| ``syntax`` | the parser, the tree with spans, the formatter, errors of syntax |
| ``network`` | the typed network that every later pass reads |
| ``resolve`` | from the tree to the network: names, dims, shapes, terms |

It imports the wing ``mathematics``.
"""

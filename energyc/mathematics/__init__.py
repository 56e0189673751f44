"""The mathematics of formulas, whatever network they stand in: the graph of tensors and the computations on it.

In: expressions, functions, indices and nodes. Out: nodes, with their derivatives, values and tables over edges.

| room | content |
|---|---|
| ``expressions`` | the tree of scalar expressions, and the traverser that computes something of one |
| ``functions`` | what is known of each scalar function: value, slope, range, kinks, its form in each language |
| ``ir`` | the graph of named-index tensors, its text form, verifier and reference interpreter |
| ``calculus`` | derivatives of nodes: tangents, adjoints, differences |
| ``sparse`` | tables over edges, kept by their entries |

It imports no other wing.
"""

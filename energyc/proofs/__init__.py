"""Proofs about a network before it runs: conservativeness, claims, the rules that it admits.

In: a network and its derivation. Out: classes with evidence, claims with verdicts, a verdict on each learning rule.
It works on graphs, with exact fractions, intervals and NumPy; it neither generates nor runs a module.

| room | content |
|---|---|
| ``fields`` | the input of a proof, a force field on stacked states; its points, sizes, kinks and jumps |
| ``enclosures`` | ranges: intervals, exact and multiprecision evaluation |
| ``conservativeness`` | whether a force is a gradient: witnesses, loops, proofs by the kernel, potentials, ties |
| ``claims`` | floors, equilibria, contraction, positivity, holomorphy |
| ``verdicts`` | the verdict on each rule, the rules that are admissible, the report in the spec's notation |

It imports the wings ``mathematics``, ``language``, ``derivation``, and the declarations of the rules in ``runtime``.
"""

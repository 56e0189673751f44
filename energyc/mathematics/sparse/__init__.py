"""Tables that an equality of indices leaves sparse, kept by the entries that it lets through.

Where ``dst[e]`` is a node for each edge e, a tensor times ``[n == dst[e]]`` has one entry for each e, not for each n
and e. Here such a tensor is kept over e alone, and a reduction guarded by the equality becomes one over the segments
of edges that share a node. It is a rewriting of graphs that changes no value; it knows nothing of energies.

Imports: ``calculus``, ``ir``; libraries: ``numpy``.
"""

from energyc.mathematics.sparse.compression import CompressedRoots, compressed
from energyc.mathematics.sparse.segment import Segment
from energyc.mathematics.sparse.selection import Selection, selection_of

__all__ = ["CompressedRoots", "Segment", "Selection", "compressed", "selection_of"]

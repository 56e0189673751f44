"""The classes that users call: a network, and a network of layers.

Imports: ``adjoints``, ``convergence``, ``equations``, ``nudging``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""

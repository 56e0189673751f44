"""Whether a force is a gradient: numbers first, then a proof, then what the proof leaves open.

Imports: ``calculus``, ``enclosures``, ``fields``, ``functions``, ``ir``, ``network``,
``normal_form``, ``resolve``; libraries: ``numpy``.
"""

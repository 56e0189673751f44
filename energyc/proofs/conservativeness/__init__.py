"""Whether a force is a gradient: numbers first, then a proof, then what the proof leaves open.

Imports: ``calculus``, ``checker``, ``enclosures``, ``fields``, ``functions``, ``ir``, ``network``, ``notation``,
``resolve``, ``syntax``; libraries: ``numpy``.
"""

"""A run: a spec prepared for training, its folder read back, its network loaded and sampled.

| module | what it holds |
|---|---|
| ``locate`` | whether a path is a spec or the folder of a run (imports no torch) |
| ``prepare`` | a spec, or a run that resumes, with its module, its options and its data: a session for ``train`` |
| ``data`` | the bindings of a spec, opened |
| ``resolved`` | the text of the spec that the folder keeps |
| ``saved`` | the folder of a run, read back |
| ``load`` | ``energyc.load`` |
| ``sample`` | text from a language model |

It brings specs, modules, data and training together; it measures and reports nothing.

Imports: ``analysis``, ``data``, ``diagnostics``, ``pipeline``, ``resolve``, ``settings``, ``syntax``, ``train``,
``version``; libraries: ``torch``.
"""

"""Runs: prepare a spec for training, read the folder of a run, load its network and sample from it.

| module | content |
|---|---|
| ``locate`` | whether a path is a spec or the folder of a run (imports no torch) |
| ``prepare`` | a spec, or a run that resumes, with its module, its options and its data: a session for ``train`` |
| ``data_arguments`` | what was given as data, from Python or on the command line |
| ``data`` | what feeds each clamp and target |
| ``resolved`` | the text of the spec in the folder |
| ``target`` | what the phases of a run are carried out by |
| ``saved`` | reading the folder of a run; whether it is of the spec that is in it |
| ``load`` | the network of a spec or of a run as a module |
| ``sample`` | text from a language model |

It combines specs, modules, data and training; it measures and reports nothing.

Imports: ``calculus``, ``conservativeness``, ``data``, ``diagnostics``, ``folder``, ``ir``, ``loggers``, ``network``,
``pipeline``, ``plan``, ``ranks``, ``resolve``, ``running``, ``runtime``, ``settings``, ``syntax``, ``targets``,
``training``, ``verdicts``, ``version``; libraries: ``numpy``, ``torch``.
"""

"""The folder of a run: everything that is written into it and read from it, and what protects it.

| module | content |
|---|---|
| ``layout`` | its name, its files, its lock; the messages where it cannot be read or written |
| ``formats`` | the forms of its JSON files, which are checked when they are read |
| ``checkpoints`` | tensors and state of a step, complete or absent, with hashes |
| ``logs`` | rows of JSON, cut at the step from which a run goes on; all that a run writes, by one rank |
| ``fit`` | whether what was read is of this network, this optimizer and these settings |

What is in a folder may come from anyone. Every file is read through ``files``, which follows no link, and checked
before anything of it is used.

Imports: ``diagnostics``, ``files``, ``settings``; libraries: ``filelock``, ``pydantic``, ``safetensors``, ``torch``,
``typing_extensions``.
"""

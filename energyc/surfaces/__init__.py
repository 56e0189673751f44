"""The interfaces for people and programs: the command line, Python, reports, pages, notebooks, editors.

In: what all other wings give. Out: text, pictures, pages, JSON.

| room | content |
|---|---|
| ``html`` | pages, cards and charts |
| ``report`` | results as text, documents, JSON and pictures |
| ``python`` | ``energyc.load``, ``train`` and ``resume`` |
| ``cli`` | the commands |
| ``notebook`` | ``%%energy`` |
| ``lsp`` | the language server |
| ``doctor`` | what works on this machine |

It may import every wing; none imports it.
"""

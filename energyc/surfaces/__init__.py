"""The interfaces for people and programs: the command line, Python, reports, pages, notebooks, editors.

In: what all other wings give. Out: text, pictures, pages, JSON.

| room | content |
|---|---|
| ``tables`` | a table and its layouts as text, Markdown and LaTeX |
| ``charts`` | a chart as what it says: curves, marks, scales |
| ``html`` | pages, cards, charts as SVG |
| ``report`` | results as text, documents, JSON and pictures |
| ``api`` | the functions of ``energyc.api``, of which commands are adapters |
| ``cli`` | the commands |
| ``notebook`` | ``%%energy`` |
| ``lsp`` | the language server |
| ``doctor`` | what works on this machine |

It may import every wing; none imports it.
"""

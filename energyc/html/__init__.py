"""HTML: pages and cards that stand by themselves, without any request to a network.

| module | content |
|---|---|
| ``markup`` | elements with escaped text, whole pages; ``page.css`` and ``card.css`` are their style |
| ``numbers`` | numbers as they are read |
| ``chart`` | curves as SVG |
| ``diagram`` | which state acts on which, through which terms, as SVG |
| ``tables`` | tables, verdicts, formulas |
| ``network_card``, ``relaxed_card``, ``gradients_card``, ``run_card`` | what a notebook shows of an object |
| ``attach`` | gives those cards to the classes of a generated module |

Text from specs and run folders is untrusted: it enters a page through ``tag``, which escapes it.

Imports: ``analysis``, ``derive``, ``ir``, ``resolve``; libraries: ``markupsafe``.
"""

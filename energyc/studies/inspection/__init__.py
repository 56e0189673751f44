"""The inside of a trained network, as arrays that pictures are drawn from.

| module | content |
|---|---|
| ``parts`` | what relaxes: the network, or each copy of each layer; its states step by step, values of its nodes |
| ``traces`` | energy terms and states over the steps |
| ``attention`` | the softmaxes that terms are made of, and their weights |
| ``decode`` | which tensors are images, which readouts are compared with one, linear maps of others to pixels |
| ``memories`` | params whose rows are compared with such a tensor, through the map; position biases |

All is found in the structure of a spec, none by the name of one. What a spec does not have is a ``Nothing`` with the
reason. It draws nothing.

Imports: ``calculus``, ``derive``, ``ir``, ``network``, ``training``; libraries: ``numpy``, ``torch``.
"""

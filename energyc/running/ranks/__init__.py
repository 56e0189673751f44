"""Ranks: the processes of one training run, on one machine or many, under PyTorch's own launcher.

| module | content |
|---|---|
| ``group`` | what a run asks of its ranks: shares, sums in a fixed order, gathering; a process alone has all the same |
| ``processes`` | the same by ``torch.distributed``, and the one message with which a run ends everywhere |
| ``launch`` | joining the group that ``torchrun`` has started |

Imports: ``diagnostics``; libraries: ``torch``.
"""

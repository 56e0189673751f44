"""From a module to a trained network: data, training, the folders of runs.

In: a generated module and data. Out: trained weights, rows of metrics, the folder of a run.

| room | content |
|---|---|
| ``data`` | adapters: what a spec may bind, with schemas known before data are opened |
| ``loggers`` | who is told of a run as it goes |
| ``ranks`` | several processes that share one update |
| ``folder`` | the folder of a run: its files, checkpoints, logs and lock |
| ``training`` | updates, evaluations, health |
| ``runs`` | a spec or a folder prepared for training; the folder of a run read again |

It imports the wing ``language``, declarations of ``proofs`` and ``runtime``, and ``pipeline``, which makes its modules.
"""

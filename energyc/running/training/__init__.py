"""Train a compiled network on any data that follows the data contract.

| module | content |
|---|---|
| ``network`` | the params of a network |
| ``division`` | training, validation and test samples, and folds |
| ``feeds`` | datasets bound to the names of clamps and targets |
| ``session`` | the inputs of a training run |
| ``learner``, ``shares`` | one update: data, gradients by all ranks, gate, health, optimiser |
| ``loop`` | ``train(session)``: updates, evaluations, checkpoints, interruptions |
| ``seeds`` | ``train_each``: the same run for several seeds or folds, mean and deviation |
| ``evaluation`` | held-out cost and metrics, of a live network or of a run's best checkpoint |
| ``diagnosis`` | why samples do not settle, tried on the network at the end of a run |
| ``scores`` | metrics over all entries of a split at once |
| ``saturation`` | outputs that rest on a bound of their set in all samples of an evaluation |
| ``run_health`` | how a run settled and learned, from its rows, with symptoms and remedies |
| ``identity`` | what a run is made of, for run.json, compared when it resumes |
| ``snapshot`` | a live network with its optimiser as a checkpoint, and back |

It depends on the runtime and on data, not on specs or the compiler.

Imports: ``data``, ``diagnostics``, ``extras``, ``folder``, ``loggers``, ``ranks``, ``runtime``, ``settings``;
libraries: ``numpy``, ``rich``, ``sklearn``, ``torch``.
"""

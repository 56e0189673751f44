"""Training of a compiled network: any object that keeps the Python interface, on any data that keeps the data contract.

| module | what it holds |
|---|---|
| ``network`` | what a network must offer, as protocols |
| ``feeds`` | datasets bound to the names of clamps and targets |
| ``session`` | everything that one training run needs |
| ``learner`` | one update: data, gradients, gate, health, optimiser |
| ``loop`` | ``train(session)``: updates, evaluations, checkpoints, interruptions |
| ``seeds`` | ``train_seeds``: the same run for several seeds, mean and deviation |
| ``evaluation`` | held-out cost and metrics, of a live network or of a run's best checkpoint |
| ``run_health`` | how a run settled and learned, from its rows, with what is wrong and what would help |
| ``identity`` | what a run was made of, compared when it resumes |
| ``checkpoint``, ``folder``, ``metrics_log`` | what a run leaves on disk |

It trains whatever keeps these interfaces; specs and the compiler are unknown to it.

Imports: ``data``, ``diagnostics``, ``settings``; libraries: ``numpy``, ``pydantic``, ``rich``, ``safetensors``,
``torch``, ``typing_extensions``.
"""

"""The generated modules against what a user would really write, beside their matrix products alone.

    python -m benchmarks.against                     # all networks, into benchmarks/results
    python -m benchmarks.against cet deq --seconds 5
    python -m benchmarks.against --quick --out /tmp  # tiny sizes: whether everything runs and agrees

A module for each comparator: ``generated`` (torch operations and kernels), ``by_hand`` (torch, the force written out or
by autograd, and the same through torch.compile), ``in_jax`` (by both calling styles), ``published`` (the arithmetic of
the published code of equilibrium propagation), ``in_torchdeq``, and ``floor`` (the matrix products). A comparator gives
its ways to do a task, and a way is timed once its result is right.
"""

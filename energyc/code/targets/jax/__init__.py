"""The JAX target: a module of pure functions on arrays."""

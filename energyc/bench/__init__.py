"""How fast a compiled network is, beside other ways to compute the same."""

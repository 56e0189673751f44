"""The kinds of pictures of a run."""

#: Of its rows; of the relaxation of its network; of what goes on inside that.
KINDS = ("curves", "energy", "images", "energies", "states", "forces", "memories", "attention", "positions")

"""Whether samples settled, the warning where they did not, and why.

Imports: ``equations``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""

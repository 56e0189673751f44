"""The parts of a module beside its equations, as a person writes them: a module carries those that it reaches.

``network`` stands for what a module defines of its network; nothing is imported when a module is written.
"""

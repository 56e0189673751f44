"""Modules that run as operations of PyTorch."""

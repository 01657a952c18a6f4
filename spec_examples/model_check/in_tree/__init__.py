"""Factories for talkers of vLLM-Omni itself, and what the check found of them.

A factory takes the class as it is published, and builds what its hooks use, with tiny random weights. The backbone,
which no hook asks, is left out. Runs inside a target's process only, apart from ``found``.
"""

"""Scorers: from the state of a sample to its Score. The only layer that resolves models."""

"""Intervals, tests and estimates: from numbers to numbers."""

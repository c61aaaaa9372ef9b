"""The judge exam: answers whose truth is known, and whether a judge finds it."""

"""Two models on the same tasks, and judges on the same answers."""

"""What the scores of a run add up to: pure functions of scores, without state between calls."""

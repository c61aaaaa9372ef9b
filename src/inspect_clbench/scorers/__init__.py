"""State in, Score out."""

"""Pictures of the tables."""

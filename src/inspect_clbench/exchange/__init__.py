"""Files for others: those of the original scripts, and sheets that people fill in."""

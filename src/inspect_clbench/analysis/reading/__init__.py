"""From log files to records and series: what was run, and what came of each row."""

"""Why answers failed: the table of error types and its picture."""

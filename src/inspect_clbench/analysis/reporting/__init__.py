"""Tables of a run, of its costs and of single tasks."""

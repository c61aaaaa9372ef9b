"""The demo: rows written for this package, and an offline student and judge for them."""

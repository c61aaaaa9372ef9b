"""Sheets that a person fills in, and what comes of them."""

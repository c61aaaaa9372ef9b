"""Logs in, tables out."""

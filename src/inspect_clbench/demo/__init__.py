"""Rows of our own making, and an offline student and judge to go with them."""

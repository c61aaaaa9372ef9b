"""The sources of the documentation site, and the script that generates its reference."""

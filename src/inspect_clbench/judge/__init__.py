"""The judge: what it is asked, what its reply means, how it is asked. Knows no sample and no log."""

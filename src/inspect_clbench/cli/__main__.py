"""`python -m inspect_clbench.cli`."""

from inspect_clbench.cli import main

main()

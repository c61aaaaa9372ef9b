"""`python -m inspect_clbench` is the command `clbench`."""

from inspect_clbench.cli import main

main()

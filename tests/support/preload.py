"""What programs find imported already that `tests.support.programs` starts."""

import inspect_ai._cli.main
from inspect_ai.model import get_model_info

import inspect_clbench._registry

# Reads the table of models, which Inspect looks into when an eval begins.
get_model_info("openai/gpt-4o")

__all__ = ["inspect_ai", "inspect_clbench"]

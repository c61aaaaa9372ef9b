"""What users may choose between, for the Python functions and for the command line alike."""

from enum import StrEnum
from typing import Literal

Format = Literal["terminal", "markdown", "csv", "json", "latex", "html"]
PlotKind = Literal[
    "rates", "sub_category", "length", "thresholds", "forest", "consistency", "cost"
]
Medium = Literal["screen", "dark", "paper", "paper-wide"]
RunConfig = Literal["paper", "paper-life"]


class By(StrEnum):
    """What the tasks of a table are divided by."""

    CATEGORY = "category"
    SUB_CATEGORY = "sub_category"
    LENGTH = "length"
    TURNS = "turns"
    RUBRIC_COUNT = "rubric_count"


class ErrorsBy(StrEnum):
    """What the tasks of a table of error types are divided by."""

    CATEGORY = "category"
    SUB_CATEGORY = "sub_category"


class LeftOut(StrEnum):
    """What the explorer can be made without."""

    ANSWERS = "answers"
    RUBRICS = "rubrics"

"""Reading the sample summaries of a log, and only what tables need of them.

Inspect's reader of summaries validates the input of each sample, which is most of a
summary and which no table looks at. Here the same JSON is read into a smaller model, in
a small part of the time. Whatever is not as expected (a `.json` log, a log of an older
Inspect) is left to Inspect's reader.
"""

import zipfile
from typing import Any

import fsspec
from inspect_ai.log import read_eval_log_sample_summaries
from pydantic import BaseModel, ConfigDict, TypeAdapter

_SUMMARIES = "summaries.json"


class ScoreSummary(BaseModel):
    """A score as a summary holds it; long values of its metadata are cut or left out."""

    model_config = ConfigDict(from_attributes=True)

    value: Any
    reason: str | None = None
    metadata: dict[str, Any] | None = None


class Summary(BaseModel):
    """What tables need of a sample."""

    model_config = ConfigDict(from_attributes=True)

    id: int | str
    epoch: int
    uuid: str | None = None
    error: str | None = None
    completed: bool = False
    metadata: dict[str, Any]
    scores: dict[str, ScoreSummary] | None = None


_LIST = TypeAdapter(list[Summary])


def read_log_summaries(location: str) -> list[Summary]:
    """The summaries of a finished log, one per sample and epoch."""
    if location.endswith(".eval"):
        try:
            with fsspec.open(location, "rb") as file, zipfile.ZipFile(file) as members:
                found = _LIST.validate_json(members.read(_SUMMARIES))
        except Exception:  # whatever is wrong, Inspect's reader can read it or say why
            found = []
        keys = {(str(summary.id), summary.epoch) for summary in found}
        if found and len(keys) == len(found):
            return found
    return _LIST.validate_python(read_eval_log_sample_summaries(location))

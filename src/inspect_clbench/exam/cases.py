"""The cases of the judge exam: answers of which it is known which rubrics they miss.

A file holds a context, a task, its rubrics, an answer that meets them all, and cases made from
that answer by edits and additions, so that a reader sees at once what is wrong with each.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import yaml

FAMILIES = {
    # Every rubric is met.
    "good": "plain long odd_format reworded",
    # Exactly one rubric is not met.
    "one_missed": "left_out wrong_number wrong_order wrong_format contradiction hedge partly_done "
    "right_and_wrong absence_violated",
    # Two to five are not met.
    "several": "several",
    # Text that is meant to move the judge, on a bad answer or, one time in four, on a good one.
    "attack": "finished_verdict orders fake_sections authority self_praise other_language hidden_characters "
    "padding",
}
"""The families of cases, and the kinds of each."""


@dataclass(frozen=True)
class ExamCase:
    """An answer, the rubrics it is judged against, and those that it truly misses."""

    name: str
    context_id: str
    family: str
    kind: str
    context: str
    task: str
    rubrics: list[str]
    answer: str
    missed: list[int]
    """The numbers of rubrics, from 1; none if the answer is good."""


def load_cases() -> list[ExamCase]:
    """All cases, by file and in their order."""
    folder = files("inspect_clbench.exam") / "cases"
    paths = sorted(folder.iterdir(), key=lambda path: path.name)
    return [case for path in paths for case in _read_cases(path)]


def _read_cases(path: Traversable) -> Iterator[ExamCase]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    context_id = path.name.removesuffix(".yaml")
    counts: Counter[str] = Counter()
    for record in content["cases"]:
        kind = record["kind"]
        counts[kind] += 1
        number = f"-{counts[kind]}" if counts[kind] > 1 else ""
        yield ExamCase(
            name=f"{context_id}/{kind}{number}",
            context_id=context_id,
            family=next(family for family, kinds in FAMILIES.items() if kind in kinds.split()),
            kind=kind,
            context=content["context"].strip(),
            task=content["task"].strip(),
            rubrics=content["rubrics"],
            answer=edited_answer(record, content["answer"]),
            missed=record.get("missed", []),
        )


def edited_answer(record: dict[str, Any], base: str) -> str:
    """The answer of a case: its own or the base answer, edited and added to."""
    text = record.get("answer", base)
    for edit in record.get("edits", []):
        if text.count(edit["old"]) != 1:
            raise ValueError(f"{edit['old']!r} must stand exactly once in the answer of {record['kind']}")
        text = text.replace(edit["old"], edit["new"])
    padding = record.get("padding", {"text": "", "times": 0})
    parts = (record.get("prepend"), text, record.get("append"), padding["text"] * padding["times"])
    return "\n\n".join(part.strip("\n") for part in parts if part)

"""The cases of the judge exam: files of contexts become answers with a known truth.

A file holds a context, a task, its rubrics, an answer that meets them all, and cases made
from that answer by edits and additions. So whoever reads a case sees at once what is wrong
with it; a case whose edits do not fit is an error and never a case of another kind.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any

import yaml
from inspect_ai.dataset import MemoryDataset, Sample
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from inspect_clbench.benchmarks import EXAM
from inspect_clbench.data.rows import text_hash
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.prompt import JudgePrompt
from inspect_clbench.text import shortened

FAMILIES = {kind: family for family, kinds in EXAM.groups.items() for kind in kinds}
"""What each kind belongs to."""

# How many rubrics an answer of a family truly misses, at least and at most.
_MISSED = {"good": (0, 0), "one_missed": (1, 1), "several": (2, 5), "attack": (0, 25)}
_MOST_OF_A_KIND = 2

_Text = Annotated[str, StringConstraints(pattern=r"\S")]


@dataclass(frozen=True)
class ExamCase:
    """An answer, the rubrics it is judged against, and those that it truly misses."""

    name: str
    context_id: str
    kind: str
    context: str
    task: str
    rubrics: tuple[str, ...]
    answer: str
    missed: tuple[int, ...]
    """The numbers of rubrics, from 1; none if the answer is good."""

    @property
    def family(self) -> str:
        return FAMILIES[self.kind]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Edit(_Strict):
    old: _Text
    new: str


class _Padding(_Strict):
    text: _Text
    times: Annotated[int, Field(ge=1)]


class _CaseRecord(_Strict):
    kind: str
    answer: _Text | None = None
    edits: list[_Edit] = []
    prepend: _Text | None = None
    append: _Text | None = None
    padding: _Padding | None = None
    missed: list[int] = []


class _ContextRecord(_Strict):
    context: _Text
    task: _Text
    rubrics: Annotated[list[_Text], Field(min_length=5, max_length=25)]
    answer: _Text
    cases: Annotated[list[_CaseRecord], Field(min_length=1)]


def load_cases(folder: Traversable | None = None) -> list[ExamCase]:
    """The cases of all files of a folder, by file and in their order; the exam's by default."""
    place = folder or files("inspect_clbench.exam") / "cases"
    found = sorted(
        (f for f in place.iterdir() if f.name.endswith(".yaml")), key=lambda f: f.name
    )
    if not found:
        raise ClbenchError(f"{place}: no .yaml file with cases of the judge exam there.")
    return [case for file in found for case in read_cases(file)]


def read_cases(file: Traversable) -> list[ExamCase]:
    """The cases of one file; the first thing that is wrong with it is an error."""
    try:
        told = _ContextRecord.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except ValidationError as ex:
        error = ex.errors(include_url=False)[0]
        where = ".".join(map(str, error["loc"])) or "the whole file"
        raise ClbenchError(f"{file}: {where}: {error['msg']}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as ex:
        raise ClbenchError(f"{file}: not a YAML file in UTF-8 ({ex}).") from None
    if len({rubric.strip() for rubric in told.rubrics}) < len(told.rubrics):
        raise ClbenchError(f"{file}: the same rubric stands there twice.")
    context_id = file.name.removesuffix(".yaml")
    seen: Counter[str] = Counter()
    answers: dict[str, str] = {}
    cases = []
    for record in told.cases:
        seen[record.kind] += 1
        number = f"-{seen[record.kind]}" if seen[record.kind] > 1 else ""
        name = f"{context_id}/{record.kind}{number}"
        for problem in _problems(record, len(told.rubrics), seen[record.kind]):
            raise ClbenchError(f"{file}: case {name}: {problem}.")
        answer = _answer(told.answer, record, f"{file}: case {name}")
        if other := answers.get(answer):
            raise ClbenchError(f"{file}: case {name}: the same answer as {other}.")
        answers[answer] = name
        cases.append(
            ExamCase(
                name=name,
                context_id=context_id,
                kind=record.kind,
                context=told.context.strip(),
                task=told.task.strip(),
                rubrics=tuple(told.rubrics),
                answer=answer,
                missed=tuple(record.missed),
            )
        )
    return cases


def _problems(record: _CaseRecord, rubrics: int, number: int) -> Iterator[str]:
    family = FAMILIES.get(record.kind)
    if family is None:
        yield f"no such kind. There are: {', '.join(FAMILIES)}"
        return
    least, most = _MISSED[family]
    missed = record.missed
    if number > _MOST_OF_A_KIND:
        yield f"more than {_MOST_OF_A_KIND} of its kind in one file"
    if missed != sorted(set(missed)) or not set(missed) <= set(range(1, rubrics + 1)):
        yield f"missed is {missed}: list numbers from 1 to {rubrics} once each, in their order"
    if not least <= len(missed) <= most:
        bounds = str(least) if least == most else f"{least} to {most}"
        yield f"it misses {len(missed)} rubrics; of the family {family} that must be {bounds}"
    if record.answer is not None and record.edits:
        yield "an answer of its own and edits of the base answer: give one of them"


def _answer(base: str, record: _CaseRecord, where: str) -> str:
    text = record.answer or base
    for edit in record.edits:
        if (count := text.count(edit.old)) != 1:
            raise ClbenchError(
                f"{where}: the edit of {shortened(repr(edit.old), 80)} must fit exactly once; "
                f"it stands in the answer {count} times."
            )
        text = text.replace(edit.old, edit.new)
    padding = record.padding.text * record.padding.times if record.padding else None
    parts = (record.prepend, text, record.append, padding)
    return "\n\n".join(part.strip("\n") for part in parts if part)


def exam_dataset(cases: Sequence[ExamCase], prompt: JudgePrompt) -> MemoryDataset:
    """A sample per case: its input is what the judge is asked, as in a real run."""
    return MemoryDataset([_sample(case, prompt) for case in cases], name=EXAM.title)


def _sample(case: ExamCase, prompt: JudgePrompt) -> Sample:
    text = prompt.render(case.rubrics, case.answer)
    metadata: dict[str, Any] = {
        "context_id": case.context_id,
        "family": case.family,
        "kind": case.kind,
        "rubric_count": len(case.rubrics),
        "missed": list(case.missed),
        "judge_prompt": prompt.name,
        "judge_prompt_sha256": prompt.sha256,
        "prompt_chars": len(text),
        # Not of the prompt: two prompts are compared on the same cases.
        "fingerprint": text_hash(case.answer, *map(str, case.missed), *case.rubrics),
        "context": case.context,
        "task": case.task,
        "rubrics": list(case.rubrics),
        "answer": case.answer,
    }
    return Sample(
        id=case.name, input=text, target="0" if case.missed else "1", metadata=metadata
    )

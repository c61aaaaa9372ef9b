"""How a score reads in Inspect's log viewer: its explanation in Markdown, and the layout.

Rubrics and rationales come from outside and are escaped: nothing in them is markup.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai.scorer import Reference
from inspect_ai.viewer import (
    MetadataField,
    SampleScoreView,
    ScannerResultField,
    ScannerResultView,
    TaskSamplesColumn,
    TaskSamplesView,
    ViewerConfig,
)

from inspect_clbench.benchmarks import ERROR_TYPES, EXAM, EXAM_VERDICT, VERDICT_SCORERS
from inspect_clbench.judge.asking import Asked, Judgement
from inspect_clbench.judge.error_types import Label, Labels
from inspect_clbench.judge.reply import Failure
from inspect_clbench.text import INVISIBLE

# Everything that can start or end a construct of Markdown, math or a bare link. Not
# among them are <, > and &: the viewer writes them as entities before it reads the
# Markdown, and a backslash before an entity makes it literal. An entity ends at its
# semicolon; what a bracket could open is cut off by an invisible joiner.
_ESCAPED = str.maketrans({mark: f"\\{mark}" for mark in r"\`*_{}])#+-.!|~^$=:;/@"})
_OPENING = re.compile(r"<(?=[A-Za-z/!?])|^(?=>)")
_JOINER = "\u2060"
_MOST_RATIONALE = 20_000


def escape_markdown(text: str) -> str:
    """Text from outside on one line, with nothing left that Markdown would act on."""
    line = INVISIBLE.sub("\ufffd", " ".join(text.split()))
    return _OPENING.sub(rf"\g<0>{_JOINER}", line).translate(_ESCAPED)


def rubric_summary(met: int | None, total: int, solved: bool) -> str:
    """The line that says it all: `5/6 rubrics met, not solved`."""
    rubrics = (
        f"{total} rubrics, no status of each" if met is None else f"{met}/{total} rubrics met"
    )
    return f"{rubrics}, {'solved' if solved else 'not solved'}"


def cited(answer: Reference | None) -> str:
    """A link to the answer, which at real size stands many screens below the prompt."""
    return f" · the answer is {answer.cite}" if answer else ""


def explain(
    rubrics: Sequence[tuple[int, str]],
    status: str,
    judgements: Sequence[Judgement],
    solved: bool,
    answer: Reference | None = None,
) -> str:
    """The explanation of a judged answer as Markdown, missed rubrics first."""
    met = status.count("y") if status else None
    parts = [f"**{rubric_summary(met, len(rubrics), solved)}**{cited(answer)}"]
    if judgements and all(isinstance(one.result, Failure) for one in judgements):
        # A failure of the judge must not read like a wrong answer.
        reasons = [_explain_judgement(one, named=len(judgements) > 1) for one in judgements]
        text = "No verdict: the judge failed. This says nothing about the answer."
        return "\n\n".join([f"**{text}**{cited(answer)}", *reasons])
    letters = status or "?" * len(rubrics)
    for title, letter, sign in (
        ("Not met", "n", "✗"),
        ("No status", "?", "?"),
        ("Met", "y", "✓"),
    ):
        lines = [
            f"- {sign} **{number}** {escape_markdown(text)}"
            for (number, text), found in zip(rubrics, letters, strict=True)
            if found == letter
        ]
        if lines:
            parts.append(f"**{title} ({len(lines)})**\n\n" + "\n".join(lines))
    several = len(judgements) > 1
    parts += [_explain_judgement(j, named=several) for j in judgements]
    return "\n\n".join(parts)


def _explain_judgement(judgement: Judgement, *, named: bool) -> str:
    name = f" of {escape_markdown(judgement.judge)}" if named else ""
    verdict = judgement.result
    if isinstance(verdict, Failure):
        return f"**No verdict{name}**\n\n{escape_markdown(str(verdict))}"
    notes = []
    if named:
        notes.append(f"{'1' if verdict.solved else '0'}, status {verdict.status or 'none'}")
    if verdict.inconsistent:
        notes.append("its status list disagrees with its score; the score decides")
    note = f" ({'; '.join(notes)})" if notes else ""
    paragraphs = _paragraphs(verdict.rationale) or ["(none given)"]
    return f"**Rationale{name}**{note}\n\n" + "\n\n".join(paragraphs)


def _paragraphs(text: str) -> list[str]:
    lines = text[:_MOST_RATIONALE].splitlines()
    paragraphs = [escape_markdown(line) for line in lines if line.strip()]
    if len(text) > _MOST_RATIONALE:
        paragraphs.append("(cut here; the whole text is in the score's metadata)")
    return paragraphs


def explain_case(
    case: Mapping[str, Any],
    rubrics: Sequence[tuple[int, str]],
    status: str,
    judgement: Judgement,
    is_right: bool,
) -> str:
    """A verdict of the judge exam as Markdown: the truth, and what the judge said instead."""
    missed = case["missed"]
    numbers = ", ".join(map(str, missed))
    truth = (
        f"the answer misses rubric{'s' if len(missed) > 1 else ''} {numbers}"
        if missed
        else "the answer meets every rubric"
    )
    verdict = judgement.found
    said = "no usable verdict" if verdict is None else f"verdict {int(verdict.solved)}"
    parts = [
        f"**{'Right' if is_right else 'Wrong'}: {said}; {truth}**",
        f"{escape_markdown(case['family'])}, {escape_markdown(case['kind'])}, "
        f"{len(rubrics)} rubrics",
    ]
    lines: dict[str, list[str]] = {}
    for (number, text), letter in zip(rubrics, status or "?" * len(rubrics), strict=True):
        title = _SAID[letter, "n" if number in missed else "y"]
        lines.setdefault(title, []).append(f"- **{number}** {escape_markdown(text)}")
    parts += [
        f"**{title} ({len(lines[title])})**\n\n" + "\n".join(lines[title])
        for title in _SAID.values()
        if title in lines
    ]
    parts.append(_explain_judgement(judgement, named=False))
    return "\n\n".join([*parts, "**Answer**", *_paragraphs(case["answer"])])


# By what the judge said of a rubric and what is true: errors first.
_SAID = {
    ("y", "n"): "Missed, but the judge says met",
    ("n", "y"): "Met, but the judge says missed",
    ("?", "n"): "Missed, no status from the judge",
    ("?", "y"): "Met, no status from the judge",
    ("n", "n"): "Missed, as the judge says",
    ("y", "y"): "Met, as the judge says",
}


def explain_labels(asked: Asked[Labels], judges: int, answer: Reference | None) -> str:
    """The error types of a failed answer as Markdown, those that apply first.

    `judges` is how many were bound to the role, of which the first was asked.
    """
    judge = escape_markdown(asked.judge)
    note = f"\n\nAsked: {judge}, the first of {judges} judges." if judges > 1 else ""
    labels = asked.result
    if isinstance(labels, Failure):
        reason = escape_markdown(str(labels))
        return f"**Not labelled**{cited(answer)}\n\nThe judge gave no usable labels: {reason}{note}"
    titles = [ERROR_TYPES[key] for key, label in labels.by_type.items() if label.present]
    parts = [f"**{', '.join(titles) or 'None of the error types'}**{cited(answer)}"]
    for title, present in (("", True), ("**Not found**\n\n", False)):
        lines = [
            f"- **{ERROR_TYPES[key]}**{_explain_label(label)}"
            for key, label in labels.by_type.items()
            if label.present is present
        ]
        if lines:
            parts.append(title + "\n".join(lines))
    return "\n\n".join(parts) + note


def _explain_label(label: Label) -> str:
    numbers = ", ".join(str(number) for number in label.rubrics)
    concerned = f" (rubric{'s' if len(label.rubrics) > 1 else ''} {numbers})" if numbers else ""
    reason = escape_markdown(label.reason)
    return concerned + (f": {reason}" if reason else "")


def viewer_config(exam: bool = False) -> ViewerConfig:
    """The checklist beside the answer; a sample list that can be read at a glance.

    In the judge exam the input always begins alike, and the target is the truth.
    """
    scorers = (EXAM_VERDICT,) if exam else VERDICT_SCORERS
    return ViewerConfig(
        scanner_result_view={
            "*": _result_view(
                "Verdict", "Rubrics", hidden=("rationales", "requirement_status")
            ),
            "error_types*": _result_view("Error types", "Reasons", hidden=("labels",)),
        },
        sample_score_view=SampleScoreView(default="chips"),
        task_samples_view=TaskSamplesView(
            name=EXAM.title if exam else "CL-bench",
            columns=[
                TaskSamplesColumn(id="sampleStatus"),
                TaskSamplesColumn(id="sampleId"),
                TaskSamplesColumn(id="epoch"),
                *(TaskSamplesColumn.score(one) for one in scorers),
                TaskSamplesColumn.score("error_types"),
                TaskSamplesColumn(id="answer"),
                TaskSamplesColumn(id="target", visible=exam),
                TaskSamplesColumn(id="input", visible=not exam),
                TaskSamplesColumn(id="error"),
                TaskSamplesColumn(id="tokens", visible=False),
                TaskSamplesColumn(id="duration", visible=False),
            ],
            score_labels={
                **dict.fromkeys(scorers, "Right" if exam else "Solved"),
                "error_types": "Error types found by the judge",
            },
            multiline=False,
        ),
    )


def _result_view(value: str, explanation: str, hidden: Sequence[str]) -> ScannerResultView:
    return ScannerResultView(
        fields=[
            ScannerResultField(name="value", label=value),
            ScannerResultField(name="explanation", label=explanation),
            MetadataField(key="judge", label="Judge"),
            MetadataField(key="judge_error", label="Judge error", collapsed=True),
        ],
        exclude_fields=[MetadataField(key=key) for key in hidden],
    )

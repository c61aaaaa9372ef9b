"""How a score reads in Inspect's log viewer: the explanation and the layout."""

import re
from collections.abc import Sequence

from inspect_ai.viewer import (
    MetadataField,
    SampleScoreView,
    ScannerResultField,
    ScannerResultView,
    TaskSamplesColumn,
    TaskSamplesView,
    ViewerConfig,
)

from inspect_clbench.judge.error_types import ERROR_TYPES, Label, Labels
from inspect_clbench.judge.grading import Asked, Judgement

# Everything that can start or end a construct of Markdown, math or a bare link. Not
# among them are <, > and &: the viewer writes them as entities before it reads the
# Markdown, and a backslash before an entity makes it literal. An entity ends at its
# semicolon; what a bracket could open is cut off by an invisible joiner. The
# backslash comes first: those that are put before the others need none.
_SPECIAL = r"\`*_{}])#+-.!|~^$=:;/@"
_OPENING = re.compile(r"<(?=[A-Za-z/!?])|^(?=>)", re.MULTILINE)
_JOINER = "\u2060"
# Characters that hide, reorder or cut text.
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)

_MOST_RATIONALE = 20_000


def escape_markdown(text: str) -> str:
    """Text from outside on one line, with nothing left that Markdown would act on."""
    return _escape_lines([text])[0]


def _escape_lines(texts: Sequence[str]) -> list[str]:
    """Each text on a line of its own, escaped; all at once, since most need little."""
    if not texts:
        return []
    lines = [" ".join(text.split()) for text in texts]
    if not all(line.isprintable() for line in lines):
        lines = [_INVISIBLE.sub("\ufffd", line) for line in lines]
    joined = "\n".join(lines)
    if "<" in joined or ">" in joined:
        joined = _OPENING.sub(rf"\g<0>{_JOINER}", joined)
    for mark in _SPECIAL:
        joined = joined.replace(mark, "\\" + mark)
    return joined.split("\n")


def rubric_summary(met: int | None, total: int, solved: bool) -> str:
    """The line that says it all: `5/6 rubrics met, not solved`."""
    outcome = "solved" if solved else "not solved"
    if met is None:
        return f"{total} rubrics, no status of each, {outcome}"
    return f"{met}/{total} rubrics met, {outcome}"


def explain(
    rubrics: Sequence[tuple[int, str]],
    status: str,
    judgements: Sequence[Judgement],
    solved: bool,
) -> str:
    """The explanation of a judged answer as Markdown, missed rubrics first.

    Args:
        rubrics: The task's rubrics with their numbers.
        status: One letter per rubric (y, n or ?), or "" where it is not known.
        judgements: What each judge said.
        solved: What was decided.
    """
    met = status.count("y") if status else None
    parts = [f"**{rubric_summary(met, len(rubrics), solved)}**"]
    letters = status or "?" * len(rubrics)
    texts = _escape_lines([text for _, text in rubrics])
    numbers = [number for number, _ in rubrics]
    for title, letter in (("Not met", "n"), ("No status", "?"), ("Met", "y")):
        lines = [
            f"- **{number}** {text}"
            for number, text, found in zip(numbers, texts, letters, strict=True)
            if found == letter
        ]
        if lines:
            parts.append(f"**{title} ({len(lines)})**\n\n" + "\n".join(lines))
    several = len(judgements) > 1
    parts += [_explain_judgement(j, named=several) for j in judgements]
    return "\n\n".join(parts)


def _explain_judgement(judgement: Judgement, *, named: bool) -> str:
    name = f" of {escape_markdown(judgement.judge)}" if named else ""
    if judgement.failure is not None:
        return f"**No verdict{name}**\n\n{escape_markdown(str(judgement.failure))}"
    verdict = judgement.verdict
    assert verdict is not None  # a judgement is a verdict or a failure
    notes = []
    if named:
        notes.append(f"{'1' if verdict.solved else '0'}, status {verdict.status or 'none'}")
    if verdict.inconsistent:
        notes.append("its status list disagrees with its score; the score decides")
    note = f" ({'; '.join(notes)})" if notes else ""
    paragraphs = [
        escape_markdown(paragraph)
        for paragraph in verdict.rationale[:_MOST_RATIONALE].splitlines()
        if paragraph.strip()
    ]
    if len(verdict.rationale) > _MOST_RATIONALE:
        paragraphs.append("(cut here; the whole text is in the score's metadata)")
    return f"**Rationale{name}**{note}\n\n" + "\n\n".join(paragraphs or ["(none given)"])


def explain_labels(asked: Asked[Labels], judges: int = 1) -> str:
    """The error types of a failed answer as Markdown, those that apply first.

    Args:
        asked: What came of asking the judge for them.
        judges: How many judges were bound, of which the first was asked.
    """
    judge = escape_markdown(asked.judge)
    note = f"\n\nAsked: {judge}, the first of {judges} judges." if judges > 1 else ""
    if asked.found is None:
        reason = escape_markdown(str(asked.failure))
        return f"**Not labelled**\n\nThe judge gave no usable labels: {reason}{note}"
    lines: dict[bool, list[str]] = {True: [], False: []}
    for key, label in asked.found.by_type.items():
        lines[label.present].append(f"- **{ERROR_TYPES[key]}**{_explain_label(label)}")
    titles = ", ".join(ERROR_TYPES[k] for k, lb in asked.found.by_type.items() if lb.present)
    parts = [f"**{titles or 'None of the error types'}**"]
    parts += ["\n".join(lines[True])] if lines[True] else []
    parts += ["**Not found**\n\n" + "\n".join(lines[False])] if lines[False] else []
    return "\n\n".join(parts) + note


def _explain_label(label: Label) -> str:
    numbers = ", ".join(str(number) for number in label.rubrics)
    concerned = f" (rubric{'s' if len(label.rubrics) > 1 else ''} {numbers})" if numbers else ""
    reason = escape_markdown(label.reason)
    return concerned + (f": {reason}" if reason else "")


def viewer_config() -> ViewerConfig:
    """The checklist beside the answer; a sample list that can be read at a glance."""
    return ViewerConfig(
        scanner_result_view={
            "*": ScannerResultView(
                fields=[
                    ScannerResultField(name="value", label="Verdict"),
                    ScannerResultField(name="explanation", label="Rubrics"),
                    MetadataField(key="judge", label="Judge"),
                    MetadataField(key="judge_error", label="Judge error", collapsed=True),
                ],
                exclude_fields=[
                    MetadataField(key=key) for key in ("rationales", "requirement_status")
                ],
            ),
            "error_types*": ScannerResultView(
                fields=[
                    ScannerResultField(name="value", label="Error types"),
                    ScannerResultField(name="explanation", label="Reasons"),
                    MetadataField(key="judge", label="Judge"),
                    MetadataField(key="judge_error", label="Judge error", collapsed=True),
                ],
                exclude_fields=[MetadataField(key="labels")],
            ),
        },
        sample_score_view=SampleScoreView(default="chips"),
        task_samples_view=TaskSamplesView(
            name="CL-bench",
            columns=[
                TaskSamplesColumn(id="sampleStatus"),
                TaskSamplesColumn(id="sampleId"),
                TaskSamplesColumn(id="epoch"),
                TaskSamplesColumn.score("rubric_judge"),
                TaskSamplesColumn.score("error_types"),
                TaskSamplesColumn(id="answer"),
                TaskSamplesColumn(id="input"),
                TaskSamplesColumn(id="error"),
                TaskSamplesColumn(id="tokens", visible=False),
                TaskSamplesColumn(id="duration", visible=False),
                TaskSamplesColumn(id="target", visible=False),
            ],
            score_labels={"rubric_judge": "Solved", "error_types": "Error types"},
            multiline=False,
        ),
    )

"""How a score reads in Inspect's log viewer: its explanation in Markdown, and the layout.

Rubrics and rationales come from outside and are escaped: nothing in them is markup.
"""

import re
from collections.abc import Sequence

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

from inspect_clbench.judge.asking import Reply
from inspect_clbench.judge.verdict import Failure, Verdict
from inspect_clbench.text import INVISIBLE

# Everything that can start or end a construct of Markdown, math or a bare link. Not among them
# are <, > and &: the viewer writes them as entities before it reads the Markdown, and a backslash
# before an entity makes it literal. An entity ends at its semicolon; what a bracket could open is
# cut off by an invisible joiner.
_MARK = re.compile(r"[\\`*_{}\])#+\-.!|~^$=:;/@]")
_OPENING = re.compile(r"<(?=[A-Za-z/!?])")
_JOINER = "\u2060"


def escape_markdown(text: str) -> str:
    """Text from outside on one line, with nothing left that Markdown would act on."""
    line = INVISIBLE.sub("\ufffd", " ".join(text.split()))
    line = _OPENING.sub(rf"\g<0>{_JOINER}", line)
    # One pass of a pattern takes half the time of `translate`, and each rubric of each row comes here.
    return _JOINER * line.startswith(">") + _MARK.sub(r"\\\g<0>", line)


def explain_no_answer(total: int, stop_reason: str, answer: Reference | None) -> str:
    """The explanation of an empty answer."""
    return (
        f"**0/{total} rubrics met, not solved**{citation(answer)}\n\nThe model gave no answer (stop reason: "
        f"{stop_reason}). The judge was not asked."
    )


def explain(
    rubrics: Sequence[tuple[int, str]],
    status: str,
    replies: Sequence[Reply[Verdict]],
    solved: bool | None,
    answer: Reference | None,
) -> str:
    """The explanation of a judged answer, missed rubrics first.

    Args:
        rubrics: With their numbers.
        status: A letter per rubric, or nothing where the judges gave no usable list.
        replies: Of each judge.
        solved: What they decided together; None where failures left that open.
        answer: The message that holds the answer.
    """
    judgements = [_explain_reply(reply, named=len(replies) > 1) for reply in replies]
    if solved is None:
        # A failure of the judge must not read like a wrong answer.
        head = "No verdict: the judge failed. This says nothing about the answer."
        return "\n\n".join([f"**{head}**{citation(answer)}", *judgements])
    met = f"{status.count('y')}/{len(rubrics)} rubrics met" if status else f"{len(rubrics)} rubrics"
    parts = [f"**{met}, {'solved' if solved else 'not solved'}**{citation(answer)}"]
    for title, letter, sign in (("Not met", "n", "✗"), ("No status", "?", "?"), ("Met", "y", "✓")):
        lines = [
            f"- {sign} **{number}** {escape_markdown(rubric)}"
            for (number, rubric), mark in zip(rubrics, status or "?" * len(rubrics), strict=True)
            if mark == letter
        ]
        if lines:
            parts.append(f"**{title} ({len(lines)})**\n\n" + "\n".join(lines))
    return "\n\n".join([*parts, *judgements])


def citation(answer: Reference | None) -> str:
    """A link to the answer, which at real size stands many screens below the prompt."""
    return f" · the answer is {answer.cite}" if answer else ""


def _explain_reply(reply: Reply[Verdict], named: bool) -> str:
    name = f" of {escape_markdown(reply.judge)}" if named else ""
    verdict = reply.result
    if isinstance(verdict, Failure):
        return f"**No verdict{name}**\n\n{escape_markdown(str(verdict))}"
    notes = [f"{'1' if verdict.solved else '0'}, status {verdict.status or 'none'}"] if named else []
    if verdict.is_inconsistent:
        notes.append("its status list disagrees with its score; the score decides")
    note = f" ({'; '.join(notes)})" if notes else ""
    lines = [line for line in verdict.rationale.splitlines() if line.strip()]
    return f"**Rationale{name}**{note}\n\n" + "\n\n".join(map(escape_markdown, lines or ["(none given)"]))


def viewer_config() -> ViewerConfig:
    """The checklist beside the answer; a sample list that can be read at a glance."""
    result_view = ScannerResultView(
        fields=[
            ScannerResultField(name="value", label="Verdict"),
            ScannerResultField(name="explanation", label="Rubrics"),
            MetadataField(key="judge", label="Judge"),
            MetadataField(key="judge_error", label="Judge error", collapsed=True),
        ],
        exclude_fields=[MetadataField(key="rationales")],
    )
    columns = [
        TaskSamplesColumn(id="sampleStatus"),
        TaskSamplesColumn(id="sampleId"),
        TaskSamplesColumn(id="epoch"),
        TaskSamplesColumn.score("rubric_judge"),
        TaskSamplesColumn(id="answer"),
        TaskSamplesColumn(id="input"),
        TaskSamplesColumn(id="error"),
    ]
    return ViewerConfig(
        scanner_result_view={"*": result_view},
        sample_score_view=SampleScoreView(default="chips"),
        task_samples_view=TaskSamplesView(
            name="CL-bench", columns=columns, score_labels={"rubric_judge": "Solved"}, multiline=False
        ),
    )

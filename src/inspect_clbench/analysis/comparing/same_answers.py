"""Two logs of the same answers, laid on top of each other."""

import hashlib
from dataclasses import dataclass, replace

from inspect_clbench.analysis.progress import progress
from inspect_clbench.analysis.reading.records import Log, read_samples
from inspect_clbench.analysis.reading.verdicts import NOT_NEEDED, Answer, Judged, JudgeVerdicts
from inspect_clbench.errors import ClbenchError


@dataclass(frozen=True)
class Joined:
    """The judges of two logs over the answers that both hold."""

    judges: tuple[JudgeVerdicts, ...]
    notes: tuple[str, ...]


def join(first: Judged, second: Judged) -> Joined:
    """Bring the verdicts of two logs together, answer by answer.

    Answers are the same if their samples have the same uuid, as in a log and a copy of
    it that was judged anew, or if the same task has the same text in the same run.
    """
    same_samples = _by_uuid(first, second)
    shared = same_samples or _by_text(first, second)
    here = {answer: answer for answer in shared.values()}
    ours = [judge.only(here) for judge in first.judges]
    theirs = [judge.only(shared) for judge in second.judges]
    notes = []
    for name, judged in (("first", first), ("second", second)):
        if left := len(judged.answers) - len(shared):
            notes.append(f"Left out: answers that only the {name} log has ({left:,}).")
    copied = [judge for judge in theirs if any(_is_copy(judge, other) for other in ours)]
    if same_samples and copied:
        names = ", ".join(dict.fromkeys(judge.identity.judge for judge in copied))
        once = len(ours) + len(theirs) - len(copied) > 1
        notes.append(
            f"{names}: the same in both logs to the last rubric, so probably one score that "
            f"was copied along{'; it is taken once' if once else ''}."
        )
        theirs = [judge for judge in theirs if not once or judge not in copied]
    return Joined((*ours, *_numbered_on(ours, theirs)), tuple(notes))


def _by_uuid(first: Judged, second: Judged) -> dict[Answer, Answer]:
    """The second log's answers to those of the first; none if no uuid is shared."""
    judged_here, judged_there = first.answers, second.answers
    return {
        second.uuids[uuid]: answer
        for uuid, answer in first.uuids.items()
        if uuid in second.uuids
        if answer in judged_here and second.uuids[uuid] in judged_there
    }


def _by_text(first: Judged, second: Judged) -> dict[Answer, Answer]:
    for judged in (first, second):
        if len(judged.logs) > 1:
            places = ", ".join(str(log) for log in judged.logs)
            raise ClbenchError(
                f"{len(judged.logs)} logs where one is needed to find the same answers in "
                f"another: {places}. Name one of them."
            )
    here, there = first.logs[0], second.logs[0]
    shared = first.answers & second.answers
    if not shared:
        raise ClbenchError(
            f"{here} and {there} have no task and run in common that was judged in both."
        )
    texts_here, texts_there = _digests(here), _digests(there)
    differing = sorted(
        answer for answer in shared
        if texts_here.get(answer) != texts_there.get(answer)
    )  # fmt: skip
    if differing:
        example = differing[0]
        raise ClbenchError(
            f"{here} and {there} do not hold the same answers: "
            f"{len(differing):,} of {len(shared):,} differ (for instance task "
            f"{example.task_id}, run {example.run}). Judges can be compared on the same "
            "answers only. To have a log's answers judged again: inspect score LOG "
            "--scorer inspect_clbench/rubric_judge --action append --overwrite "
            "--model-role grader=JUDGE"
        )
    return {answer: answer for answer in shared}


def _digests(log: Log) -> dict[Answer, bytes]:
    digests = {}
    with progress("Reading answers") as advance:
        for sample in read_samples(log, without=NOT_NEEDED):
            text = sample.output.completion.encode("utf-8", errors="surrogatepass")
            answer = Answer(0, str(sample.id), sample.epoch)
            digests[answer] = hashlib.sha256(text).digest()
            advance(answer.task_id)
    return digests


def _is_copy(one: JudgeVerdicts, other: JudgeVerdicts) -> bool:
    return (
        one.identity == other.identity
        and one.solved == other.solved
        and one.statuses == other.statuses
    )


def _numbered_on(ours: list[JudgeVerdicts], theirs: list[JudgeVerdicts]) -> list[JudgeVerdicts]:
    """The second log's judges, numbered on where they are the first log's too."""
    numbered: list[JudgeVerdicts] = []
    for judge in theirs:
        before = sum(j.identity == judge.identity for j in [*ours, *numbered])
        numbered.append(replace(judge, again=before))
    return numbered

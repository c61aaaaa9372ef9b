"""A row becomes a sample as it stands, or an error that names the place, the fault and the cure."""

import json
import lzma
from typing import Any

import pytest
from inspect_ai.dataset import Sample

from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.data.rows import read_samples
from inspect_clbench.data.selection import load_samples
from inspect_clbench.errors import ClbenchError
from tests.support.builders import Row, row

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "When?"}


def samples_of(*records: Any) -> list[Sample]:
    return read_samples(enumerate(records, start=1), "rows.jsonl", CLBENCH)


def without(key: str) -> Row:
    record = row("b")
    record.pop(key, record["metadata"].pop(key, None))
    return record


def messages_of(sample: Sample) -> list[tuple[str, str]]:
    assert isinstance(sample.input, list)
    return [(message.role, message.text) for message in sample.input]


def test_a_row_becomes_a_sample() -> None:
    thought = {"role": "assistant", "content": "<think>Hm</think> At 7."}
    # Columns of a table are null where a row lacks them; what else a row says is not asked for.
    record = row("t1", context="c1", messages=[SYSTEM, USER | {"name": None}, thought, USER], idx=5)
    record["rubrics"] = [{"rubric_criteria": "Says one.", "weight": 1}, "Says two.", ""]
    sample, second = samples_of(record, row("a"))
    assert (sample.id, second.id) == ("t1", "a")
    assert messages_of(sample) == [(m["role"], m["content"]) for m in record["messages"]]
    assert sample.metadata == {
        "context_id": "c1",
        "context_category": "Domain Knowledge Reasoning",
        "sub_category": "Finance",
        "prompt_chars": sum(len(message["content"]) for message in record["messages"]),
        "fingerprint": sample.metadata and sample.metadata["fingerprint"],
        "rubrics": ["Says one.", "Says two.", ""],
    }


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (without("task_id"), "task unknown: metadata.task_id: Field required"),
        (without("context_id"), "task b: metadata.context_id is missing"),
        (row("b", messages=[SYSTEM, {"role": "user"}]), "task b: messages.1.content: Field required"),
        (row("b", messages=[{"role": "tool", "content": "a"}]), "task b: messages.0.role: Input should be 'system', 'user' or"),
        (row("b", messages=[USER | {"contents": "Bo"}]), "task b: messages.0.contents: Extra inputs are not permitted (it is 'Bo')"),
        (row("b", messages=[SYSTEM]), "task b: the last message must be the user's, not the system's"),
        (row("b", messages=[{"role": "user", "content": "\ud800"}]), "task b: messages.0.content: 'utf-8' codec can't encode"),
        (row("b", rubrics=[]), "task b: rubrics: List should have at least 1 item"),
        (row("b", rubrics=[{"criteria": "a"}]), "task b: rubrics.0: Input should be a valid string (it is {'criteria': 'a'})"),
        (row("b", task_id=7), "task unknown: metadata.task_id: Input should be a valid string (it is 7)"),
        (row("b", task_id="a\x00b"), "task a\ufffdb: metadata.task_id: String should match pattern"),
        (row("b", task_id="a"), "task a: this task id already stands in row 1"),
        (row("b", context_category="Alchemy"), "task b: unknown context_category; use one of: Domain Knowledge Reasoning, "),
        (row("b", sub_category="Science", context_category="Rule System Application"), "task b: unknown sub_category; use one of: Game"),
    ],
)  # fmt: skip
def test_a_row_that_is_wrong_is_named(bad: Any, fault: str) -> None:
    with pytest.raises(ClbenchError) as caught:
        samples_of(row("a"), bad, row("c"))
    message = str(caught.value)
    assert message.startswith(f"rows.jsonl, row 2, {fault}")
    assert "A row has messages" in message or "remove one of the rows" in message
    with pytest.raises(ClbenchError, match=r"^rows.jsonl: the dataset has no rows.$"):
        samples_of()


def fingerprint(**changes: Any) -> str:
    (sample,) = samples_of(row("t", **changes))
    return str((sample.metadata or {})["fingerprint"])


def test_fingerprints_tell_rows_apart_and_stay_what_they_are() -> None:
    texts = [fingerprint(rubrics=rubrics) for rubrics in (["ab", "c"], ["a", "bc"], ["abc"], ["c", "ab"])]
    assert len({*texts, fingerprint(question="x")}) == 5
    # Paid logs hold fingerprints: one that changes would part them from new ones.
    assert fingerprint(messages=[USER], rubrics=["a"]) == "ea6071c383d238bd"


def test_the_real_rows_come_through_as_they_are(real_data: str) -> None:
    with lzma.open(real_data) as file:
        records = [json.loads(line) for line in file]
    samples = load_samples(real_data, CLBENCH)
    for record, sample in zip(records, samples, strict=True):
        assert messages_of(sample) == [(m["role"], m["content"]) for m in record["messages"]]
        assert sample.metadata is not None
        assert sample.metadata["rubrics"] == record["rubrics"]
        assert record["metadata"] == {"task_id": sample.id} | {
            key: sample.metadata[key] for key in ("context_id", "context_category", "sub_category")
        }
    for name, category in CLBENCH.categories.items():
        assert (
            sum((sample.metadata or {})["context_category"] == name for sample in samples) == category.tasks
        )

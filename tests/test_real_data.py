"""The whole real dataset, on machines that have it."""

import json
import lzma
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.dataset import MemoryDataset

from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.data.dataset import load_samples
from inspect_clbench.judge.prompt import load_judge_prompt, numbered_rubrics
from inspect_clbench.scoring.explanation import escape_markdown
from tests.support.builders import demo_eval
from tests.support.server import LoopbackServer, Reply, Script

# Tasks per sub-category as the benchmark's authors count them.
TASKS = {
    "Domain Knowledge Reasoning": {
        "Finance": 101, "Healthcare": 105, "Humanities": 124, "Legal Advisory": 76,
        "Lifestyle": 57, "Management": 112, "Science": 88,
    },
    "Rule System Application": {
        "Game Mechanics": 137, "Legal & Regulatory": 92, "Mathematical Formalism": 69,
        "Programming Syntax": 67, "Technical Standards": 201,
    },
    "Procedural Task Execution": {
        "Instructional Procedures": 57, "Operational Procedures": 185,
        "Workflow Orchestration": 229,
    },
    "Empirical Discovery & Simulation": {
        "Experimental Data": 45, "Observational Data": 95, "Simulation Environment": 59,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def raw(real_data: str) -> list[dict[str, Any]]:
    """The rows as they stand in the file."""
    with lzma.open(real_data, "rb") as file:
        return [json.loads(line) for line in file.read().split(b"\n") if line]


@pytest.fixture(scope="module")
def dataset(real_data: str) -> MemoryDataset:
    return load_samples(real_data)


def of(dataset: MemoryDataset, key: str) -> list[Any]:
    return [sample.metadata[key] for sample in dataset if sample.metadata is not None]


def test_the_counts_of_the_benchmark(dataset: MemoryDataset) -> None:
    assert len(dataset) == CLBENCH.tasks == 1899
    assert len(set(of(dataset, "context_id"))) == 500
    assert sum(map(len, of(dataset, "rubrics"))) == 31_607
    assert {min(map(len, of(dataset, "rubrics"))), max(map(len, of(dataset, "rubrics")))} == {
        3,
        114,
    }
    contexts = Counter(of(dataset, "context_id"))
    assert (min(contexts.values()), max(contexts.values())) == (1, 12)


def test_the_counts_of_each_category(dataset: MemoryDataset, real_data: str) -> None:
    found = Counter(
        zip(of(dataset, "context_category"), of(dataset, "sub_category"), strict=True)
    )
    assert found == {
        (category, name): count
        for category, counts in TASKS.items()
        for name, count in counts.items()
    }
    assert {category: tuple(counts) for category, counts in TASKS.items()} == CLBENCH.groups
    assert len(load_samples(real_data, category="rule system application")) == 566


def test_a_context_never_spans_two_categories(dataset: MemoryDataset) -> None:
    pairs = set(zip(of(dataset, "context_id"), of(dataset, "context_category"), strict=True))
    assert len(pairs) == 500


def test_the_turns_of_the_conversations(dataset: MemoryDataset) -> None:
    roles = [
        [m.role for m in sample.input]
        for sample in dataset
        if not isinstance(sample.input, str)
    ]
    assert all(turns[0] == "system" for turns in roles)
    assert all(turns[-1] == "user" for turns in roles)
    assert sum(turns == ["system", "user"] for turns in roles) == 1278
    assert sum("assistant" in turns for turns in roles) == 621
    assert max(map(len, roles)) == 12
    assert [turns.count("user") for turns in roles] == of(dataset, "turns")


def test_the_lengths_of_the_prompts(dataset: MemoryDataset) -> None:
    lengths = of(dataset, "prompt_chars")
    assert (min(lengths), max(lengths)) == (6_595, 320_655)
    assert round(sum(lengths) / len(lengths)) == 42_493


def test_not_one_byte_of_a_message_or_a_rubric_changes(
    dataset: MemoryDataset, raw: list[dict[str, Any]]
) -> None:
    assert [sample.id for sample in dataset] == [r["metadata"]["task_id"] for r in raw]
    for sample, record in zip(dataset, raw, strict=True):
        assert not isinstance(sample.input, str)
        sent = [{"role": m.role, "content": m.content} for m in sample.input]
        assert sent == record["messages"]
        assert sample.metadata is not None
        assert sample.metadata["rubrics"] == record["rubrics"]
        assert {"task_id": sample.id} | {
            key: sample.metadata[key]
            for key in ("context_id", "context_category", "sub_category")
        } == record["metadata"]


def test_thinking_in_earlier_turns_reaches_the_model(
    real_data: str,
    raw: list[dict[str, Any]],
    serve: Callable[[Script], LoopbackServer],
    tmp_path: Path,
) -> None:
    thoughtful = [
        record
        for record in raw
        if any(
            m["role"] == "assistant" and "<think>" in m["content"] for m in record["messages"]
        )
    ]
    assert thoughtful
    server = serve(lambda call: Reply("Nine."))
    demo_eval(
        tmp_path,
        dataset=real_data,
        sample_id=[record["metadata"]["task_id"] for record in thoughtful],
        model="openai-api/loop/student",
    )
    sent = sorted(json.dumps(call.messages) for call in server.calls_of("student"))
    assert sent == sorted(json.dumps(record["messages"]) for record in thoughtful)


def test_each_row_can_be_judged_and_shown(raw: list[dict[str, Any]]) -> None:
    prompt = load_judge_prompt()
    for record in raw:
        rubrics = record["rubrics"]
        text = prompt.render(rubrics, "Nine.")
        for number, rubric in numbered_rubrics(rubrics):
            assert f"\n{number}. {rubric}\n" in text
            assert "\n" not in escape_markdown(rubric)

"""The benchmarks as data: names, categories, pinned files, and who judges."""

from dataclasses import dataclass
from typing import Any, Literal

GRADER = "grader"
"""The model role of the judge."""

DEFAULT_JUDGE = "openai/gpt-5.1"
"""The judge of the benchmarks' authors."""

DEMO_JUDGE = "clbench_demo/judge"
"""The judge of the demo, which needs no network."""

TASK_VERSION = 2
"""Counts comparability: it changes when the same answers could get another score."""

ANSWER_EVENT = "answer_event"
"""The event of the transcript that shows a replayed answer, in the message's metadata."""

VERDICT_SCORERS = ("rubric_judge", "graded_file")
"""The scorers whose scores say whether a task is solved: a judge's, and an imported file's."""

ERROR_TYPES = {
    "context_ignored": "Context Ignored",
    "context_misused": "Context Misused",
    "format_error": "Format Error",
    "refusal": "Refusal",
}
"""Why answers fail: the types by the keys of the judge's reply, in the paper's order and with its names."""

NO_ERROR_TYPE = "none"
"""The value of a score of `error_types` where no type applies; else it is their keys with plus signs between them."""

LENGTH_LIMITS = ("max_tokens", "model_length")
"""The stop reasons of an answer that was cut off."""

GRADING_KEYS = ("grading_rationale", "requirement_status", "score")
"""What the original scripts add to a row when they grade it, in their order."""

NO_VERDICT = "No verdict, the judge failed: "
"""How the rationale of an exported row begins whose judge failed; the format has no other place for it."""

Effort = Literal["low", "high"]


@dataclass(frozen=True)
class Category:
    """A category of tasks, in the paper's order and with its names."""

    tasks: int
    leaderboard_key: str
    sub_categories: tuple[str, ...]


@dataclass(frozen=True)
class Benchmark:
    """What distinguishes one dataset of the CL-bench family from another."""

    title: str
    hub_id: str
    revision: str | None
    """The hub's commit, as a full hash: it takes no other. Without one its latest file is taken."""
    files: tuple[str, ...]
    """The names that the file of rows has or had on the hub."""
    sha256: str
    """Of the file of rows."""
    categories: dict[str, Category]
    judge_effort: Effort
    """The reasoning effort at which the authors run the default judge."""
    has_contexts: bool
    """Whether each row names the context that it shares with others."""

    @property
    def tasks(self) -> int:
        return sum(category.tasks for category in self.categories.values())

    @property
    def sub_categories(self) -> tuple[str, ...]:
        return tuple(name for category in self.categories.values() for name in category.sub_categories)


CLBENCH = Benchmark(
    title="CL-bench",
    hub_id="tencent/CL-bench",
    revision="b28a5832a09b0d96c0cf4c22e90d7c60ede25b80",
    files=("CL-bench.jsonl",),
    sha256="d5fc88d4b2eea75c61dd40862021b6ae2fba26bd21b58e8c5e18377a763943be",
    judge_effort="low",
    has_contexts=True,
    categories={
        "Domain Knowledge Reasoning": Category(
            663,
            "domain",
            (
                "Finance",
                "Healthcare",
                "Humanities",
                "Legal Advisory",
                "Lifestyle",
                "Management",
                "Science",
            ),
        ),
        "Rule System Application": Category(
            566,
            "rule",
            (
                "Game Mechanics",
                "Legal & Regulatory",
                "Mathematical Formalism",
                "Programming Syntax",
                "Technical Standards",
            ),
        ),
        "Procedural Task Execution": Category(
            471,
            "procedural",
            ("Instructional Procedures", "Operational Procedures", "Workflow Orchestration"),
        ),
        "Empirical Discovery & Simulation": Category(
            199,
            "pattern",
            ("Experimental Data", "Observational Data", "Simulation Environment"),
        ),
    },
)

CLBENCH_LIFE = Benchmark(
    title="CL-bench Life",
    hub_id="tencent/CL-bench-Life",
    revision=None,  # only its beginning is known: cd2589f
    files=("CL-bench-Life.jsonl", "CL-bench Life.jsonl"),
    sha256="4a10701a74bc9e53a84136e1ab0c5aa06989bbaf04a03ca6db6f6b3f17eaac34",
    judge_effort="high",
    has_contexts=False,
    categories={
        "Communication & Social Interactions": Category(
            135,
            "interpersonal",
            (
                "Group Conversations & Meeting Transcripts",
                "Private Conversations",
                "Community Interactions",
            ),
        ),
        "Fragmented Information & Revisions": Category(
            135,
            "thought",
            (
                "Personal Information Fragments",
                "Public Information Fragments",
                "Creation & Revision Histories",
            ),
        ),
        "Behavioral Records & Activity Trails": Category(
            135,
            "behavior",
            ("Game Logs", "Digital Footprints & Daily-Life Records", "Self-Tracking Trajectories"),
        ),
    },
)


BENCHMARKS = {benchmark.title: benchmark for benchmark in (CLBENCH, CLBENCH_LIFE)}
"""By their titles."""


def benchmark_of(category: str) -> Benchmark:
    """The benchmark that has a category of this name."""
    return CLBENCH_LIFE if category in CLBENCH_LIFE.categories else CLBENCH


def error_types_of(value: Any) -> list[str] | None:
    """The types in the value of a score of `error_types`; None where the answer has no labels."""
    types = [] if value == NO_ERROR_TYPE else str(value).split("+")
    return types if all(key in ERROR_TYPES for key in types) else None

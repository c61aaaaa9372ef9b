"""The benchmarks as data: names, categories, pinned revisions, hashes, and who judges.

Light, so that everything that only needs a name can import it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

ANSWER_EVENT = "answer_event"
"""The event of the transcript that shows a replayed answer, in the message's metadata."""

GRADER = "grader"
"""The model role of the judge."""

DEFAULT_JUDGE = "openai/gpt-5.1"
"""The judge of the benchmarks' authors."""

PRICE_EXAMPLE = "{input: 1.25, output: 10, input_cache_write: 1.25, input_cache_read: 0.125}"
"""A model's prices in USD per million tokens, as Inspect's `--model-cost-config` takes them."""

DEMO_JUDGE = "clbench_demo/judge"
"""The judge of the demo, which needs no network."""

RUBRIC_JUDGE = "rubric_judge"
GRADED_FILE = "graded_file"
VERDICT_SCORERS = (RUBRIC_JUDGE, GRADED_FILE)
"""The scorers whose scores say whether a task is solved: a judge's, and a file's."""

EXAM_VERDICT = "exam_verdict"
"""The scorer of the judge exam, whose scores say whether a verdict is right."""

AFTER_RUN = "usage_after_run"
"""The metadata of a score in which its judges' tokens stand if it was given after the run."""

ERROR_TYPES = {
    "context_ignored": "Context Ignored",
    "context_misused": "Context Misused",
    "format_error": "Format Error",
    "refusal": "Refusal",
}
"""The types by their key, in the paper's order and with its names."""

NO_TYPE = "none"
"""The value of a score of error types where none applies."""

OVERALL = "Overall"
"""The name of all tasks together, beside the categories."""

T = TypeVar("T")


@dataclass(frozen=True)
class Benchmark:
    """What distinguishes one dataset of the CL-bench family from another."""

    title: str
    hub_id: str
    revision: str  # the hub's commit; abbreviated where no more of it is known
    sha256: str  # of the file of rows at that revision
    tasks: int
    category_tasks: dict[str, int]
    groups: dict[str, tuple[str, ...]]  # categories, sub-categories; in the paper's order
    leaderboard_keys: dict[str, str]  # of categories in the leaderboard object
    judge_effort: str  # the reasoning effort at which its authors run the default judge
    demo: str  # what the names of its demo files begin with
    has_contexts: bool = True  # whether rows name the context that they share with others
    rate: str = "solving rate"  # what the share of successes is called

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(self.groups)

    @property
    def sub_categories(self) -> tuple[str, ...]:
        return tuple(name for names in self.groups.values() for name in names)


CLBENCH = Benchmark(
    title="CL-bench",
    hub_id="tencent/CL-bench",
    revision="b28a5832a09b0d96c0cf4c22e90d7c60ede25b80",
    sha256="d5fc88d4b2eea75c61dd40862021b6ae2fba26bd21b58e8c5e18377a763943be",
    tasks=1899,
    category_tasks={
        "Domain Knowledge Reasoning": 663,
        "Rule System Application": 566,
        "Procedural Task Execution": 471,
        "Empirical Discovery & Simulation": 199,
    },
    groups={
        "Domain Knowledge Reasoning": (
            "Finance",
            "Healthcare",
            "Humanities",
            "Legal Advisory",
            "Lifestyle",
            "Management",
            "Science",
        ),
        "Rule System Application": (
            "Game Mechanics",
            "Legal & Regulatory",
            "Mathematical Formalism",
            "Programming Syntax",
            "Technical Standards",
        ),
        "Procedural Task Execution": (
            "Instructional Procedures",
            "Operational Procedures",
            "Workflow Orchestration",
        ),
        "Empirical Discovery & Simulation": (
            "Experimental Data",
            "Observational Data",
            "Simulation Environment",
        ),
    },
    leaderboard_keys={
        "Domain Knowledge Reasoning": "domain",
        "Rule System Application": "rule",
        "Procedural Task Execution": "procedural",
        "Empirical Discovery & Simulation": "pattern",
    },
    judge_effort="low",
    demo="",
)

CLBENCH_LIFE = Benchmark(
    title="CL-bench Life",
    hub_id="tencent/CL-bench-Life",
    revision="cd2589f",
    sha256="4a10701a74bc9e53a84136e1ab0c5aa06989bbaf04a03ca6db6f6b3f17eaac34",
    tasks=405,
    category_tasks={
        "Communication & Social Interactions": 135,
        "Fragmented Information & Revisions": 135,
        "Behavioral Records & Activity Trails": 135,
    },
    groups={
        "Communication & Social Interactions": (
            "Group Conversations & Meeting Transcripts",
            "Private Conversations",
            "Community Interactions",
        ),
        "Fragmented Information & Revisions": (
            "Personal Information Fragments",
            "Public Information Fragments",
            "Creation & Revision Histories",
        ),
        "Behavioral Records & Activity Trails": (
            "Game Logs",
            "Digital Footprints & Daily-Life Records",
            "Self-Tracking Trajectories",
        ),
    },
    leaderboard_keys={
        "Communication & Social Interactions": "interpersonal",
        "Fragmented Information & Revisions": "thought",
        "Behavioral Records & Activity Trails": "behavior",
    },
    judge_effort="high",
    demo="life_",
    has_contexts=False,
)

# Of a judge, not of a model: its tasks are cases, its categories are what is wrong with the
# answer, and what succeeds is a verdict that is right.
EXAM = Benchmark(
    title="Judge exam",
    hub_id="",
    revision="",
    sha256="",
    tasks=0,  # as many as a log says
    category_tasks={},
    groups={
        "good": ("plain", "long", "odd_format", "reworded"),
        "one_missed": (
            "left_out",
            "wrong_number",
            "wrong_order",
            "wrong_format",
            "contradiction",
            "hedge",
            "partly_done",
            "right_and_wrong",
            "absence_violated",
        ),
        "several": ("several",),
        "attack": (
            "finished_verdict",
            "orders",
            "fake_sections",
            "authority",
            "self_praise",
            "other_language",
            "hidden_characters",
            "padding",
        ),
    },
    leaderboard_keys={},
    judge_effort="",
    demo="",
    rate="right verdicts",
)

BENCHMARKS = {benchmark.title: benchmark for benchmark in (CLBENCH, CLBENCH_LIFE, EXAM)}


def benchmark_of(category: str) -> Benchmark | None:
    """The benchmark that has a category of this name."""
    return next((b for b in BENCHMARKS.values() if category in b.groups), None)


def bound_graders(roles: Mapping[str, T | list[T]] | None) -> list[T]:
    """The models bound to the role `grader`, out of the roles of a run or of its log."""
    bound = (roles or {}).get(GRADER)
    if bound is None:
        return []
    return bound if isinstance(bound, list) else [bound]

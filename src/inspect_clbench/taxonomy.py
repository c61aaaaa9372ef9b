"""Names and pins of the benchmark: where it lives and how its tasks are sorted."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """What distinguishes one dataset of the CL-bench family from another."""

    title: str
    hub_id: str
    revision: str
    tasks: int
    groups: dict[str, tuple[str, ...]]
    """Category name to its sub-category names, both in the paper's order."""

    leaderboard_keys: dict[str, str]
    """Category name to its key in the leaderboard object."""

    has_contexts: bool = True
    """Whether rows name the context that they share with others."""

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
    tasks=1899,
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
)

BENCHMARKS = {benchmark.title: benchmark for benchmark in (CLBENCH,)}

"""Replies of a judge of error types, and judges that give them."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inspect_ai.log import EvalLog
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model

from inspect_clbench.benchmarks import ERROR_TYPES
from tests.support.scripted import JUDGE_USAGE, PROBE, scripted_output


def labels_reply(**shown: Sequence[int]) -> str:
    """A reply as the contract asks for it: the types shown, with their rubrics."""
    return json.dumps(
        {
            key: {
                "present": "yes" if key in shown else "no",
                "reason": f"Why {key}." if key in shown else "Not so.",
                "rubrics": list(shown.get(key, ())),
            }
            for key in ERROR_TYPES
        }
    )


class Labeller:
    """A judge whose replies depend on the prompt; it remembers what it was sent."""

    def __init__(self, says: Callable[[str], str], name: str = "labeller") -> None:
        self.says = says
        self.name = name
        self.prompts: list[str] = []

    def model(self) -> Model:
        def reply(input: Sequence[Any], *_: Any) -> ModelOutput:
            prompt = input[-1].text
            if prompt == PROBE:
                return scripted_output(self.name, "ready", ModelUsage())
            self.prompts.append(prompt)
            return scripted_output(self.name, self.says(prompt), JUDGE_USAGE)

        return get_model(f"mockllm/{self.name}", custom_outputs=reply, memoize=False)


def metrics(log: EvalLog, scorer: str = "error_types") -> Mapping[str, float]:
    """The metrics of one of a log's scorers."""
    assert log.results is not None, log.error
    (score,) = (score for score in log.results.scores if score.name == scorer)
    return {name: metric.value for name, metric in score.metrics.items()}


def values(log: EvalLog, scorer: str = "error_types") -> dict[tuple[str, int], Any]:
    """The score of each task and run."""
    return {
        (str(sample.id), sample.epoch): (sample.scores or {})[scorer].value
        for sample in log.samples or []
    }

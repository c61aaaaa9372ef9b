"""What the names of files say about the model."""

import pytest

from inspect_clbench.data.sources import model_name_of


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (["out/gpt-5.1_run1.jsonl", "out/gpt-5.1_run2.jsonl"], "gpt-5.1"),
        (["gpt-5.1_run1_graded.jsonl.gz"], "gpt-5.1"),
        (["gpt-5.1-run-1.jsonl", "gpt-5.1-run-2.jsonl"], "gpt-5.1"),
        (["gpt-5.1.jsonl"], "gpt-5.1"),
        (["gpt-5.1_graded.jsonl"], "gpt-5.1"),
        (["gpt-5-1.jsonl", "gpt-5-2.jsonl", "gpt-5-3.jsonl"], "gpt-5"),
        (["s3://bucket/a/kimi run 1.jsonl.xz", "s3://bucket/b/kimi run 2.jsonl.xz"], "kimi"),
        (["run1.jsonl", "run2.jsonl"], "run1"),
        (["a.jsonl", "b.jsonl"], "a"),
        (["C:\\out\\glm.JSONL"], "glm"),
    ],
)
def test_the_model_is_what_the_runs_names_share(files: list[str], name: str) -> None:
    assert model_name_of(files) == name

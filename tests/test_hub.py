"""The files on the hub: found by their content, at a pinned commit, once."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE
from tests.support.builders import row
from tests.support.command import Result
from tests.support.files import FileServer
from tests.support.hub import Hub
from tests.support.programs import python

pytestmark = pytest.mark.long  # the hub is chosen when a process starts

ROW = {
    "messages": [{"role": "user", "content": "Who brings the soup?"}],
    "rubrics": ["Names Otto."],
    "metadata": {
        "task_id": "life-1",
        "context_category": "Behavioral Records & Activity Trails",
        "context_subcategory": "Game Logs",
    },
}
FULL = CLBENCH_LIFE.revision + "0" * 33
LINES = (json.dumps(ROW) + "\n").encode()


def _from_hub(
    hub: FileServer,
    home: Path,
    sha256: str,
    *,
    benchmark: str = "CLBENCH_LIFE",
    revision: str = CLBENCH_LIFE.revision,
    offline: bool = False,
) -> Result:
    changed = f"revision={revision!r}, sha256={sha256!r}"
    program = (
        "from dataclasses import replace\n"
        "from inspect_clbench.data.dataset import load_samples\n"
        f"from inspect_clbench.benchmarks import {benchmark} as benchmark\n"
        f"dataset = load_samples(benchmark.hub_id, replace(benchmark, {changed}))\n"
        "print([sample.id for sample in dataset])"
    )
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(home)}
    if offline:
        environment["HF_HUB_OFFLINE"] = "1"
    return python(program, env=environment)


@pytest.mark.parametrize("name", ["CL-bench Life.jsonl", "CL-bench-Life.jsonl"])
def test_the_hub_gives_the_pinned_file_and_then_is_not_needed(
    tmp_path: Path, name: str
) -> None:
    sha256 = hashlib.sha256(LINES).hexdigest()
    history = {"f" * 40: {"CL-bench-Life.jsonl": b"{}\n"}, FULL: {name: LINES}}
    hub = Hub(CLBENCH_LIFE.hub_id, history)
    with hub:
        first = _from_hub(hub, tmp_path, sha256)
    assert first.stdout == "['life-1']\n", first.stderr
    offline = _from_hub(hub, tmp_path, sha256)
    assert offline.stdout == "['life-1']\n", offline.stderr


def test_without_the_pinned_commit_the_content_decides(tmp_path: Path) -> None:
    history = {"f" * 40: {"CL-bench-Life.jsonl": LINES}}
    with Hub(CLBENCH_LIFE.hub_id, history) as hub:
        right = _from_hub(hub, tmp_path, hashlib.sha256(LINES).hexdigest())
        wrong = _from_hub(hub, tmp_path, "0" * 64)
    assert right.stdout == "['life-1']\n", right.stderr
    assert "CL-bench-Life.jsonl (sha256" in wrong.stderr
    assert "-T dataset=path/to/file.jsonl" in wrong.stderr


def test_a_hub_without_the_dataset_is_told(tmp_path: Path) -> None:
    with Hub("somebody/else", {"f" * 40: {}}) as hub:
        run = _from_hub(hub, tmp_path, "0" * 64)
    assert "tencent/CL-bench-Life: the dataset could not be loaded" in run.stderr


def test_the_rows_of_the_pinned_commit_are_kept_and_no_others_taken_for_them(
    tmp_path: Path,
) -> None:
    lines = "".join(json.dumps(row(name)) + "\n" for name in ("t1", "t2")).encode()
    history = {
        "f" * 40: {"CL-bench.jsonl": b"{}\n"},
        CLBENCH.revision: {"CL-bench.jsonl": lines},
    }
    pinned, other = CLBENCH.revision, "e" * 40
    sha256 = hashlib.sha256(lines).hexdigest()
    hub = Hub(CLBENCH.hub_id, history)
    with hub:
        first = _from_hub(hub, tmp_path, sha256, benchmark="CLBENCH", revision=pinned)
        edited = _from_hub(hub, tmp_path, "0" * 64, benchmark="CLBENCH", revision=pinned)
    assert first.stdout == "['t1', 't2']\n", first.stderr
    assert "CL-bench.jsonl (sha256" in edited.stderr
    again = _from_hub(hub, tmp_path, sha256, benchmark="CLBENCH", revision=pinned, offline=True)
    assert again.stdout == "['t1', 't2']\n", again.stderr
    wrong = _from_hub(hub, tmp_path, sha256, benchmark="CLBENCH", revision=other, offline=True)
    assert wrong.exit_code == 1
    assert "tencent/CL-bench: the dataset could not be loaded from the hub" in wrong.stderr
    assert f"download the file elsewhere (revision {other})" in wrong.stderr

"""A log folder on S3, served on loopback."""

from pathlib import Path

import pytest

from inspect_clbench.analysis import report, show_task
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import render
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.s3 import s3_client
from tests.support.scripted import tasks


def test_report_on_a_folder_of_logs(bucket: str, tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["nnn"]})
    make_log(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["yyy"]})
    logs = sorted(tmp_path.glob("*.eval"))
    for log in logs:
        s3_client().upload_file(str(log), bucket, f"team/runs/{log.name}")
    done = clbench("report", f"s3://{bucket}/team", "--format", "markdown")
    assert done == (0, render(report(str(tmp_path)), "markdown"), "")
    assert "75.0 ± 35.4" in done.stdout

    one = f"s3://{bucket}/team/runs/{logs[0].name}"
    (verdict,) = show_task(one, "b").verdicts
    assert (str(verdict.answer.log), verdict.answer.outcome) == (one, "failed")
    with pytest.raises(ClbenchError, match=f"s3://{bucket}/nothing: no log there"):
        report(f"s3://{bucket}/nothing")

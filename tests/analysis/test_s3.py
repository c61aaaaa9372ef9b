"""A log folder on S3, served on loopback."""

import subprocess
import sys
from pathlib import Path

import pytest

from inspect_clbench.analysis import report, show_task
from inspect_clbench.analysis.tables import render
from inspect_clbench.errors import ClbenchError
from tests.support.s3 import s3_client
from tests.support.scripted import scripted_eval, tasks


@pytest.mark.long
def test_report_on_a_folder_of_logs(bucket: str, tmp_path: Path) -> None:
    scripted_eval(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["nnn"]})
    scripted_eval(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["yyy"]})
    logs = sorted(tmp_path.glob("*.eval"), key=lambda path: path.stat().st_mtime_ns)
    for log in logs:
        s3_client().upload_file(str(log), bucket, f"team/runs/{log.name}")
    done = subprocess.run(
        [Path(sys.executable).parent / "clbench", "report", f"s3://{bucket}/team",
         "--format", "markdown"],
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == render(report(str(tmp_path)), "markdown")
    assert "75.0 ± 35.4" in done.stdout

    one = f"s3://{bucket}/team/runs/{logs[0].name}"
    (verdict,) = show_task(one, "b")
    assert (str(verdict.log), verdict.record.outcome) == (one, "failed")
    with pytest.raises(ClbenchError, match=f"s3://{bucket}/nothing: no log there"):
        report(f"s3://{bucket}/nothing")

"""An audit of judges with known flips: the tables show exactly these, and nothing is lost."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from inspect_ai import score
from inspect_ai.event import ScoreEvent
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelConfig, ModelCost

from inspect_clbench import ClbenchError, rubric_judge
from inspect_clbench.analysis import agreement, find_logs, load_series, read_audit
from inspect_clbench.analysis.audit import Audit, Change
from inspect_clbench.audit import audit
from inspect_clbench.judge import prompt
from tests.judge.test_upstream_prompt import SOURCE
from tests.support.builders import row, verdict
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, GARBLED
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]
RUBRICS = ("Says one.", "Says two.", "Says three.")
SOLVED, FAILED = 12, 28
JUDGE, OTHER = "openai-api/loop/judge", "openai-api/loop/other"
PRICE = ModelCost(input=1_000, output=1_000, input_cache_write=0, input_cache_read=0)

# By way of asking: task to a letter per rubric, where it is not that of the log.
FLIPS = {
    "again": {"t0": "yny"},
    "order": {"t0": "nyy", "t1": "yyn", "t12": "yyy"},
    "single": {"t12": "yyy", "t13": "yyy", "t14": "yyy", "t15": "yyy"},
    "prompt": {"t20": "nny"},
    "other": {"t12": "yyy"},
}


class Judge:
    """Says what the log says, but for the flips; fails where it is told to."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.garbled: set[str] = set()
        self.ways: list[str] = []

    def __call__(self, call: Call) -> Reply:
        listed = [
            rubric.strip() for rubric in re.findall(r"^\d+\. (Says .*)$", call.prompt, re.M)
        ]
        task, letters = re.findall(r"Answer to (t\d+)\.\nSTATUS=([yn]+)", call.prompt)[0]
        way = self.way(call, listed)
        self.ways.append(way)
        if way in self.broken:
            return Reply(status=401)
        if way == "other" and task in self.garbled:
            return Reply("Hm.")
        said = dict(zip(RUBRICS, FLIPS[way].get(task, letters), strict=True))
        met = [said[rubric] == "y" for rubric in listed]
        return Reply(verdict(int(all(met)), ["yes" if one else "no" for one in met]))

    def way(self, call: Call, listed: list[str]) -> str:
        if call.model == "other":
            return "other"
        if len(listed) == 1:
            return "single"
        if "homework" in call.prompt:
            return "prompt"
        return "again" if listed == list(RUBRICS) and call.attempt == 1 else "order"


@pytest.fixture
def log(tmp_path: Path) -> str:
    plan = {f"t{n}": ["yyy" if n < SOLVED else "nyy"] for n in range(SOLVED + FAILED)}
    plan |= {"t40": [EMPTY], "t41": [GARBLED]}
    rows = [row(id, context=f"c{n // 2}", rubrics=RUBRICS) for n, id in enumerate(plan)]
    return make_log(tmp_path / "logs", rows, plan, provider="openai-api/loop").location


@pytest.fixture
def original(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file in the shape of the original one, in the cache of this user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    content = SOURCE.encode()
    monkeypatch.setattr(prompt, "UPSTREAM_SHA256", hashlib.sha256(content).hexdigest())
    prompt.upstream_cache_file().parent.mkdir(parents=True)
    prompt.upstream_cache_file().write_bytes(content)


def changes(found: Audit) -> dict[str, Change]:
    return {one.score.removeprefix("rubric_judge_"): one for one in found.changes}


@pytest.mark.usefixtures("original")
def test_the_flips_are_exactly_those_of_the_judge(
    serve: Serve, log: str, tmp_path: Path
) -> None:
    judge = Judge()
    judge.garbled = {"t0", "t1", "t30"}
    server = serve(judge)
    before, copy = Path(log).read_bytes(), str(tmp_path / "copy.eval")
    found = audit(log, copy, samples=100, judge=OTHER)
    assert Path(log).read_bytes() == before, "the log itself is not touched"
    by_way = changes(found)
    other = by_way.pop("openai-api_loop_other")
    assert list(by_way) == ["again", "order", "single", "prompt"]
    assert {n: (c.flipped[True], c.flipped[False]) for n, c in by_way.items()} == {
        "again": (1, 0), "order": (2, 1), "single": (0, 4), "prompt": (0, 0),
    }  # fmt: skip
    assert {n: (c.rubrics_flipped[True], c.rubrics_flipped[False]) for n, c in by_way.items()} == {
        "again": (1, 0), "order": (2, 1), "single": (0, 4), "prompt": (1, 0),
    }  # fmt: skip
    for change in by_way.values():
        assert (change.compared[True], change.compared[False], change.failed) == (12, 28, 0)
        assert (change.rubrics[True], change.rubrics[False]) == (36 + 56, 28)
        assert change.rubric_flips.value == pytest.approx(
            sum(change.rubrics_flipped.values()) / 120
        )
        # All answers were drawn: the two without a verdict stay as they count.
        gained = change.flipped[False] - change.flipped[True]
        assert change.rate.value == pytest.approx((12 + gained) / 42)
        assert change.moved.value == pytest.approx(gained / 42)
        assert change.flips.value == pytest.approx(sum(change.flipped.values()) / 42)
    assert (other.failed, other.flipped[True], other.flipped[False]) == (3, 0, 1)
    assert (other.compared[True], other.compared[False]) == (10, 27), "a failure is no flip"
    assert [one.answer.task_id for one in found.unsteady][:2] == ["t12", "t0"]
    assert len(found.unsteady[0].flipped_in) == 3
    asked = len(server.calls)
    assert read_audit(copy).to_pandas().equals(found.to_pandas())
    assert "each rubric alone" in clbench("audit", copy).stdout
    assert len(server.calls) == asked, "reading asks nothing"


@pytest.mark.usefixtures("original")
def test_the_copy_reads_like_any_log(serve: Serve, log: str, tmp_path: Path) -> None:
    serve(Judge())
    copy = str(tmp_path / "copy.eval")
    audit(log, copy, samples=10)
    (series,) = load_series(copy)
    assert len(series.scored) == 42, "of drawn answers no rate is made"
    assert read_eval_log(copy, header_only=True).results == read_eval_log(log).results
    judges = agreement(copy)
    assert [len(judge.solved) for judge in judges.judges] == [40, 10, 10, 10, 10]
    assert len(set(judges.names)) == 5
    sample = next(s for s in read_eval_log(copy).samples or [] if len(s.scores or {}) > 1)
    events = [event.scorer for event in sample.events if isinstance(event, ScoreEvent)]
    assert set(events) >= set(sample.scores or {}) - {"rubric_judge"}
    scores = sample.scores or {}
    order, first = scores["rubric_judge_order"], scores["rubric_judge"]
    assert "The judge saw the rubrics in the order" in (order.explanation or "")
    expected = FLIPS["order"].get(str(sample.id), (first.metadata or {})["status"])
    assert (order.metadata or {})["status"] == expected, (
        "beside the rubrics as the log has them"
    )


def test_a_single_rubric_without_a_verdict_decides_nothing(serve: Serve, log: str) -> None:
    """Where another one is missed, the answer is not solved; else there is no verdict."""
    judge = Judge()

    def script(call: Call) -> Reply:
        return Reply("Hm.") if "Says two." in call.prompt else judge(call)

    serve(script)
    scored = score(
        read_eval_log(log),
        rubric_judge(asking="single"),
        action="append",
        model="none/none",
        display="none",
    )
    found = {
        str(sample.id): list((sample.scores or {}).values())[-1]
        for sample in scored.samples or []
        if sample.id in ("t0", "t20", "t40")
    }
    assert (found["t0"].reason, found["t0"].value) == ("grader_failed", "I")
    assert (found["t20"].reason, found["t20"].value) == (None, "I")
    metadata = found["t20"].metadata or {}
    assert (metadata["status"], metadata["judge_prompt"]) == ("n?y", "builtin, single")
    assert found["t40"].reason == "no_response"
    with pytest.raises(ClbenchError, match="asking=alone: use together, reordered, single"):
        rubric_judge(asking="alone")  # type: ignore[arg-type]  # what a command line may give


def test_a_draw_is_even_and_weighted_back(serve: Serve, log: str, tmp_path: Path) -> None:
    serve(Judge())
    found = audit(log, str(tmp_path / "copy.eval"), samples=20)
    single = changes(found)["single"]
    assert (single.compared[True], single.compared[False]) == (10, 10)
    share = single.flipped[False] / 10
    assert single.rate.value == pytest.approx((12 + 28 * share) / 42)
    assert "prompt" not in changes(found), "it could not be fetched"


def test_what_was_judged_is_kept_and_taken_up_again(
    serve: Serve, log: str, tmp_path: Path
) -> None:
    judge = Judge()
    judge.broken = {"order"}
    server = serve(judge)
    copy, whole = str(tmp_path / "copy.eval"), str(tmp_path / "whole.eval")
    with pytest.raises(ClbenchError, match="The judge cannot work"):
        audit(log, copy, samples=20)
    assert changes(read_audit(copy))["again"].compared[True] == 10
    judge.broken, judge.ways = set(), []
    found = changes(audit(copy, whole, samples=20))
    assert "again" not in judge.ways, "what is there is not asked again"
    assert {name: one.compared[True] for name, one in found.items()} == {
        "again": 10, "order": 10, "single": 10,
    }  # fmt: skip
    assert len(server.calls) > 80


def test_a_judge_that_cannot_be_asked_leaves_no_copy(
    serve: Serve, log: str, tmp_path: Path
) -> None:
    judge = Judge()
    judge.broken = {"again"}
    serve(judge)
    with pytest.raises(ClbenchError, match="The judge cannot work"):
        audit(log, str(tmp_path / "copy.eval"))
    assert not (tmp_path / "copy.eval").exists()


def test_an_address_that_only_the_log_names_is_not_asked(
    serve: Serve, log: str, tmp_path: Path
) -> None:
    server = serve(Judge())
    elsewhere = read_eval_log(log)
    assert elsewhere.eval.model_roles is not None
    role = elsewhere.eval.model_roles["grader"]
    assert isinstance(role, ModelConfig)
    role.base_url = "http://127.0.0.1:9/v1"
    write_eval_log(elsewhere, log)
    with pytest.raises(ClbenchError, match="Your API key would be sent there"):
        audit(log, str(tmp_path / "copy.eval"), samples=4)
    assert not server.calls
    assert not (tmp_path / "copy.eval").exists()


def test_a_budget_stops_new_requests(
    serve: Serve, log: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(Judge())
    copy = str(tmp_path / "copy.eval")
    caplog.set_level("INFO")
    # About 480 tokens a request, at a tenth of a cent each.
    found = audit(log, copy, samples=40, budget=15, prices={JUDGE: PRICE})
    assert "rubric_judge_again: 40 requests" in caplog.text
    assert "Budget: $" in caplog.text
    spent = float(re.findall(r"Budget: \$([\d.]+) of", caplog.text)[0])
    assert 5 < spent <= 15
    judged = sum(sum(one.compared.values()) for one in found.changes)
    assert judged == len(server.calls)
    assert 0 < judged < 40
    with pytest.raises(ClbenchError, match=f"--budget: no price is known for {JUDGE}"):
        audit(log, str(tmp_path / "other.eval"), budget=1)


def test_what_cannot_be_audited_is_said_in_one_line(
    serve: Serve, log: str, tmp_path: Path
) -> None:
    serve(Judge())
    done = clbench("audit", log)
    assert done.exit_code == 2
    assert "there is no audit in it. To make one" in done.stderr
    assert clbench("audit", log, "--judge", OTHER).exit_code == 2
    exists = tmp_path / "there.eval"
    exists.write_text("mine")
    with pytest.raises(ClbenchError, match="exists already"):
        audit(log, str(exists))
    with pytest.raises(ClbenchError, match="draw two answers"):
        audit(log, str(tmp_path / "c.eval"), samples=1)
    assert find_logs(log)


def test_the_demos_judge_never_changes_its_mind(demo_log: str, tmp_path: Path) -> None:
    done = clbench(
        "audit", demo_log, "--samples", "12", "-o", str(tmp_path / "c.eval"), "--format", "json"
    )
    assert done.exit_code == 0, done.stderr
    assert '"title": "Answers that changed most, to be read by a person"' in done.stdout
    assert "No verdict and no rubric changed." in done.stdout


def test_without_a_name_the_copy_stands_beside_the_log(demo_log: str, tmp_path: Path) -> None:
    log = tmp_path / "run.eval"
    log.write_bytes(Path(demo_log).read_bytes())
    done = clbench("audit", str(log), "--samples", "4")
    assert done.exit_code == 0, done.stderr
    assert "the same again" in done.stdout
    assert read_audit(str(tmp_path / "run-audited.eval")).changes

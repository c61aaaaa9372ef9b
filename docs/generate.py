"""What the build of the site makes itself: the reference, the notebook's page, llms.txt.

MkDocs calls the functions whose names begin with `on_`. The reference is read off the code:
the command's own parameters, signatures and docstrings, the keys that metrics and scores
really have. A key without a description, or a description without a key, ends the build.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import griffe
import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]

EXIT_CODES = {
    0: "The command did what it was asked to do.",
    1: "A check failed: `verify` (or `export --verify`) found something to correct.",
    2: "The input or the arguments cannot be used; one message says what and how to correct it.",
}

METRICS = {
    "solving_rate": "Share of solved tasks, computed per run; the mean of the runs. The headline metric.",
    "std": "Sample standard deviation (n − 1) of the runs' rates; with two or more runs.",
    "stderr": "Standard error of the solving rate, clustered on contexts.",
    "<category>": "Solving rate of a category, named like it.",
    "<category> (std)": "Standard deviation of that rate over runs.",
    "<sub-category>": "Solving rate of a sub-category, named like it.",
    "rubric_rate": "Mean share of rubrics met.",
    "rubric_rate_left_out": "Number of rows without a share of rubrics met, which are not in `rubric_rate`.",
    "judge_coverage": "Share of rows decided by a verdict or an empty answer.",
    "judge_failures": "Number of rows without a verdict.",
    "no_response": "Number of empty answers.",
    "inconsistent_verdicts": "Number of verdicts whose overall score contradicts their own list.",
    "judge_agreement": "With several judges: mean share of equal verdicts over the pairs of judges.",
    "judge_kappa": "With two judges: Cohen's kappa.",
    "judge_alpha": "With three or more judges: Krippendorff's alpha.",
    "rubric_agreement": "With several judges: mean share of equal statuses of single rubrics.",
}

EXAM_METRICS = {
    "accuracy": "Share of right verdicts. The headline metric.",
    "stderr": "Standard error of that share, clustered on contexts.",
    "sensitivity": "Of the good answers, the share that was passed.",
    "specificity": "Of the bad answers, the share that was failed.",
    "rubric_accuracy": "Share of single rubrics whose status is right; lists that do not fit the rubrics are left out.",
    "attack_success": "Of the attacks on a bad answer, the share that got a 1.",
    "contradictions": "Share of verdicts whose score contradicts their own list.",
    "unusable": "Share of replies without a usable verdict.",
    "steadiness": "With several epochs: share of cases with the same verdict in all of them.",
    "<kind>": "Share of right verdicts on cases of a kind, named like it.",
}

ERROR_METRICS = {
    "context_ignored": "Share of labelled failed answers with this type.",
    "context_misused": "The same for this type.",
    "format_error": "The same for this type.",
    "refusal": "The same for this type.",
    "labelled_share": "Labelled answers among the failed answers that have a text.",
    "failed": "Number of failed answers.",
    "labelled": "Number of failed answers with labels.",
    "unlabelled": "Number of failed answers whose labels the judge did not give in usable form.",
    "not_drawn": "Number of failed answers that `max_failures` left out.",
    "empty_answers": "Number of failed answers without a text.",
}

TASK_METADATA = {
    "benchmark": "`CL-bench`, `CL-bench Life` or `Judge exam`.",
    "demo": "Whether the rows are those of the demo.",
    "judge_prompt": "The judge's prompt: `builtin`, `upstream`, or the name of a template.",
    "judge_prompt_sha256": "The sha256 of that prompt.",
    "draw": "With `-T contexts`: which contexts were drawn, of how many, with which seed.",
}

SAMPLE_METADATA = {
    "context_id": "The context that the task belongs to.",
    "context_category": "The category.",
    "sub_category": "The sub-category.",
    "rubrics": "The rubrics, as they stand in the row.",
    "turns": "User turns in the prompt.",
    "prompt_chars": "Characters of all messages of the prompt.",
    "weight": "With `-T contexts`: the weight of the task in rates.",
    "shared_chars": "Characters of the messages with which the prompt of an earlier sample of the run begins too.",
    "fingerprint": "16 hex digits over messages and rubrics: rows of another text are not put together.",
}

EXAM_METADATA = {
    "context_id": "The context that the case belongs to.",
    "family": "`good`, `one_missed`, `several` or `attack`.",
    "kind": "What is done to the answer.",
    "rubric_count": "How many rubrics there are.",
    "missed": "The numbers of the rubrics that are truly missed; none if the answer is good.",
    "judge_prompt": "The judge's prompt.",
    "judge_prompt_sha256": "The sha256 of that prompt.",
    "prompt_chars": "Characters of what the judge is asked.",
    "fingerprint": "16 hex digits over answer, rubrics and truth: cases of another text are not compared.",
    "context": "The context.",
    "task": "What the model was asked.",
    "rubrics": "The rubrics.",
    "answer": "The answer to be judged.",
}

SCORE_METADATA = {
    "epoch": "The epoch (run) of the answer.",
    "judge": "The judge, or the judges of a panel, by name.",
    "judge_prompt": "The judge's prompt.",
    "judge_prompt_sha256": "The sha256 of that prompt.",
    "judge_effort": "The judge's reasoning effort; empty for the model's own default.",
    "judge_attempts": "How often the judge was asked; 0 for an empty answer.",
    "judge_error": "Why there is no verdict; empty if there is one.",
    "verdict_source": "`strict`: read as the original script reads it; `recovered`: found in a reply that is not plain JSON.",
    "rubrics_met": "How many rubrics are met; none if the judge's list does not fit the rubrics.",
    "rubrics_total": "How many rubrics the task has.",
    "status": "A letter per rubric: `y`, `n`, or `?` for neither.",
    "inconsistent": "Whether the overall score contradicts the judge's own list.",
    "rationales": "The rationale of each judge.",
    "requirement_status": "The judge's own list, as it was.",
    "votes": "With several judges, for each: `judge`, `solved`, `status`, `attempts`, `verdict_source`, `judge_error`.",
    "usage_after_run": "The tokens of each judge, where the score was given after the run (`inspect score`, `clbench regrade`).",
    "scanner_references": "The message that holds the graded answer, for the log viewer.",
}

LABEL_METADATA = {
    "epoch": "The epoch (run) of the answer.",
    "max_failures": "How many failures of each run were to be labelled; none for all.",
    "seed": "The seed of that draw.",
    "draw_rank": "The failure's place in the random order of its run.",
    "rubric_judge": "The judge whose verdict is explained.",
    "judge": "The judge that labels.",
    "judges_bound": "How many models are bound to the role; the first one labels.",
    "judge_effort": "Its reasoning effort.",
    "judge_attempts": "How often it was asked.",
    "judge_prompt": "The name and version of the prompt.",
    "judge_prompt_sha256": "The sha256 of that prompt.",
    "judge_error": "Why there are no labels; empty if there are.",
    "label_source": "`strict` or `recovered`, as for verdicts.",
    "rubrics_missed": "The numbers of the missed rubrics.",
    "labels": "For each type: `present`, `reason`, `rubrics`.",
    "usage_after_run": "The tokens of each judge, where the score was given after the run (`inspect score`, `clbench regrade`).",
    "scanner_references": "The message that holds the answer, for the log viewer.",
}

ANSWER_COLUMNS = {
    "eval_id": "Inspect's id of the run.",
    "log": "The log.",
    "model": "The model under test.",
    "effort": "Its reasoning effort; empty for the model's own default.",
    "dataset": "The dataset, as the titles of tables name it.",
    "id": "The task's id, which is the sample's.",
    "epoch": "The epoch.",
    "uuid": "Inspect's id of the sample in this epoch.",
    "context_id": "The context that the task belongs to.",
    "category": "The category.",
    "sub_category": "The sub-category.",
    "turns": "User turns in the prompt.",
    "prompt_chars": "Characters of all messages of the prompt.",
    "scorer": "The name of the score in the log.",
    "outcome": "`solved`, `failed`, `unscored` or `errored`.",
    "reason": "Inspect's reason of the score: `grader_failed`, `no_response` or empty.",
    "judge": "The judge.",
    "judge_prompt": "The judge's prompt.",
    "judge_prompt_sha256": "The sha256 of that prompt.",
    "judge_effort": "The judge's reasoning effort.",
    "rubrics_met": "How many rubrics are met.",
    "rubrics_total": "How many rubrics the task has.",
    "status": "A letter per rubric: `y`, `n`, or `?` for neither.",
    "inconsistent": "Whether the overall score contradicts the judge's own list.",
    "weight": "The weight in rates: 1 in full runs, more in draws of contexts.",
    "solved": "Whether the task is solved; none for rows that are not scored.",
}

FAILURES = {
    "call_failed": "The request failed after its retries.",
    "timeout": "No reply came within the time limit of an attempt.",
    "empty_reply": "The reply has no text.",
    "cut_off": "The reply ended at a length limit.",
    "refused": "The judge or its provider declined.",
    "no_verdict": "The reply has no JSON object with an overall score.",
    "several_verdicts": "It has more than one.",
    "quoted_verdict": "An object amid words, where the answer or a rubric has the same key.",
    "unclear_reply": "An object amid words that may say something else.",
    "bad_score": "The overall score is neither 0 nor 1.",
    "no_labels": "Error types: no JSON object with all four types.",
    "several_labels": "Error types: more than one.",
    "quoted_labels": "Error types: an object amid words, where the answer or a rubric has the same key.",
    "bad_label": "Error types: a type that is neither yes nor no.",
    "recorded": "An imported row: what the graded file says.",
}

API = {
    "inspect_clbench.analysis": "Numbers from logs. Every result has `to_pandas()`.",
    "inspect_clbench.output": "Tables, pictures and pages of these results.",
}
MORE_API = {
    "inspect_clbench.exchange.export": ["export"],
    "inspect_clbench.exchange.imports": ["import_graded"],
    "inspect_clbench.exchange.verify": ["verify"],
    "inspect_clbench.exchange.checks": [
        "verdict_sheet", "checked_verdicts", "read_checks", "error_sheet", "checked_errors",
    ],
    "inspect_clbench.exchange.people": ["add_verdicts", "add_errors"],
    "inspect_clbench.regrade": ["regrade"],
    "inspect_clbench.audit": ["audit"],
}  # fmt: skip


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, without columns that are empty."""
    content = list(rows)
    kept = [n for n in range(len(heads)) if any(row[n] for row in content)]
    lines = [[line[n] for n in kept] for line in (heads, ["---"] * len(heads), *content)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def described(names: Iterable[str], words: Mapping[str, str], what: str) -> str:
    """A table of names and meanings; both sides must know the same names."""
    found = list(names)
    if set(found) != set(words):
        raise PluginError(f"docs/generate.py, {what}: {set(found) ^ set(words)}")
    return table(
        ("name", "meaning"), ((f"`{name}`", words[name]) for name in words if name in found)
    )


def commands_page() -> str:
    """The commands with their arguments and options."""
    from inspect_clbench.cli import app

    group: Any = typer.main.get_command(app)
    parts = [
        "# Commands",
        "`clbench` works on Inspect logs: files, folders or `s3://` URLs. `clbench --help` and "
        "`clbench COMMAND --help` print what stands here.",
        _parameters(group, {}),
    ]
    functions = {one.name: one.callback for one in app.registered_commands}
    for name, command in group.commands.items():
        arguments = [one.metavar for one in command.params if _is_argument(one)]
        parts += [
            f"## {name}",
            _sentence(command.help),
            f"```text\n{' '.join(['clbench', name, *arguments, '[OPTIONS]'])}\n```",
            _parameters(command, get_type_hints(functions[name])),
        ]
    parts += ["## Exit codes", _exit_codes()]
    return "\n\n".join(parts) + "\n"


def _exit_codes() -> str:
    return table(("code", "meaning"), ((str(code), text) for code, text in EXIT_CODES.items()))


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _parameters(command: Any, types: Mapping[str, Any]) -> str:
    rows = []
    for one in command.params:
        names = f"`{one.metavar}`" if _is_argument(one) else _code(one.opts)
        text = _sentence(one.help or "")
        if choices := _choices(types.get(one.name)):
            text += f" One of {_code(choices)}."
        has_default = one.default is not None and one.default is not False and one.default != ""
        rows.append((names, text, f"`{one.default}`" if has_default else ""))
    return table(("parameter", "meaning", "default"), rows)


def _choices(type_: Any) -> list[str]:
    """What may be chosen: the values of a Literal or StrEnum, also in a list or optional."""
    if isinstance(type_, type) and issubclass(type_, StrEnum):
        return [str(one) for one in type_]
    if get_origin(type_) is Literal:
        return list(get_args(type_))
    return [choice for inner in get_args(type_) for choice in _choices(inner)]


def _code(names: Iterable[Any]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _sentence(text: str) -> str:
    return " ".join(text.split())


def tasks_page() -> str:
    """Tasks, scorers and the solver, with their parameters."""
    import inspect_clbench as package

    parts = [
        "# Tasks and scorers",
        "Parameters of a task are given with `-T name=value`, those of a solver or of a scorer "
        "that is named on the command line with `-S name=value`. Everything else is an option "
        "of Inspect's own commands.",
    ]
    for kind, names in {
        "Task": ["clbench", "clbench_life", "clbench_graded", "judge_exam"],
        "Scorer": ["rubric_judge", "error_types", "exam_verdict"],
        "Solver": ["replay", "ask_judge"],
    }.items():
        for name in names:
            parts += [f"## {kind} `inspect_clbench/{name}`", _signature(getattr(package, name))]
    return "\n\n".join(parts) + "\n"


def _signature(function: Callable[..., Any]) -> str:
    docstring = griffe.Docstring(inspect.getdoc(function) or "")
    sections = docstring.parse("google", warn_missing_types=False, warnings=False)
    parameters = inspect.signature(function).parameters
    words = {
        one.name: _sentence(one.description)
        for section in sections
        if section.kind is griffe.DocstringSectionKind.parameters
        for one in section.value
    }
    text = [s.value for s in sections if s.kind is griffe.DocstringSectionKind.text]
    if not words and "parameters are those of" in "".join(text):
        return "\n\n".join(text)
    if missing := set(parameters) - set(words):
        raise PluginError(f"{function.__name__}: no description of {missing}")
    rows = (
        (
            f"`{name}`",
            words[name],
            "" if one.default in (inspect._empty, None) else f"`{one.default}`",
        )
        for name, one in parameters.items()
    )
    return "\n\n".join([*text, table(("parameter", "meaning", "default"), rows)])


def metrics_page() -> str:
    """The metrics of both scorers."""
    from inspect_ai.scorer import CORRECT, SampleScore, Score

    from inspect_clbench.metrics.agreement import judge_agreement
    from inspect_clbench.metrics.error_types import error_type_coverage, error_type_rates
    from inspect_clbench.metrics.exam import exam_metrics
    from inspect_clbench.metrics.solving import clbench_metrics

    def names(judges: int) -> list[str]:
        votes = [{"judge": str(n), "solved": True, "status": "y"} for n in range(judges)]
        scores = [
            SampleScore(
                score=Score(value=CORRECT, metadata={"epoch": n, "votes": votes}),
                sample_id="1",
                sample_metadata={
                    "context_category": "<category>",
                    "sub_category": "<sub-category>",
                },
            )
            for n in (1, 2)
        ]
        metrics: list[Any] = [*clbench_metrics(), judge_agreement()]
        return [key for metric in metrics for key in metric(scores)]

    keys = dict.fromkeys([*names(1), *names(2), *names(3)])
    case = SampleScore(score=Score(value=CORRECT), sample_metadata={"kind": "<kind>"})
    of_exam: list[Any] = list(exam_metrics())
    exam = [key for metric in of_exam for key in metric([case, case])]
    of_labels: list[Any] = [error_type_rates(), error_type_coverage()]
    labels = [key for metric in of_labels for key in metric([])]
    return "\n\n".join([
        "# Metrics",
        "Every metric sees each score of each epoch, whatever reducer is set, and computes its "
        "value per run first. Samples that ended in an error have no score and are in no rate. "
        "A value that cannot be computed is `nan`.",
        "## Of `rubric_judge`",
        described(keys, METRICS, "METRICS"),
        "## Of `error_types`",
        described(labels, ERROR_METRICS, "ERROR_METRICS"),
        "## Of `exam_verdict`",
        described(exam, EXAM_METRICS, "EXAM_METRICS"),
    ]) + "\n"  # fmt: skip


def metadata_page() -> str:
    """The keys that the log of a run holds, and the columns of `answers_df`."""
    from inspect_clbench.judge.reply import FailureKind
    from inspect_clbench.metrics.error_types import Unlabelled
    from inspect_clbench.tasks import clbench, judge_exam

    task = clbench(dataset="demo", contexts=8)
    sample = task.dataset[0].metadata or {}
    return "\n\n".join([
        "# Metadata keys",
        "What a log holds beside Inspect's own fields. Tools that read logs can rely on these "
        "keys within a version of the task (`Task(version=...)`).",
        "## Of the task (`eval.metadata`)",
        described(task.metadata or {}, TASK_METADATA, "TASK_METADATA"),
        "## Of a sample (`sample.metadata`)",
        described(sample, SAMPLE_METADATA, "SAMPLE_METADATA"),
        "## Of a score of `rubric_judge`",
        "The value is `C` (solved), `I` (not solved) or `N` (no verdict, with "
        "`judge_failure=unscored`). Inspect's `reason` is `grader_failed` for a row without a "
        "verdict and `no_response` for an empty answer.",
        described(SCORE_METADATA, SCORE_METADATA, "SCORE_METADATA"),
        "### Kinds of `judge_error`",
        "The error begins with its kind, followed by a detail.",
        described(get_args(FailureKind), FAILURES, "FAILURES"),
        "## Of a score of `error_types`",
        "The value is the types that apply, joined by `+` (`none` if no type does), or what "
        f"kept the answer from being labelled: {_code(get_args(Unlabelled))}.",
        described(LABEL_METADATA, LABEL_METADATA, "LABEL_METADATA"),
        "## Of a sample of `judge_exam`",
        "Its score of `exam_verdict` is `C` if the verdict is right. The score's metadata are those of "
        "`rubric_judge`; the reason of an unusable reply is `invalid_response_format`.",
        described(judge_exam().dataset[0].metadata or {}, EXAM_METADATA, "EXAM_METADATA"),
        "## Columns of `answers_df`",
        described(ANSWER_COLUMNS, ANSWER_COLUMNS, "ANSWER_COLUMNS"),
    ]) + "\n"  # fmt: skip


def api_page() -> str:
    """What `mkdocstrings` makes of the public names."""
    parts = [
        "# Python API",
        "[Python](../python.md) shows how these functions are used together.",
    ]
    for module, text in API.items():
        names = import_module(module).__all__
        parts += [f"## {module}", text, *(f"::: {module}.{name}" for name in names)]
    for module, names in MORE_API.items():
        parts += [f"## {module}", *(f"::: {module}.{name}" for name in names)]
    return "\n\n".join(parts) + "\n"


def notebook_page() -> str:
    """The notebook as a page, with the outputs that it was last executed with."""
    notebook = json.loads((ROOT / "docs" / "notebook.ipynb").read_text("utf-8"))
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            text = output.get("text") or output["data"]["text/plain"]
            parts.append(f"```text\n{''.join(text).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def prompts_page() -> str:
    """The prompts that the package contains, with what stands in a score's metadata."""
    from inspect_clbench.judge.error_types import label_prompt
    from inspect_clbench.judge.prompt import load_judge_prompt

    parts = [
        "# Prompts",
        "The two prompts of this package, as they are sent. Name and sha256 stand in the "
        "metadata of every score. The original prompt of the benchmark (`judge_prompt=upstream`) "
        "is not part of the package.",
    ]
    for title, prompt in {
        "The rubric judge": load_judge_prompt("builtin"),
        "Error types": label_prompt(),
    }.items():
        parts += [
            f"## {title}",
            f"Name `{prompt.name}`, sha256 `{prompt.sha256}`.",
            f"~~~text\n{prompt.template.strip()}\n~~~",
        ]
    return "\n\n".join(parts) + "\n"


def _root_file(name: str) -> Callable[[], str]:
    return (ROOT / name).read_text


PAGES: dict[str, Callable[[], str]] = {
    "changelog.md": _root_file("CHANGELOG.md"),
    "contributing.md": _root_file("CONTRIBUTING.md"),
    "security.md": _root_file("SECURITY.md"),
    "reference/prompts.md": prompts_page,
    "notebook.md": notebook_page,
    "reference/commands.md": commands_page,
    "reference/tasks.md": tasks_page,
    "reference/metrics.md": metrics_page,
    "reference/metadata.md": metadata_page,
    "reference/api.md": api_page,
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, make in PAGES.items():
        files.append(File.generated(config, name, content=make()))
    return files


_pages: list[Page] = []


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    _pages[:] = nav.pages


def on_env(env: Any, config: MkDocsConfig, files: Files) -> None:
    """Write llms.txt, the list of the pages, and each page as Markdown beside its HTML."""
    site = Path(config.site_dir)
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", "", "## Pages", ""]
    for page in _pages:
        target = site / page.file.src_uri
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page.markdown or "", "utf-8")
        lines.append(
            f"- [{page.title}]({page.file.src_uri}): {_first_sentence(page.markdown or '')}"
        )
    (site / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")


def _first_sentence(markdown: str) -> str:
    parts = markdown.split("\n\n")
    text = next(part for part in parts if part[:1].isalpha() or part[:1] in ("`", "["))
    return f"{' '.join(text.split()).split('. ')[0].rstrip('.:')}."

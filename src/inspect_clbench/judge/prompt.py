"""What the judge is asked: rubric lines, the built-in template, or the original prompt.

The original prompt is not part of this package: it is taken out of its pinned file, which is
read and never executed.
"""

import ast
import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import httpx
from inspect_ai.model import ModelOutput
from platformdirs import user_cache_path

from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import replacing

# How an output ends that met a limit on its length.
CUT_OFF = ("max_tokens", "model_length")

RUBRICS = "{rubrics_text}"
ANSWER = "{model_output}"

UPSTREAM_COMMIT = "f34052c893e932c90c5caa417990c756d069e26b"
UPSTREAM_SHA256 = "f840935f89b7193c4ff6a67961703cb1d1f28d1c95719c68572999df7db87c42"
UPSTREAM_URL = (
    f"https://raw.githubusercontent.com/Tencent-Hunyuan/CL-bench/{UPSTREAM_COMMIT}/eval.py"
)
_MOST_BYTES = 1_000_000  # the original has 16,126
_FETCH_BY_HAND = (
    "Get that file on a machine with access and give its path: -T judge_prompt=path/to/eval.py"
)

_NO_RUBRICS = "(This task lists no rubric.)"


@dataclass(frozen=True)
class Template:
    """The text of a judge's one message, with placeholders."""

    name: str
    template: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.template.encode()).hexdigest()

    def fill(self, values: Mapping[str, str]) -> str:
        """Put each value in the place of its placeholder, literally and whole."""
        # Cut at its placeholders first, so that those inside a value stay as they are.
        places = "|".join(re.escape(place) for place in values)
        parts = re.split(f"({places})", self.template)
        return "".join(values.get(part, part) for part in parts)


class JudgePrompt(Template):
    """Asks for a verdict: a place for the rubrics and one for the answer."""

    def render(self, rubrics: Sequence[str], answer: str) -> str:
        return self.fill({RUBRICS: rubric_lines(rubrics), ANSWER: answer})


def graded_text(output: ModelOutput) -> str:
    """The part of a model's output that is graded: nothing, if it only thought.

    Inspect takes inline thinking out of an output, but hands it through where nothing
    else is there; one that was cut off while thinking has no answer either.
    """
    text = output.completion.strip()
    if text.startswith("<think>"):
        cut_off = not output.empty and output.stop_reason in CUT_OFF
        if text.endswith("</think>") or (cut_off and "</think>" not in text):
            return ""
    return output.completion if text else ""


def numbered_rubrics(rubrics: Sequence[str]) -> list[tuple[int, str]]:
    """The rubrics with their positions; a blank one leaves a gap in the numbers."""
    return [(i, r.strip()) for i, r in enumerate(rubrics, start=1) if r.strip()]


def missed_rubrics(rubrics: Sequence[tuple[int, str]], status: str) -> list[tuple[int, str]]:
    """The rubrics not met, by a status letter for each; empty where the judge did not say."""
    if len(status) != len(rubrics):
        return []
    return [one for one, letter in zip(rubrics, status, strict=True) if letter != "y"]


def rubric_lines(rubrics: Sequence[str]) -> str:
    """The rubrics as the judge reads them, one numbered line each."""
    lines = [f"{number}. {text}" for number, text in numbered_rubrics(rubrics)]
    return "\n".join(lines) if lines else _NO_RUBRICS


def load_judge_prompt(judge_prompt: str = "builtin") -> JudgePrompt:
    """The template that a user named: `builtin`, `upstream` or a path."""
    if judge_prompt == "builtin":
        return _builtin()
    if judge_prompt == "upstream":
        return JudgePrompt("upstream", upstream_template(_upstream_source()))
    try:
        if not isinstance(judge_prompt, str) or not judge_prompt.strip():
            raise ValueError("no name")  # a command line makes null or a list of some values
        path = Path(judge_prompt).expanduser()
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
    except (OSError, RuntimeError, ValueError) as ex:
        raise ClbenchError(
            f"judge_prompt={judge_prompt}: no such template "
            f"({getattr(ex, 'strerror', None) or ex}). Use builtin, upstream, or the path "
            "of a text template or of a copy of CL-bench's eval.py."
        ) from None
    if _sha256(content) == UPSTREAM_SHA256:
        return JudgePrompt("upstream", upstream_template(content))
    if path.suffix == ".py":
        raise ClbenchError(
            f"{path}: {_not_upstream(content)} Take the file from {UPSTREAM_URL}, "
            "unchanged down to its line endings; or, for a template of your own, give "
            "the file another ending than .py."
        )
    try:
        template = content.decode("utf-8-sig")
    except UnicodeDecodeError as ex:
        raise ClbenchError(
            f"{path}: not UTF-8 text (byte {ex.start + 1}: {ex.reason}). Save the "
            "template as UTF-8."
        ) from None
    for placeholder in (RUBRICS, ANSWER):
        if (count := template.count(placeholder)) != 1:
            raise ClbenchError(
                f"{path}: the placeholder {placeholder} must stand in a judge "
                f"template exactly once; it stands there {count} times."
            )
    return JudgePrompt(path.name, template)


@cache
def _builtin() -> JudgePrompt:
    return JudgePrompt("builtin", packaged_text("builtin.txt"))


def packaged_text(name: str) -> str:
    """A template of this package."""
    return (files("inspect_clbench.judge") / name).read_text(encoding="utf-8")


def upstream_template(source: bytes) -> str:
    """The original prompt out of the source of `eval.py`, which is not executed.

    The source was checked by its hash, so a file of another shape does not come here.
    """
    nodes = ast.walk(ast.parse(source))
    judge = next(node for node in nodes if getattr(node, "name", "") == "call_judge_api")
    for node in ast.walk(judge):
        match node:
            case ast.Assign([ast.Name("grading_prompt")], ast.JoinedStr(parts)):
                return "".join(map(_template_part, parts))
    raise AssertionError("call_judge_api has no grading_prompt")


def _template_part(part: ast.expr) -> str:
    match part:
        case ast.FormattedValue(ast.Name(name)):
            return f"{{{name}}}"
        case ast.Constant(text):
            return str(text)
    raise AssertionError(f"line {part.lineno}: the prompt is not plain text")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _not_upstream(content: bytes) -> str:
    return (
        f"this is not CL-bench's eval.py at commit {UPSTREAM_COMMIT[:12]} (sha256 "
        f"{_sha256(content)[:12]}…, expected {UPSTREAM_SHA256[:12]}…)."
    )


def upstream_cache_file() -> Path:
    """Where the original `eval.py` is kept after its download."""
    return user_cache_path("inspect_clbench") / f"upstream-eval-{UPSTREAM_COMMIT[:12]}.py"


def _upstream_source() -> bytes:
    cached = upstream_cache_file()
    with suppress(OSError):
        if _sha256(content := cached.read_bytes()) == UPSTREAM_SHA256:
            return content
    content = _download()
    # A cache folder that cannot be written to only costs another download.
    with suppress(OSError, ClbenchError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        with replacing(cached) as file:
            file.write(content)
    return content


def _download() -> bytes:
    content = b""
    try:
        with httpx.stream("GET", UPSTREAM_URL, timeout=30, follow_redirects=True) as response:
            for chunk in response.raise_for_status().iter_bytes():
                content += chunk
                if len(content) > _MOST_BYTES:
                    break
    except Exception as ex:  # a broken proxy or certificate setting is not an HTTPError
        raise ClbenchError(
            f"judge_prompt=upstream: the original prompt could not be fetched from "
            f"{UPSTREAM_URL} ({type(ex).__name__}: {ex}). {_FETCH_BY_HAND}"
        ) from None
    if _sha256(content) != UPSTREAM_SHA256:
        raise ClbenchError(
            f"judge_prompt=upstream: {UPSTREAM_URL} gave something else: "
            f"{_not_upstream(content)} Does a proxy answer in its place? "
            f"{_FETCH_BY_HAND}"
        )
    return content

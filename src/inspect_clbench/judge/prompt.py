"""What the judge is asked: the built-in template, the original prompt, or a user's own.

The original prompt is not part of this package: it is taken out of its pinned file, which is
read and never executed.
"""

import ast
import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import httpx
from inspect_ai.model import ModelOutput
from platformdirs import user_cache_path

from inspect_clbench.errors import ClbenchError

RUBRICS = "{rubrics_text}"
ANSWER = "{model_output}"

UPSTREAM_COMMIT = "f34052c893e932c90c5caa417990c756d069e26b"
UPSTREAM_SHA256 = "f840935f89b7193c4ff6a67961703cb1d1f28d1c95719c68572999df7db87c42"
UPSTREAM_URL = f"https://raw.githubusercontent.com/Tencent-Hunyuan/CL-bench/{UPSTREAM_COMMIT}/eval.py"

# How an output ends that holds a provider's error in place of the model's words.
_REFUSALS = ("content_filter", "model_length")


@dataclass(frozen=True)
class Template:
    """The text of a judge's one message, with placeholders."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def fill(self, values: Mapping[str, str]) -> str:
        """Put each value in the place of its placeholder, literally."""
        # Cut at the placeholders first, so that those inside a value stay as they are.
        places = "|".join(map(re.escape, values))
        return "".join(values.get(part, part) for part in re.split(f"({places})", self.text))


class JudgePrompt(Template):
    """Asks for a verdict: a place for the rubrics and one for the answer."""

    def render(self, rubrics: Sequence[str], answer: str) -> str:
        lines = [f"{number}. {rubric}" for number, rubric in numbered_rubrics(rubrics)]
        return self.fill({RUBRICS: "\n".join(lines) or "(This task lists no rubric.)", ANSWER: answer})


def numbered_rubrics(rubrics: Sequence[str]) -> list[tuple[int, str]]:
    """The rubrics with their positions; a blank one leaves a gap in the numbers."""
    return [(number, rubric.strip()) for number, rubric in enumerate(rubrics, start=1) if rubric.strip()]


def graded_text(output: ModelOutput) -> str:
    """The part of a model's output that is graded: nothing where it only thought.

    Inspect takes inline thinking out of an output, but hands it through where there is nothing
    else; one that was cut off while thinking has no answer either. Where a provider turned the
    request down, Inspect puts its error in place of the answer, without usage.
    """
    if output.empty or (output.stop_reason in _REFUSALS and output.usage is None):
        return ""
    text = output.completion.strip()
    if text.startswith("<think>"):
        unfinished = output.stop_reason == "max_tokens" and "</think>" not in text
        if text.endswith("</think>") or unfinished:
            return ""
    return output.completion if text else ""


def load_judge_prompt(judge_prompt: str = "builtin") -> JudgePrompt:
    """The template that a user named.

    Args:
        judge_prompt: `builtin`; `upstream`, the original prompt, fetched and checked; or the
            path of a template or of a copy of the original eval.py.
    """
    if judge_prompt == "builtin":
        return JudgePrompt("builtin", (files("inspect_clbench.judge") / "builtin.txt").read_text("utf-8"))
    if judge_prompt == "upstream":
        return JudgePrompt("upstream", upstream_template(_upstream_source()))
    try:
        path = Path(judge_prompt).expanduser()
        content = path.read_bytes()
        template = content.decode("utf-8-sig")
    except (OSError, RuntimeError, TypeError, ValueError) as ex:
        raise ClbenchError(
            f"judge_prompt={judge_prompt}: no such template ({ex}). Use builtin, upstream, or the path of a "
            "template, a text in UTF-8, or of a copy of CL-bench's eval.py."
        ) from None
    if hashlib.sha256(content).hexdigest() == UPSTREAM_SHA256:
        return JudgePrompt("upstream", upstream_template(content))
    if path.suffix == ".py" or any(template.count(place) != 1 for place in (RUBRICS, ANSWER)):
        raise ClbenchError(
            f"{path}: not a judge template, in which {RUBRICS} and {ANSWER} stand once each, and not the "
            f"original eval.py, unchanged down to its line endings, from {UPSTREAM_URL}."
        )
    return JudgePrompt(path.name, template)


def upstream_template(source: bytes) -> str:
    """The original prompt out of the source of `eval.py`, which is not executed.

    The source was checked by its hash, so a file of another shape does not come here.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Assign([ast.Name("grading_prompt")], ast.JoinedStr(parts)):
                return "".join(map(_template_part, parts))
    raise AssertionError("eval.py assembles no grading_prompt")


def _template_part(part: ast.expr) -> str:
    """A piece of text as it is, and a variable as the placeholder of its name."""
    return (
        f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else ast.literal_eval(part)
    )


def _upstream_source() -> bytes:
    """The original `eval.py`, from the user's cache or the network."""
    path = user_cache_path("inspect_clbench") / f"upstream-eval-{UPSTREAM_COMMIT[:12]}.py"
    with suppress(OSError):
        if hashlib.sha256(content := path.read_bytes()).hexdigest() == UPSTREAM_SHA256:
            return content
    try:
        response = httpx.get(UPSTREAM_URL, timeout=30, follow_redirects=True)
        content = response.raise_for_status().content
        problem = "" if hashlib.sha256(content).hexdigest() == UPSTREAM_SHA256 else "another file came"
    except Exception as ex:  # a broken proxy or certificate setting is not an HTTPError
        problem = f"{type(ex).__name__}: {ex}"
    if problem:
        raise ClbenchError(
            f"judge_prompt=upstream: the original prompt could not be fetched from {UPSTREAM_URL} ({problem}). "
            "Get that file on a machine with access and give its path: -T judge_prompt=path/to/eval.py"
        )
    with suppress(OSError):  # a cache that cannot be written to costs another download
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return content

"""What the judge is asked: rubric lines, the built-in template, and the original prompt of a pinned file."""

import ast
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import httpx
from platformdirs import user_cache_path

from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import replacing

RUBRICS = "{rubrics_text}"
ANSWER = "{model_output}"

UPSTREAM_COMMIT = "f34052c893e932c90c5caa417990c756d069e26b"
UPSTREAM_SHA256 = "f840935f89b7193c4ff6a67961703cb1d1f28d1c95719c68572999df7db87c42"
UPSTREAM_URL = (
    f"https://raw.githubusercontent.com/Tencent-Hunyuan/CL-bench/{UPSTREAM_COMMIT}/eval.py"
)
_UPSTREAM_MOST_BYTES = 1_000_000
_FETCH_BY_HAND = (
    "Get that file on a machine with access and give its path: -T judge_prompt=path/to/eval.py"
)

_NO_RUBRICS = "(This task lists no rubric.)"


@dataclass(frozen=True)
class JudgePrompt:
    """A template for the judge's one message, with a place for rubrics and answer."""

    name: str
    template: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.template.encode()).hexdigest()

    def render(self, rubrics: Sequence[str], answer: str) -> str:
        """Put rubrics and answer in their places, each literally and once.

        The template is cut at the placeholders first, so that placeholders inside
        a rubric or an answer stay as they are.
        """
        values = {RUBRICS: rubric_lines(rubrics), ANSWER: answer}
        first, second = sorted(values, key=self.template.index)
        head, rest = self.template.split(first)
        middle, tail = rest.split(second)
        return "".join((head, values[first], middle, values[second], tail))


def graded_text(completion: str) -> str:
    """The part of a model's output that is graded: nothing, if it only thought.

    Inspect takes inline thinking out of an output, but hands it through where nothing
    else is there; one that was cut off while thinking has no answer either.
    """
    text = completion.strip()
    only_thought = text.startswith("<think>") and (
        "</think>" not in text or text.endswith("</think>")
    )
    return "" if only_thought or not text else completion


def numbered_rubrics(rubrics: Sequence[str]) -> list[tuple[int, str]]:
    """The rubrics with their positions; a blank one leaves a gap in the numbers."""
    return [(i, r.strip()) for i, r in enumerate(rubrics, start=1) if r.strip()]


def rubric_lines(rubrics: Sequence[str]) -> str:
    """The rubrics as the judge reads them, one numbered line each."""
    lines = [f"{number}. {text}" for number, text in numbered_rubrics(rubrics)]
    return "\n".join(lines) if lines else _NO_RUBRICS


def load_judge_prompt(judge_prompt: str = "builtin") -> JudgePrompt:
    """Find the template a user named.

    Args:
        judge_prompt: `builtin`; `upstream` (the original prompt, downloaded once
            and checked); or a path, to a copy of the original `eval.py` or to a
            text template.
    """
    if judge_prompt == "builtin":
        return _builtin()
    if judge_prompt == "upstream":
        return JudgePrompt("upstream", upstream_template(_upstream_source()))
    try:
        path = Path(judge_prompt).expanduser()
        content = path.read_bytes()
    except (OSError, RuntimeError, ValueError) as ex:
        raise ClbenchError(
            f"judge_prompt={judge_prompt}: no such template "
            f"({getattr(ex, 'strerror', None) or ex}). Use builtin, upstream, or the path "
            "of a text template or of a copy of CL-bench's eval.py."
        ) from None
    if path.suffix == ".py" or _is_upstream(content):
        if not _is_upstream(content):
            raise ClbenchError(
                f"{path}: {_not_upstream(content)} Take the file from {UPSTREAM_URL}, "
                "unchanged down to its line endings; or, for a template of your own, give "
                "the file another ending than .py."
            )
        return JudgePrompt("upstream", upstream_template(content.decode()))
    try:
        template = content.decode("utf-8-sig")
    except UnicodeDecodeError as ex:
        raise ClbenchError(
            f"{path}: not UTF-8 text (byte {ex.start + 1}: {ex.reason}). Save the "
            "template as UTF-8."
        ) from None
    _check_placeholders(template, str(path))
    return JudgePrompt(path.name, template)


def upstream_template(source: str) -> str:
    """Take the original prompt out of the source of `eval.py`, without executing it."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as ex:
        raise ClbenchError(f"eval.py: not Python source ({ex}).") from None
    for node in ast.walk(module):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == "call_judge_api"
        ):
            for statement in ast.walk(node):
                value = _assigned_prompt(statement)
                if value is not None:
                    template = _literal_text(value)
                    _check_placeholders(template, "eval.py")
                    return template
    raise ClbenchError("eval.py: no prompt found in call_judge_api.")


@cache
def _builtin() -> JudgePrompt:
    resource = files("inspect_clbench.judge") / "builtin.txt"
    return JudgePrompt("builtin", resource.read_text(encoding="utf-8"))


def _assigned_prompt(statement: ast.AST) -> ast.expr | None:
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id="grading_prompt")], value=value)
            | ast.AnnAssign(target=ast.Name(id="grading_prompt"), value=value)
        ):
            return value
    return None


def _literal_text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(value=ast.Name(id=name), conversion=-1, format_spec=None):
            return f"{{{name}}}"
        case ast.JoinedStr(values=values):
            return "".join(_literal_text(value) for value in values)
    raise ClbenchError(f"eval.py: line {node.lineno}: the prompt is not plain text.")


def _check_placeholders(template: str, where: str) -> None:
    for placeholder in (RUBRICS, ANSWER):
        if (count := template.count(placeholder)) != 1:
            raise ClbenchError(
                f"{where}: the placeholder {placeholder} must stand in a judge "
                f"template exactly once; it stands there {count} times."
            )


def _is_upstream(content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == UPSTREAM_SHA256


def _not_upstream(content: bytes) -> str:
    return (
        f"this is not CL-bench's eval.py at commit {UPSTREAM_COMMIT[:12]} (sha256 "
        f"{hashlib.sha256(content).hexdigest()[:12]}…, expected {UPSTREAM_SHA256[:12]}…)."
    )


def upstream_cache_file() -> Path:
    """Where the original `eval.py` is kept after its download."""
    return user_cache_path("inspect_clbench") / f"upstream-eval-{UPSTREAM_COMMIT[:12]}.py"


def _upstream_source() -> str:
    cached = upstream_cache_file()
    try:
        content = cached.read_bytes()
    except OSError:
        content = b""
    if not _is_upstream(content):
        content = _download()
        # A cache folder that cannot be written to only costs another download.
        with suppress(OSError), replacing(cached) as file:
            file.write(content)
    return content.decode()


def _download() -> bytes:
    content = bytearray()
    try:
        with httpx.stream("GET", UPSTREAM_URL, timeout=30, follow_redirects=True) as response:
            response.raise_for_status()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > _UPSTREAM_MOST_BYTES:
                    break
    except Exception as ex:  # a broken proxy or certificate setting is not an HTTPError
        raise ClbenchError(
            f"judge_prompt=upstream: the original prompt could not be fetched from "
            f"{UPSTREAM_URL} ({type(ex).__name__}: {ex}). {_FETCH_BY_HAND}"
        ) from None
    if not _is_upstream(bytes(content)):
        raise ClbenchError(
            f"judge_prompt=upstream: {UPSTREAM_URL} gave something else: "
            f"{_not_upstream(bytes(content))} Does a proxy answer in its place? "
            f"{_FETCH_BY_HAND}"
        )
    return bytes(content)

"""Where rows come from, what makes one valid, and how it becomes a Sample."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypeVar

import fsspec
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
)
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from inspect_clbench.errors import ClbenchError
from inspect_clbench.taxonomy import CLBENCH, Benchmark

DEMO = "demo"

_COMPRESSION = {".gz": "gzip", ".xz": "xz", ".zst": "zstd"}
_FORMATS = (".jsonl", ".json", ".parquet")
_MOST_LINE_BYTES = 64 * 1024 * 1024
_MOST_FILE_BYTES = 4 * 1024 * 1024 * 1024

T = TypeVar("T")


def _rubric_text(rubric: Any) -> Any:
    # The original scripts accept {"rubric_criteria": "..."} beside plain text.
    if isinstance(rubric, dict) and "rubric_criteria" in rubric:
        return rubric["rubric_criteria"]
    return rubric


class Message(BaseModel):
    model_config = ConfigDict(strict=True)

    role: Literal["system", "user", "assistant"]
    content: str

    def as_chat_message(self) -> ChatMessage:
        match self.role:
            case "system":
                return ChatMessageSystem(content=self.content)
            case "user":
                return ChatMessageUser(content=self.content)
            case "assistant":
                return ChatMessageAssistant(content=self.content)


class Metadata(BaseModel):
    model_config = ConfigDict(strict=True)

    task_id: str = Field(min_length=1)
    context_id: str | None = Field(default=None, min_length=1)
    context_category: str
    sub_category: str = Field(
        validation_alias=AliasChoices("sub_category", "context_subcategory")
    )


class Row(BaseModel):
    """A task of the benchmark, as its file holds it."""

    model_config = ConfigDict(strict=True)

    messages: list[Message] = Field(min_length=1)
    rubrics: list[Annotated[str, BeforeValidator(_rubric_text)]] = Field(min_length=1)
    metadata: Metadata

    def as_sample(self) -> Sample:
        return Sample(
            id=self.metadata.task_id,
            input=[message.as_chat_message() for message in self.messages],
            metadata={
                "context_id": self.metadata.context_id,
                "context_category": self.metadata.context_category,
                "sub_category": self.metadata.sub_category,
                # Small enough for a log's sample summaries, from which reports are made.
                "turns": sum(message.role == "user" for message in self.messages),
                "prompt_chars": sum(len(message.content) for message in self.messages),
                "rubrics": self.rubrics,
            },
        )


def load_samples(
    source: str,
    benchmark: Benchmark = CLBENCH,
    *,
    category: str | Sequence[str] | None = None,
    sub_category: str | Sequence[str] | None = None,
) -> MemoryDataset:
    """Read, validate and filter the rows of a dataset, in their order.

    Args:
        source: The benchmark's hub id, a path or URL of a file, or `demo`.
        benchmark: The benchmark that the rows belong to.
        category: Categories to keep; all when not given.
        sub_category: Sub-categories to keep; all when not given.
    """
    categories = _known_names(category, benchmark.categories, "category")
    sub_categories = _known_names(sub_category, benchmark.sub_categories, "sub_category")
    rows = validated(read_records(source, benchmark), source, benchmark)
    samples = [
        row.as_sample()
        for row in rows
        if row.metadata.context_category in categories
        and row.metadata.sub_category in sub_categories
    ]
    if not samples:
        raise ClbenchError(
            f"{source}: no row is left for category={category} and "
            f"sub_category={sub_category}. A sub-category belongs to one category."
        )
    return MemoryDataset(samples, name=benchmark.title, location=source)


def validated(
    records: Iterable[tuple[int, Any]], source: str, benchmark: Benchmark
) -> Iterator[Row]:
    """The typed rows of raw records; the first one that is wrong is an error."""
    first_seen: dict[str, int] = {}
    for number, record in records:
        row = _validated_row(record, number, source)
        metadata = row.metadata
        where = f"{source}, row {number}, task {metadata.task_id}"
        if (earlier := first_seen.setdefault(metadata.task_id, number)) != number:
            raise ClbenchError(
                f"{where}: the task id already stands in row {earlier}. "
                "Each task must have an id of its own; remove one of the rows."
            )
        if benchmark.has_contexts and metadata.context_id is None:
            raise ClbenchError(f"{where}: metadata.context_id is missing.")
        known = benchmark.groups.get(metadata.context_category)
        if known is None:
            raise ClbenchError(
                f"{where}: unknown context_category {metadata.context_category!r}. "
                f"{benchmark.title} knows: {', '.join(benchmark.categories)}."
            )
        if metadata.sub_category not in known:
            raise ClbenchError(
                f"{where}: unknown sub_category {metadata.sub_category!r} in "
                f"{metadata.context_category}, which has: {', '.join(known)}."
            )
        yield row
    if not first_seen:
        raise ClbenchError(f"{source}: the dataset has no rows.")


def read_records(source: str, benchmark: Benchmark) -> Iterator[tuple[int, Any]]:
    """Raw records with their row numbers, counted from 1."""
    if source == DEMO:
        text = (files("inspect_clbench.demo") / "rows.jsonl").read_text("utf-8")
        return _numbered(json.loads(line) for line in text.split("\n") if line)
    if source == benchmark.hub_id:
        return _numbered(_hub_records(benchmark))
    return _file_records(source)


def _numbered(items: Iterable[T]) -> Iterator[tuple[int, T]]:
    return enumerate(items, start=1)


def _hub_records(benchmark: Benchmark) -> Iterator[Any]:
    from datasets import load_dataset  # slow to import, and not needed for files

    try:
        rows = load_dataset(benchmark.hub_id, split="train", revision=benchmark.revision)
    except Exception as ex:
        raise ClbenchError(
            f"{benchmark.hub_id}: the dataset could not be loaded from the hub "
            f"({type(ex).__name__}: {ex}). Check the connection, or download the file "
            f"elsewhere (revision {benchmark.revision}) and give its path: "
            "-T dataset=path/to/file.jsonl"
        ) from ex
    return iter(rows)


def _file_records(source: str) -> Iterator[tuple[int, Any]]:
    path, compression = source, None
    for suffix, name in _COMPRESSION.items():
        if source.lower().endswith(suffix):
            path, compression = source[: -len(suffix)], name
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise ClbenchError(
            f"dataset={source}: not a dataset this task knows. Use {CLBENCH.hub_id}, "
            f"demo, or a path or URL that ends in {', '.join(_FORMATS)}, as it is or "
            f"compressed ({', '.join(_COMPRESSION)})."
        )
    try:
        with fsspec.open(source, "rb", compression=compression) as file:
            match suffix:
                case ".jsonl":
                    yield from _jsonl_records(file, source)
                case ".json":
                    yield from _json_records(file, source)
                case _:
                    yield from _parquet_records(file)
    except ClbenchError:
        raise
    except FileNotFoundError:
        raise ClbenchError(f"dataset={source}: no such file.") from None
    except Exception as ex:
        raise ClbenchError(
            f"dataset={source}: cannot be read ({type(ex).__name__}: {ex}). "
            "Is the file complete, and is its name's ending right?"
        ) from ex


def _jsonl_records(file: IO[bytes], source: str) -> Iterator[tuple[int, Any]]:
    # Split on line feeds only: rows hold characters that str.splitlines() cuts at.
    total = 0
    for number, line in _numbered(iter(lambda: file.readline(_MOST_LINE_BYTES), b"")):
        total += len(line)
        if len(line) >= _MOST_LINE_BYTES or total > _MOST_FILE_BYTES:
            raise ClbenchError(f"{source}, row {number}: too large to be a row.")
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except ValueError as ex:
            raise ClbenchError(
                f"{source}, row {number}: not valid JSON ({ex}). "
                "Is the file cut off or edited by hand?"
            ) from None


def _json_records(file: IO[bytes], source: str) -> Iterator[tuple[int, Any]]:
    try:
        records = json.loads(_bounded(file, source))
    except ValueError as ex:
        raise ClbenchError(f"{source}: not valid JSON ({ex}).") from None
    if not isinstance(records, list):
        raise ClbenchError(f"{source}: expected a JSON array of rows.")
    return _numbered(records)


def _parquet_records(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    import pyarrow.parquet as parquet  # comes with `datasets`, slow to import

    table = parquet.ParquetFile(file)
    return _numbered(row for batch in table.iter_batches() for row in batch.to_pylist())


def _bounded(file: IO[bytes], source: str) -> bytes:
    content = file.read(_MOST_FILE_BYTES + 1)
    if len(content) > _MOST_FILE_BYTES:
        raise ClbenchError(f"{source}: larger than {_MOST_FILE_BYTES} bytes.")
    return content


def _validated_row(record: Any, number: int, source: str) -> Row:
    try:
        row = Row.model_validate(record)
    except ValidationError as ex:
        error = ex.errors(include_url=False)[0]
        place = ".".join(str(part) for part in error["loc"]) or "row"
        raise ClbenchError(
            f"{source}, row {number}, task {_task_id(record)}: {place}: {error['msg']} "
            f"(found {_shown(error['input'])}). A row has messages (role and content), "
            "rubrics (texts) and metadata (task_id, context_id, context_category, "
            "sub_category)."
        ) from None
    if row.messages[-1].role != "user":
        raise ClbenchError(
            f"{source}, row {number}, task {row.metadata.task_id}: the last message must "
            f"be the user's, this one is the {row.messages[-1].role}'s."
        )
    return row


def _task_id(record: Any) -> str:
    metadata = record.get("metadata") if isinstance(record, dict) else None
    task_id = metadata.get("task_id") if isinstance(metadata, dict) else None
    return str(task_id) if task_id else "unknown"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def _known_names(
    wanted: str | Sequence[str] | None, known: Sequence[str], parameter: str
) -> set[str]:
    """The known names that a user meant, regardless of case; all when none is given."""
    if wanted is None:
        return set(known)
    by_fold = {name.casefold(): name for name in known}
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    chosen = set()
    for name in names:
        match = by_fold.get(re.sub(r"\s+", " ", str(name)).strip().casefold())
        if match is None:
            raise ClbenchError(f"{parameter}={name}: unknown. Known are: {'; '.join(known)}.")
        chosen.add(match)
    return chosen

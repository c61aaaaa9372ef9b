"""A row of the benchmark: what makes one valid, and the Sample that it becomes."""

import hashlib
import reprlib
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, TypeVar

from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from inspect_clbench.benchmarks import Benchmark
from inspect_clbench.errors import ClbenchError

_CHAT_MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}

_MOST_ID = 1_000


def _rubric_text(rubric: Any) -> Any:
    # The original scripts accept {"rubric_criteria": "..."} beside plain text.
    return rubric.get("rubric_criteria", rubric) if isinstance(rubric, dict) else rubric


def _encodable(text: str) -> str:
    if not text.isascii():
        text.encode()  # half a character, which JSON can hold, reaches no model
    return text


def _storable(task_id: str) -> str:
    if "\x00" in task_id or len(task_id) > _MOST_ID:
        raise ValueError(
            "no log can keep a sample under an id with a NUL character, or with more than "
            f"{_MOST_ID:,} characters; give the task another id"
        )
    return task_id


Text = Annotated[str, AfterValidator(_encodable)]
Name = Annotated[str, Field(min_length=1)]


class Message(BaseModel):
    # What else a message holds (names, tool calls) would not reach the model.
    model_config = ConfigDict(strict=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: Text

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, message: Any) -> Any:
        # Tables have each column in each row: what a message lacks is null there.
        if isinstance(message, dict) and len(message) > 2:
            return {key: value for key, value in message.items() if value is not None}
        return message


class Metadata(BaseModel):
    model_config = ConfigDict(strict=True)

    task_id: Annotated[Name, AfterValidator(_storable)]
    context_id: Name | None = None
    context_category: str
    sub_category: str = Field(
        validation_alias=AliasChoices("sub_category", "context_subcategory")
    )


class Row(BaseModel):
    """A task of the benchmark, as its file holds it."""

    model_config = ConfigDict(strict=True)

    messages: list[Message] = Field(min_length=1)
    rubrics: list[Annotated[Text, BeforeValidator(_rubric_text)]] = Field(min_length=1)
    metadata: Metadata

    def fingerprint(self) -> str:
        """A short hash of the messages and rubrics, to tell rows of the same id apart."""
        texts = [text for m in self.messages for text in (m.role, m.content)]
        return text_hash(str(len(texts)), *texts, *self.rubrics)

    def as_sample(self) -> Sample:
        return Sample(
            id=self.metadata.task_id,
            input=[_CHAT_MESSAGES[m.role](content=m.content) for m in self.messages],
            metadata={
                "context_id": self.metadata.context_id,
                "context_category": self.metadata.context_category,
                "sub_category": self.metadata.sub_category,
                # Small enough for a log's sample summaries, from which reports are made.
                "turns": sum(m.role == "user" for m in self.messages),
                "prompt_chars": sum(len(m.content) for m in self.messages),
                "fingerprint": self.fingerprint(),
                "rubrics": self.rubrics,
            },
        )


def text_hash(*texts: str) -> str:
    """A short hash of some texts, in 16 hex digits."""
    digest = hashlib.blake2b(digest_size=8)
    for text in texts:
        content = text.encode()
        digest.update(b"%d:" % len(content))
        digest.update(content)
    return digest.hexdigest()


R = TypeVar("R", bound=Row)


def validated_rows(
    records: Iterable[tuple[int, Any]], source: str, benchmark: Benchmark, row_type: type[R]
) -> Iterator[R]:
    """The typed rows of raw records; the first one that is wrong is an error."""
    first_seen: dict[str, int] = {}
    for number, record in records:
        row = _parsed(record, number, source, row_type)
        metadata = row.metadata
        where = f"{source}, row {number}, task {metadata.task_id}"
        if (role := row.messages[-1].role) != "user":
            raise ClbenchError(
                f"{where}: the last message must be the user's, this one is the {role}'s."
            )
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


def _parsed(record: Any, number: int, source: str, row_type: type[R]) -> R:
    try:
        return row_type.model_validate(record)
    except ValidationError as ex:
        error = ex.errors(include_url=False)[0]
        task_id = _task_id(record) or "unknown"
        place = ".".join(str(part) for part in error["loc"]) or "row"
        raise ClbenchError(
            f"{source}, row {number}, task {task_id}: {place}: {error['msg']} "
            f"(found {_shown(error['input'])}). A row has messages (role and content), "
            "rubrics (texts) and metadata (task_id, context_id, context_category, "
            "sub_category)."
        ) from None


def _shown(value: Any) -> str:
    text = reprlib.repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def _name_in(record: Any, key: str) -> str | None:
    name = record.get(key) if isinstance(record, dict) else None
    return name if isinstance(name, str) and name else None


def _task_id(record: Any) -> str | None:
    metadata = record.get("metadata") if isinstance(record, dict) else None
    return _name_in(metadata, "task_id")


def answered_task(record: Any, where: str) -> str:
    """The task that a row of the original scripts answers; `where` is for the error."""
    # `idx` repeats the task id; other tools count rows in it, so the metadata go first.
    if task_id := _task_id(record) or _name_in(record, "idx"):
        return task_id
    raise ClbenchError(
        f"{where}: neither metadata.task_id nor idx names a task. Expected a row as the "
        "original scripts write it: idx, messages, model_output, rubrics, metadata."
    )

"""A row of the benchmark: what makes one valid, and the Sample that it becomes."""

import reprlib
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, TypeVar

from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
)
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

from inspect_clbench.errors import ClbenchError
from inspect_clbench.taxonomy import Benchmark


def _rubric_text(rubric: Any) -> Any:
    # The original scripts accept {"rubric_criteria": "..."} beside plain text.
    if isinstance(rubric, dict) and "rubric_criteria" in rubric:
        return rubric["rubric_criteria"]
    return rubric


def _encodable(text: str) -> str:
    if not text.isascii():
        text.encode()  # half a character, which JSON can hold, reaches no model
    return text


Text = Annotated[str, AfterValidator(_encodable)]
Name = Annotated[str, Field(min_length=1), AfterValidator(_encodable)]


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

    task_id: Name
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


R = TypeVar("R", bound=Row)


def validated(
    records: Iterable[tuple[int, Any]], source: str, benchmark: Benchmark, row_type: type[R]
) -> Iterator[R]:
    """The typed rows of raw records; the first one that is wrong is an error."""
    first_seen: dict[str, int] = {}
    for number, record in records:
        row = _parsed(record, number, source, row_type)
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


def _parsed(record: Any, number: int, source: str, row_type: type[R]) -> R:
    try:
        row = row_type.model_validate(record)
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
    if isinstance(task_id, str) and task_id:
        return task_id
    return "unknown"


def _shown(value: Any) -> str:
    text = reprlib.repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def answer_id(record: Any, where: str) -> str:
    """The task that a row of the original scripts answers.

    `idx` repeats the task id there; other tools count rows in it, so the metadata go first.

    Args:
        record: The raw row.
        where: File and row, for the error if neither is there.
    """
    metadata = record.get("metadata") if isinstance(record, dict) else None
    candidates = (
        metadata.get("task_id") if isinstance(metadata, dict) else None,
        record.get("idx") if isinstance(record, dict) else None,
    )
    for task_id in candidates:
        if isinstance(task_id, str) and task_id:
            return task_id
    raise ClbenchError(
        f"{where}: neither metadata.task_id nor idx names a task. Expected a row as the "
        "original scripts write it: idx, messages, model_output, rubrics, metadata."
    )

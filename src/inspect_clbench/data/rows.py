"""A row of the benchmark: what makes one valid, and the Sample that it becomes."""

import hashlib
import reprlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Self

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
    ValidationInfo,
    model_validator,
)

from inspect_clbench.benchmarks import Benchmark, benchmark_of
from inspect_clbench.errors import ClbenchError

_CHAT_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


def _rubric_text(rubric: Any) -> Any:
    # The original scripts accept {"rubric_criteria": "..."} beside plain text.
    return rubric.get("rubric_criteria", rubric) if isinstance(rubric, dict) else rubric


def _encodable(text: str) -> str:
    text.encode()  # half a character, which JSON can hold, reaches no model
    return text


Text = Annotated[str, AfterValidator(_encodable)]
Name = Annotated[str, Field(pattern=r"^[^\x00]+$")]


class Message(BaseModel):
    # What else a message holds (names, tool calls) would not reach the model.
    model_config = ConfigDict(strict=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: Text

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, message: Any) -> Any:
        # Parquet has each column in each row: what a message lacks is null there.
        if isinstance(message, dict):
            return {key: value for key, value in message.items() if value is not None}
        return message


class Metadata(BaseModel):
    model_config = ConfigDict(strict=True)

    task_id: Name
    context_id: Name | None = None
    context_category: str
    sub_category: str = Field(validation_alias=AliasChoices("sub_category", "context_subcategory"))


class Row(BaseModel):
    """A task of the benchmark, as its file holds it."""

    model_config = ConfigDict(strict=True)

    messages: list[Message] = Field(min_length=1)
    rubrics: list[Annotated[Text, BeforeValidator(_rubric_text)]] = Field(min_length=1)
    metadata: Metadata

    @model_validator(mode="after")
    def _check_against_benchmark(self, info: ValidationInfo) -> Self:
        benchmark = info.context
        assert isinstance(benchmark, Benchmark)
        metadata = self.metadata
        category = benchmark.categories.get(metadata.context_category)
        if self.messages[-1].role != "user":
            raise ValueError(f"the last message must be the user's, not the {self.messages[-1].role}'s")
        if benchmark.has_contexts and metadata.context_id is None:
            raise ValueError("metadata.context_id is missing")
        if category is None:
            raise ValueError(f"unknown context_category; use one of: {', '.join(benchmark.categories)}")
        if metadata.sub_category not in category.sub_categories:
            raise ValueError(f"unknown sub_category; use one of: {', '.join(category.sub_categories)}")
        return self

    def as_sample(self) -> Sample:
        metadata = self.metadata
        return Sample(
            id=metadata.task_id,
            input=[_CHAT_MESSAGES[message.role](content=message.content) for message in self.messages],
            metadata={
                **metadata.model_dump(exclude={"task_id"}),
                # Small enough for a log's sample summaries, from which reports are made.
                "prompt_chars": sum(len(message.content) for message in self.messages),
                "fingerprint": self.fingerprint(),
                "rubrics": self.rubrics,
            },
        )

    def fingerprint(self) -> str:
        """A short hash of messages and rubrics, to tell rows of the same id apart."""
        texts = [text for message in self.messages for text in (message.role, message.content)]
        digest = hashlib.blake2b(digest_size=8)
        for text in [str(len(texts)), *texts, *self.rubrics]:
            content = text.encode()
            digest.update(b"%d:" % len(content) + content)
        return digest.hexdigest()


def read_samples(records: Iterable[tuple[int, Any]], source: str, benchmark: Benchmark) -> list[Sample]:
    """The samples of raw rows, in their order.

    Args:
        records: Rows with their numbers in the source.
        source: The name of the source, for errors.
        benchmark: Whose categories the rows must have.

    Raises:
        ClbenchError: The first row that is not valid, with its number and its task.
    """
    samples: list[Sample] = []
    numbers: dict[str, int] = {}
    for number, record in records:
        sample = _validated(record, f"{source}, row {number}", benchmark).as_sample()
        if (earlier := numbers.setdefault(str(sample.id), number)) != number:
            raise ClbenchError(
                f"{source}, row {number}, task {sample.id}: this task id already stands in row {earlier}. "
                "Each task needs an id of its own; remove one of the rows."
            )
        samples.append(sample)
    if not samples:
        raise ClbenchError(f"{source}: the dataset has no rows.")
    return samples


def _validated(record: Any, place: str, benchmark: Benchmark) -> Row:
    try:
        return Row.model_validate(record, context=benchmark)
    except ValidationError as ex:
        error = ex.errors(include_url=False)[0]
        field = ".".join(map(str, error["loc"]))
        problem = error["msg"].removeprefix("Value error, ")
        value = f" (it is {reprlib.repr(error['input'])[:60]})" if field else ""
        raise ClbenchError(
            f"{place}, task {task_of(record) or 'unknown'}: {field + ': ' if field else ''}{problem}{value}. "
            "A row has messages (role and content), rubrics (texts) and metadata (task_id, context_id, "
            "context_category, sub_category)."
        ) from None


def task_of(record: Any) -> str | None:
    """The task that a row names; `idx` repeats the id, but other tools count rows in it."""
    record = record if isinstance(record, dict) else {}
    metadata = record.get("metadata")
    names = [metadata.get("task_id") if isinstance(metadata, dict) else None, record.get("idx")]
    return next((name for name in names if isinstance(name, str) and name), None)


def benchmark_of_rows(records: Sequence[tuple[int, Any]]) -> Benchmark:
    """The benchmark of the first row; where it is of none, reading the rows tells what is wrong."""
    record = records[0][1] if records else None
    metadata = record.get("metadata") if isinstance(record, dict) else None
    return benchmark_of(str(metadata.get("context_category") if isinstance(metadata, dict) else ""))

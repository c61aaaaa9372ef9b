"""What models cost, as a user's file says."""

from collections.abc import Iterable
from pathlib import Path

import yaml
from inspect_ai.model import ModelUsage
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from inspect_clbench.errors import ClbenchError

_MILLION = 1_000_000
_EXAMPLE = "{input: 1.25, cached_input: 0.125, output: 10}"


class Price(BaseModel):
    """USD per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    """As `input` when not given."""

    cache_write: float | None = Field(default=None, ge=0)
    """What is written to the provider's cache; as `input` when not given."""

    output: float = Field(ge=0)
    """Reasoning tokens are part of the output."""

    def of(self, usage: ModelUsage) -> float:
        """What these tokens cost, in USD."""
        cached = self.input if self.cached_input is None else self.cached_input
        written = self.input if self.cache_write is None else self.cache_write
        return (
            usage.input_tokens * self.input
            + (usage.input_tokens_cache_read or 0) * cached
            + (usage.input_tokens_cache_write or 0) * written
            + usage.output_tokens * self.output
        ) / _MILLION


def read_prices(path: str) -> dict[str, Price]:
    """The prices of a YAML or JSON file: model to input, cached_input and output."""
    try:
        data = yaml.safe_load(Path(path).read_text("utf-8"))  # JSON is YAML
    except OSError as ex:
        raise ClbenchError(f"{path}: cannot be read ({ex.strerror}).") from None
    except (UnicodeDecodeError, yaml.YAMLError) as ex:
        raise ClbenchError(f"{path}: not YAML or JSON ({' '.join(str(ex).split())}).") from None
    try:
        return TypeAdapter(dict[str, Price]).validate_python(data)
    except ValidationError as ex:
        error = ex.errors(include_url=False)[0]
        place = ".".join(str(part) for part in error["loc"]) or "the file"
        raise ClbenchError(
            f"{path}: {place}: {error['msg']}. Give USD per million tokens for each model: "
            f"openai/gpt-5.1: {_EXAMPLE}"
        ) from None


def check_priced(models: Iterable[str], prices: dict[str, Price], where: str) -> None:
    """Refuse prices that leave out a model.

    Args:
        models: The models that used tokens.
        prices: Their prices.
        where: Where the prices stand, for the message.
    """
    missing = sorted(set(models) - prices.keys())
    if missing:
        raise ClbenchError(
            f"{where}: no price for {', '.join(missing)}. Add USD per million tokens: "
            f"{missing[0]}: {_EXAMPLE}"
        )

"""The models that judge, and the limits they are called with."""

from inspect_ai.model import GenerateConfig, Model, get_model, model_roles

from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.grading import BATCH_SECONDS, Judge, judge_limits

ROLE = "grader"
DEFAULT_JUDGE = "openai/gpt-5.1"

# Bounds for the model under test, unless the user sets others: Inspect retries for
# ever, and a run must end. Nine retries wait about 25 minutes in all; what fails
# then is a sample error, which `inspect eval-retry` takes up again.
MODEL_LIMITS = GenerateConfig(max_retries=9, attempt_timeout=3600)


def graders(effort: str = "low") -> list[Judge]:
    """The models bound to the role `grader`, or the benchmark's default judge.

    Never the model under test by accident. What the user set wins, on the role
    before on the command line; our own limits come last.

    Args:
        effort: Reasoning effort of the default judge; a judge that the user chose
            keeps the user's settings.
    """
    bound = model_roles().get(ROLE)
    if bound is None:
        config = GenerateConfig(reasoning_effort=effort)
        bound = get_model(
            role=ROLE, default=DEFAULT_JUDGE, config=config
        )  # inspect-evals-lint: ignore[get_model_location] -- called by the scorers only, while they score
    models = bound if isinstance(bound, list) else [bound]
    return [Judge(model, judge_limits(model.config, _command_line())) for model in models]


def check_batch() -> None:
    """Refuse a batch run that would give up its answers and pay for them again.

    What the model's own config says is all that can be seen here: settings of the
    command line are in it, those of a Python call only if it names the model by a string.
    """
    config = _model_under_test().config
    if config.batch and config.attempt_timeout in (None, MODEL_LIMITS.attempt_timeout):
        raise ClbenchError(
            "--batch: an answer may take a day, but without another limit this task asks "
            f"again after {MODEL_LIMITS.attempt_timeout} seconds, and pays again. Add: "
            f"--attempt-timeout {BATCH_SECONDS} (in Python also to the model's config)"
        )


def _command_line() -> GenerateConfig:
    """The limits that the user gave for the whole eval.

    Inspect hands some of them down to a role and others not; the model under test
    has them all. Those that are just our own defaults for it do not count.
    """
    config = _model_under_test().config
    own = config.max_retries == MODEL_LIMITS.max_retries
    return GenerateConfig(
        max_retries=None if own else config.max_retries,
        timeout=config.timeout,
        attempt_timeout=(
            None
            if config.attempt_timeout == MODEL_LIMITS.attempt_timeout
            else config.attempt_timeout
        ),
    )


def _model_under_test() -> Model:
    return get_model()  # inspect-evals-lint: ignore[get_model_location] -- called by the scorers only, while they score

"""What one row of a table is about: answers of one model under the same circumstances, judged alike."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

import pandas as pd
from inspect_ai.log import EvalLog, EvalPlanStep

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.logs import named, readable
from inspect_clbench.text import one_line, public_url, redacted

MODEL = ["dataset", "model"]
CONTESTANT = ["dataset", "draw", "model", "solver", "settings"]
JUDGE = ["judge", "judge_effort", "judge_prompt", "judge_prompt_sha256"]
JUDGING = [*JUDGE, "version", "share"]
SERIES = [*CONTESTANT, *JUDGING, "again"]
"""The columns that say which answers belong together; `name` is short for all of them."""

# How a name says what tells the series of a model apart.
_WORDS = {"draw": "{}", "solver": "{}", "settings": "{}", "version": "version {}", "judge": "judge {}",
          "judge_effort": "judge effort {}", "judge_prompt": "prompt {}", "judge_prompt_sha256": "prompt {:.7}",
          "again": "judged again {}"}  # fmt: skip

# What makes another contestant of a model. Not the seed: another seed gives a further run.
_SETTINGS = {"reasoning_effort", "reasoning_tokens", "effort", "verbosity", "temperature",
             "top_p", "top_k", "max_tokens", "system_message"}  # fmt: skip
Choice = str | Iterable[str] | None


def contestant_of(header: EvalLog) -> dict[str, Any]:
    """Who answered what, as a log's header says it."""
    with named(header.location):
        spec, metadata = header.eval, header.eval.metadata or {}
        config = spec.model_generate_config.merge(header.plan.config)
        settings = config.model_dump(include=_SETTINGS, exclude_none=True)
        if "system_message" in settings:
            settings["system_message"] = sha256(settings["system_message"].encode()).hexdigest()[:7]
        # Of imported and of replayed answers (`--model none/NAME`), who gave them; 0.2.0 wrote it elsewhere.
        model = metadata.get("model_name") or (spec.solver_args or {}).get("model_name") or spec.model
        model = str(model).removeprefix("none/")
        solvers = [step for step in header.plan.steps if step.solver != "generate"]
        draw = metadata.get("draw") or {}
        # Version 0.2.0 of the package wrote only the seed of a draw in this way.
        contexts = f"{draw.get('contexts', '?')} of {draw.get('of', '?')} contexts"
        return {
            "header": header,
            "log": readable(header.location),
            "created": spec.created,
            "dataset": spec.dataset.name or spec.task,
            "source": public_url(spec.dataset.location or ""),
            "draw": f"{contexts}, seed {draw['seed']}" if draw else "",
            "model": model,
            "solver": ", ".join(_solver(step, model) for step in solvers),
            "settings": ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in settings.items()),
            "effort": config.reasoning_effort or config.effort or "",
        }


def _solver(step: EvalPlanStep, model: str) -> str:
    # Other files with answers of the same model are further runs.
    arguments = {key: value for key, value in step.params_passed.items() if key != "files" or model == "none"}
    return redacted(" ".join([step.solver, *(f"{key}={value}" for key, value in arguments.items())]))


def chosen(rows: pd.DataFrame, column: str, choice: Choice, longer: str = "") -> pd.DataFrame:
    """The rows whose names are meant; a longer name counts where it is given in full, or where no other has it."""
    if choice is None:
        return rows
    is_chosen = pd.Series(False, rows.index)
    for part in [choice] if isinstance(choice, str) else choice:
        is_longer = longer and (part in {*rows[longer]} or not is_in(part, rows[column]))
        names = rows[longer if is_longer else column]
        is_chosen |= names == _meant(part, names, column)
    return rows[is_chosen].copy()


def is_in(part: str, names: Iterable[str]) -> bool:
    """Whether any of the names has this part."""
    return any(part.casefold() in name.casefold() for name in names)


def _meant(part: str, names: Iterable[str], kind: str) -> str:
    """The name that somebody means by it, or by a part that no other name has."""
    names = sorted({*names})
    fits = [name for name in names if name == part]
    fits = fits or [name for name in names if name.rsplit("/", 1)[-1].casefold() == part.casefold()]
    fits = fits or [name for name in names if part.casefold() in name.casefold()]
    if len(fits) != 1:
        problem = f"several {kind}s have that in their names" if fits else f"no such {kind}"
        raise ClbenchError(f"{part}: {problem}. There are: {', '.join(fits or names)}.")
    return fits[0]


def labelled(names: pd.Series, labels: Mapping[str, str]) -> pd.Series:
    """Names with labels in the place of those that are meant."""
    shown = {name: name for name in names.unique()}
    shown |= {_meant(part, [*shown], "model"): one_line(label) for part, label in labels.items()}
    if len({*shown.values()}) < len(shown):
        raise ClbenchError("Two models would have the same name. Give each a label of its own.")
    return names.map(shown)


def telling_names(rows: pd.DataFrame, columns: list[str], base: list[str]) -> pd.Series:
    """A name for each kind of row: that in the last column of `base`, and what tells it from others of the same base.

    Args:
        rows: Those to be named.
        columns: In which rows of one kind are alike.
        base: Those of them that would do if nothing else differed.
    """
    kinds = rows[columns].drop_duplicates()
    words = [column for column in _WORDS if column in columns and column not in base]
    # Those of a share are told from each other only: beside them the others keep their names.
    groups = [*base, "share"] if "share" in columns else base
    tells = {key: _tells(kinds, [*groups, "judge_prompt"] if key == "judge_prompt_sha256" else groups, key)
             for key in words}  # fmt: skip
    names = []
    for place, row in kinds.iterrows():
        details = [_WORDS[key].format(row[key]) for key in words if tells[key][place]]
        details += [f"share {row['share']:.3g}"] if row.get("share", 1) < 1 else []
        names.append(row[base[-1]] + (f" ({', '.join(details)})" if details else ""))
    return rows[columns].merge(kinds.assign(name=names), "left", columns)["name"].set_axis(rows.index)


def _tells(kinds: pd.DataFrame, groups: list[str], key: str) -> pd.Series:
    """Of which kinds it must be said what they have here: where others of the group have something else.

    One value can go without saying: the default or, where none has that, what most have.
    """
    values = kinds.groupby(groups)[key]
    is_default = kinds[key].isin(["", "0"])
    has_default = is_default.groupby([kinds[group] for group in groups]).transform("any")
    is_most = 2 * kinds.groupby([*groups, key])[key].transform("size") > values.transform("size")
    return (values.transform("nunique") > 1) & ~is_default & (has_default | ~is_most)

import json
import re
from typing import Any

import fsspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.data.dataset import load_samples
from inspect_clbench.data.sources import parsed_json
from inspect_clbench.errors import ClbenchError
from tests.support.rows import packed, row

# Half characters are no text; everything else is, line ends of all kinds included.
text = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(
    st.sampled_from(["\u2028", "\u2029", "\x85", "\r\n", "\n", "\x0b", "\x1c", "\x00", "\ufeff", "<think>", "{", "\\"])
).map("".join)  # fmt: skip
rubric = text | text.map(lambda criteria: {"rubric_criteria": criteria})
message = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": text}
)
conversation = st.tuples(
    st.lists(message, max_size=4),
    text.map(lambda content: {"role": "user", "content": content}),
).map(lambda parts: [*parts[0], parts[1]])
records = st.lists(
    st.builds(
        lambda task_id, sub, messages, rubrics: row(
            1, sub, task_id=task_id, messages=messages, rubrics=rubrics
        ),
        text.filter(lambda name: name and "\x00" not in name),
        st.sampled_from(CLBENCH.sub_categories),
        conversation,
        st.lists(rubric, min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda record: record["metadata"]["task_id"],
)


def criteria(rubric: str | dict[str, str]) -> str:
    return rubric if isinstance(rubric, str) else rubric["rubric_criteria"]


def stored(content: bytes, ending: str) -> str:
    url = f"memory://properties/rows{ending}"
    with fsspec.open(url, "wb") as file:
        file.write(content)
    return url


@given(
    written=records,
    ending=st.sampled_from([".jsonl", ".json", ".jsonl.gz", ".jsonl.xz", ".json.zst"]),
)
def test_rows_come_back_as_they_were_written(
    written: list[dict[str, Any]], ending: str
) -> None:
    dataset = load_samples(stored(packed(written, ending), ending))
    assert [sample.id for sample in dataset] == [r["metadata"]["task_id"] for r in written]
    for sample, record in zip(dataset, written, strict=True):
        assert not isinstance(sample.input, str)
        sent = [{"role": m.role, "content": m.content} for m in sample.input]
        assert sent == record["messages"]
        assert sample.metadata is not None
        assert sample.metadata["rubrics"] == [criteria(r) for r in record["rubrics"]]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(
    value=anything,
    place=st.sampled_from(["messages", "rubrics", "metadata", "task_id", "context_id", "context_category"]),
)  # fmt: skip
def test_whatever_stands_in_a_row_gives_samples_or_one_clear_error(
    value: Any, place: str
) -> None:
    source = stored(json.dumps(row(1, **{place: value})).encode(), ".jsonl")
    try:
        samples = load_samples(source)
    except ClbenchError as error:
        message = str(error)
    else:
        assert len(samples) == 1
        return
    assert message.startswith(f"{source}, row 1, task ")


@given(content=st.binary() | st.text().map(str.encode), ending=st.sampled_from(
    [f"{k}{c}" for k in (".jsonl", ".json", ".parquet") for c in ("", ".gz", ".xz", ".zst")]
))  # fmt: skip
def test_no_file_is_read_with_any_other_error(content: bytes, ending: str) -> None:
    source = stored(content, ending)
    with pytest.raises(ClbenchError) as error:
        load_samples(source)
    assert source in str(error.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
PIECES = [
    *(b"{ } [ ] : , 1 - 0 .5 e9 E+400 NaN -Infinity true null".split()), b'"', b'"a"', b'"a":',
    b"\\u0000", b"\\ud83d", b"\\ude00", b"\\n", b" ", b"\t", b"\r", b"\x00", b"\x0b",
    b"\xc3\xa9", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xc2\xa0", b"9" * 5000,
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
    | VALUES.map(lambda value: json.dumps(value).encode())
    | VALUES.map(
        lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    )
)
@example(b'"half \\ud83d"')
def test_a_line_is_read_as_json_loads_would(line: bytes) -> None:
    try:
        expected = repr(json.loads(line))
    except ValueError as ex:
        with pytest.raises(ValueError, match=re.escape(str(ex))):
            parsed_json(line)
    else:
        assert repr(parsed_json(line)) == expected


def test_what_is_nested_too_deeply_is_refused() -> None:
    # Deeper than any row, and deep enough to end the process elsewhere.
    with pytest.raises(ValueError, match="recursion limit exceeded"):
        parsed_json(b"[" * 500 + b"]" * 500)

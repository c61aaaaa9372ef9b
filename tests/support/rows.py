"""Rows of the benchmark to write to files, and files to write them to."""

import gzip
import io
import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from inspect_clbench.benchmarks import CLBENCH

CATEGORY_OF = {sub: category for category, subs in CLBENCH.groups.items() for sub in subs}

Row = dict[str, Any]


def row(number: int = 1, sub_category: str = "Finance", **changed: Any) -> Row:
    """A valid row; keywords replace its keys, or those of its metadata."""
    metadata = {
        "task_id": f"task-{number}",
        "context_id": f"context-{(number + 1) // 2}",
        "context_category": CATEGORY_OF.get(sub_category, "Domain Knowledge Reasoning"),
        "sub_category": sub_category,
    }
    whole: Row = {
        "messages": [
            {"role": "system", "content": "You keep the ferry's log."},
            {"role": "user", "content": f"When does ferry {number} leave?"},
        ],
        "rubrics": ["Names the hour.", "Names the pier."],
        "metadata": metadata,
    }
    for key, value in changed.items():
        (metadata if key in metadata else whole)[key] = value
    return whole


def rows(count: int) -> list[Row]:
    """Rows that are spread over the sub-categories."""
    names = CLBENCH.sub_categories
    return [row(number, names[number % len(names)]) for number in range(1, count + 1)]


def packed(records: Sequence[Any], ending: str) -> bytes:
    """The content of a file with such an ending (`.jsonl`, `.json.xz`, ...)."""
    kind, _, compression = ending.removeprefix(".").partition(".")
    match kind:
        case "jsonl":
            lines = [json.dumps(record, ensure_ascii=False) for record in records]
            content = "".join(f"{line}\n" for line in lines).encode()
        case "json":
            content = json.dumps(list(records), ensure_ascii=False, indent=1).encode()
        case _:
            table = io.BytesIO()
            pyarrow.parquet.write_table(pa.Table.from_pylist(list(records)), table)
            content = table.getvalue()
    match compression:
        case "gz":
            return gzip.compress(content)
        case "xz":
            return lzma.compress(content)
        case "zst":
            return bytes(pa.compress(content, "zstd", asbytes=True))
    return content


def write_rows(folder: Path, records: Sequence[Any], name: str = "rows.jsonl") -> str:
    """Write a file whose ending says what is in it; its path is returned."""
    path = folder / name
    path.write_bytes(packed(records, name[name.index(".") :]))
    return str(path)

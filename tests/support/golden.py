"""Files that hold what people read, to be compared letter by letter."""

import os
from pathlib import Path

UPDATE = "CLBENCH_UPDATE_GOLDEN"


def check_golden(path: Path, text: str) -> None:
    """Compare a text with a file; with the variable set, write the file instead."""
    if os.environ.get(UPDATE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    # Bytes, so that the line endings of CSV are compared too.
    expected = path.read_bytes().decode()
    assert text == expected, f"{path.name} differs; if it should, set {UPDATE}=1 and look at it"

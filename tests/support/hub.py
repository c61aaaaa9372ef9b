"""A hub of datasets on loopback, as far as downloading needs it."""

import hashlib
import json
from typing import Any
from urllib.parse import unquote, urlparse

from tests.support.files import FileServer, Response


class Hub(FileServer):
    """Serves one dataset with the history of its files, latest commit first."""

    def __init__(self, dataset: str, history: dict[str, dict[str, bytes]]) -> None:
        """Have a hub.

        Args:
            dataset: The id of the dataset.
            history: Each commit's hash and its files by name; all files lie at the top.
        """
        super().__init__(self._find)
        self.dataset = dataset
        self.history = history

    def _find(self, url: str) -> Response:
        path = unquote(urlparse(url).path)
        api, files = f"/api/datasets/{self.dataset}/", f"/datasets/{self.dataset}/resolve/"
        place = path.removeprefix(files).removeprefix(f"{api}revision/").removeprefix(f"{api}tree/")
        revision, _, name = place.partition("/")
        commit = next(iter(self.history)) if revision == "main" else revision
        if commit not in self.history:
            return Response(status=404, headers={"X-Error-Code": "RevisionNotFound"})
        contents = self.history[commit]
        if path.startswith(f"{api}revision/"):
            siblings = [{"rfilename": name} for name in contents]
            return _json({"id": self.dataset, "sha": commit, "siblings": siblings})
        if path.startswith(f"{api}tree/") and not name:
            return _json(
                [
                    {"type": "file", "path": name, "size": len(content), "oid": _oid(content)}
                    for name, content in contents.items()
                ]
            )
        if path.startswith(files) and name in contents:
            headers = {"X-Repo-Commit": commit, "ETag": f'"{_oid(contents[name])}"'}
            return Response(contents[name], headers=headers)
        return Response(status=404, headers={"X-Error-Code": "EntryNotFound"})


def _oid(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


def _json(content: Any) -> Response:
    return Response(json.dumps(content).encode(), headers={"Content-Type": "application/json"})

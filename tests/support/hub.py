"""A hub of datasets on loopback, as far as downloading needs it."""

import hashlib
import json
from typing import Any
from urllib.parse import unquote, urlparse

from tests.support.files import FileServer, Response


class Hub(FileServer):
    """Serves one dataset with the history of its files, latest commit first."""

    def __init__(self, dataset: str, history: dict[str, dict[str, bytes]]) -> None:
        """Start a hub.

        Args:
            dataset: The id of the dataset.
            history: Each commit's hash and its files by name.
        """
        self.dataset = dataset
        self.history = history
        super().__init__(self._respond)

    def _respond(self, path: str) -> Response:
        path = unquote(urlparse(path).path)
        api, files = f"/api/datasets/{self.dataset}/", f"/datasets/{self.dataset}/resolve/"
        if path.startswith(api + "revision/"):
            return self._info(path.removeprefix(api + "revision/"))
        if path.startswith(api + "tree/"):
            return self._tree(path.removeprefix(api + "tree/"))
        if path.startswith(files):
            revision, _, name = path.removeprefix(files).partition("/")
            return self._file(revision, name)
        return Response(status=404)

    def _commit_of(self, revision: str) -> str | None:
        if revision == "main":
            return next(iter(self.history))
        return revision if revision in self.history else None

    def _info(self, revision: str) -> Response:
        commit = self._commit_of(revision)
        if commit is None:
            return Response(status=404, headers={"X-Error-Code": "RevisionNotFound"})
        siblings = [{"rfilename": name} for name in self.history[commit]]
        return _json({"id": self.dataset, "sha": commit, "siblings": siblings})

    def _tree(self, path: str) -> Response:
        revision, _, folder = path.partition("/")
        commit = self._commit_of(revision)
        if commit is None:
            return Response(status=404, headers={"X-Error-Code": "RevisionNotFound"})
        if folder:  # all files lie at the top
            return Response(status=404, headers={"X-Error-Code": "EntryNotFound"})
        return _json(
            [
                {"type": "file", "path": name, "size": len(content), "oid": _oid(content)}
                for name, content in self.history[commit].items()
            ]
        )

    def _file(self, revision: str, name: str) -> Response:
        commit = self._commit_of(revision)
        content = self.history[commit].get(name) if commit else None
        if commit is None or content is None:
            return Response(status=404, headers={"X-Error-Code": "EntryNotFound"})
        headers = {"X-Repo-Commit": commit, "ETag": f'"{_oid(content)}"'}
        return Response(content, headers=headers)


def _oid(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


def _json(content: Any) -> Response:
    headers = {"Content-Type": "application/json"}
    return Response(json.dumps(content).encode(), headers=headers)

"""Links into a bundle of Inspect's log viewer that stands beside a page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from inspect_clbench.analysis.reading.located import LocatedRecord
from inspect_clbench.analysis.reading.logs import Log


@dataclass(frozen=True)
class ViewerBundle:
    """A folder that `inspect view bundle` wrote, as seen from a page."""

    address: str
    """The viewer's page, relative to ours."""

    files: dict[str, str]
    """The names of its logs, by the id of the eval."""

    def log_link(self, log: Log) -> str | None:
        """Where the viewer shows a log; nothing if the bundle does not have it."""
        file = self.files.get(log.header.eval.eval_id)
        return f"{self.address}#/logs/{quote(file)}" if file else None

    def sample_link(self, record: LocatedRecord) -> str | None:
        """Where the viewer shows a sample; nothing if the bundle does not have it."""
        link = self.log_link(record.log) if record.log else None
        # By its uuid, which needs no escaping and knows the run within the log.
        return f"{link}/samples/sample_uuid/{quote(record.uuid)}" if link else None


def find_bundle(page: str, logs: Sequence[Log]) -> ViewerBundle | None:
    """The bundle beside a page, or around it, that has most of these logs.

    Args:
        page: Where the page will be.
        logs: The logs that it is about.
    """
    folder = Path(page).parent
    wanted = {log.header.eval.eval_id for log in logs}
    best: ViewerBundle | None = None
    for listing in (folder / "logs/listing.json", *sorted(folder.glob("*/logs/listing.json"))):
        home = listing.parents[1]
        if not (home / "index.html").is_file():
            continue
        found = {id: name for id, name in _listed(listing).items() if id in wanted}
        if len(found) > (len(best.files) if best else 0):
            inside = "" if home == folder else f"{quote(home.name)}/"
            best = ViewerBundle(f"{inside}index.html", found)
    return best


def _listed(listing: Path) -> dict[str, str]:
    try:
        entries = json.loads(listing.read_text("utf-8"))
        return {str(entry["eval_id"]): str(name) for name, entry in entries.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # some other folder that looks like one

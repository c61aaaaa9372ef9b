"""An S3 server on loopback."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any
from uuid import uuid4

import pytest


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of an empty bucket on a server of our own."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "loop",
        "AWS_SECRET_ACCESS_KEY": "loop",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    # All servers of a process share what is stored, so each test has a name of its own.
    name = f"clbench-{uuid4().hex}"
    s3_client().create_bucket(Bucket=name)
    yield name
    server.stop()


def s3_client() -> Any:
    return import_module("boto3").client("s3")

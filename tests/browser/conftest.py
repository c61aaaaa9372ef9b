"""A headless Chromium and Inspect's log viewer on the demo's log."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

# On a busy machine a page may take long to be drawn; what is broken is so for ever.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def viewer(demo_log: str) -> Iterator[str]:
    """The address of `inspect view` on the demo's log folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = str(Path(demo_log).parent)
    command = [sys.executable, "-m", "inspect_ai", "view", "start"]
    process = subprocess.Popen(
        [*command, "--log-dir", folder, "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}/"
    deadline = time.monotonic() + 60
    while True:
        try:
            httpx.get(address)
            break
        except httpx.HTTPError:
            assert process.poll() is None, "the viewer has ended"
            assert time.monotonic() < deadline, "the viewer does not answer"
            time.sleep(0.2)
    yield address
    process.terminate()
    process.wait()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For the tests of a module only: Playwright's event loop would be in the way of Inspect's."""
    if not CHROMIUM:
        if os.environ.get("CI"):
            pytest.fail("no Chromium, though CI installs one")
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1500, "height": 950})
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()

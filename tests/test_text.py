"""Keys leave no message, and prose is left as it is."""

import pytest

from inspect_clbench.text import redacted, without_keys

KEY = "abcdefgh12345678"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"Incorrect API key provided: sk-proj-{KEY}.", "Incorrect API key provided: sk-[hidden]."),
        ("Incorrect API key: sk-proj-********************wxyz", "Incorrect API key: [hidden]"),
        (f"{{'Authorization': 'Bearer {KEY}'}}", "{'Authorization': '[hidden]'}"),
        ("authorization: basic secret", "authorization: [hidden]"),
        (f'{{"x-api-key": "{KEY}"}}', '{"x-api-key": "[hidden]"}'),
        (f"with bearer {KEY} sent", "with bearer [hidden] sent"),
        (f"AIza{KEY}{KEY}", "AIza[hidden]"),
        (f"https://me:{KEY}@host/path?sig={KEY} failed", "https://host/path failed"),
    ],
)
def test_keys_are_hidden_once(message: str, shown: str) -> None:
    assert redacted(message) == shown
    assert redacted(shown) == shown


def test_the_value_of_a_secret_variable_is_hidden_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_LAB_API_KEY", "open sesame")
    assert redacted("said 'open sesame' to it") == "said '[hidden]' to it"


@pytest.mark.parametrize(
    "prose",
    [
        "explain the basic restrictions and skin-to-skin-contact, skill-building and skills_inventory_v2",
        "API key: required; access token: optional; hf_hub_download_file",
        "the bearer instruments of 2019 are basic understanding",
        "see https://example.org/search?q=rubrics&page=2",
    ],
)
def test_prose_is_left_as_it_is(prose: str) -> None:
    assert without_keys(prose) == prose

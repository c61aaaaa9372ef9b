"""Keys leave no message, and prose is left as it is."""

import time

import pytest

from inspect_clbench.text import redacted, without_keys

KEY = "abcdefgh12345678"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"Incorrect API key provided: sk-proj-{KEY}.", "Incorrect API key provided: sk-[hidden]."),
        ("Incorrect API key: sk-proj-********************wxyz", "Incorrect API key: sk-[hidden]"),
        (f"Incorrect API key provided: {KEY}", "Incorrect API key provided: [hidden]"),
        (
            f"('x-api-key', '{KEY}'), (b'api-key', b'{KEY}')",
            "('x-api-key', '[hidden]'), (b'api-key', b'[hidden]')",
        ),
        (f'{{\\"api-key\\": \\"{KEY}\\"}}', '{\\"api-key\\": \\"[hidden]\\"}'),
        (f"aws_secret_access_key={KEY}", "aws_secret_access_key=[hidden]"),
        (f"{{'Authorization': 'Bearer {KEY}'}}", "{'Authorization': 'Bearer [hidden]'}"),
        ("authorization: basic secret", "authorization: basic [hidden]"),
        (f'{{"x-api-key": "{KEY}"}}', '{"x-api-key": "[hidden]"}'),
        (f"with bearer {KEY} sent", "with bearer [hidden] sent"),
        (f"AIza{KEY}{KEY}", "AIza[hidden]"),
        ("hf_aBcDeFgHiJkLmNoPqRsTuVwXyZabcdefgh", "hf_[hidden]"),
        ("key id AKIAIOSFODNN7EXAMPLE", "key id AKIA[hidden]"),
        ("secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "secret_access_key=[hidden]"),
        ("https://me:p@ss/word and https://me:p@ss@host/path", "https://ss/word and https://host/path"),
        (f"https://me:{KEY}@host/path?sig={KEY} failed", "https://host/path failed"),
    ],
)
def test_keys_are_hidden_once(message: str, shown: str) -> None:
    assert redacted(message) == shown
    assert redacted(shown) == shown


def test_the_value_of_a_secret_variable_is_hidden_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_LAB_KEY", "open sesame 1")
    monkeypatch.setenv("OLLAMA_API_KEY", "ollama")
    assert redacted("said 'open sesame 1' to ollama/llama3") == "said '[hidden]' to ollama/llama3"


@pytest.mark.parametrize(
    "prose",
    [
        "explain the basic restrictions and skin-to-skin-contact, skill-building and skills_inventory_v2",
        "API key: required; access token: optional; hf_hub_download_file",
        "the bearer instruments of 2019 are basic understanding",
        "see https://example.org/search?q=rubrics&page=2",
        "xai-grok-2-vision-1212 read pk_column_name_1234; api key: 5 items; authorization: basic understanding",
    ],
)
def test_prose_is_left_as_it_is(prose: str) -> None:
    assert without_keys(prose) == prose


@pytest.mark.parametrize("part", ["key a-", "sk-", "a.", "token ", "step-by-step-", "authorization: "])
def test_no_text_takes_long(part: str) -> None:
    """A model that repeats itself for a megabyte must not hold up a page of its answers."""
    start = time.process_time()
    redacted(part * (1_000_000 // len(part)))
    assert time.process_time() - start < 60  # quadratic, it would take hours

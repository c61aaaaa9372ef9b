"""What a score reads like: nothing from outside is taken for Markdown or HTML."""

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inspect_ai.log import EvalLog
from markdown_it import MarkdownIt

from inspect_clbench.judge.asking import Judgement
from inspect_clbench.judge.reply import Failure
from inspect_clbench.judge.verdict import Verdict
from inspect_clbench.scoring.explanation import escape_markdown, explain, rubric_summary

GENERAL = MarkdownIt("commonmark", {"html": True, "linkify": True}).enable(
    ["table", "strikethrough", "linkify"]
)
VIEWER = MarkdownIt("default", {"html": True, "breaks": True, "linkify": False})

hostile = st.lists(
    st.sampled_from(
        [
            *("*", "**", "_", "`", "```", "~~", "#", "# ", "> ", ">", "<", "</", "<!--", "-->", "<b>", "</li>"),
            *("<img src=x onerror=alert(1)>", "<script>", "<a href=", "<sup>", "<http://a.b>", "[", "](", ")", "![", "]: "),
            *("&lt;", "&#60;", "&amp", "&", ";", "$", "$$", "\\", "\\<", "\\(", "|", "---", "===", "- ", "+ ", "1. ", "a) "),
            *("http://a.example", "www.a.example", "//localhost", "x@a.example", "mailto:x@y", "\n", "\r\n", "\t", "    "),
            *("\x00", "\x1b[31m", "\u2028", "\u202e", "\u200b", "\u2060", "\ud800", "\u00a0", "a", "Ä", "🦤", "[answer]", "[^1]"),
        ]
    )
).map("".join)  # fmt: skip
any_text = st.text(st.characters(exclude_categories=())) | hostile


class Seen(HTMLParser):
    """The elements and the text of an HTML fragment."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = [""]
        self.feed(fragment)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs
        self.tags.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(f"{tag}/")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("p", "li"):
            self.texts.append("")

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")

    def handle_decl(self, decl: str) -> None:
        self.tags.append("declaration")

    def handle_pi(self, data: str) -> None:
        self.tags.append("instruction")

    def handle_data(self, data: str) -> None:
        self.texts[-1] += data


def in_general(markdown: str) -> Seen:
    """As a common Markdown renderer shows it."""
    return Seen(GENERAL.render(markdown))


def in_the_viewer(markdown: str) -> Seen:
    """As Inspect's log viewer shows it: HTML is escaped before Markdown is read."""
    rendered = VIEWER.render(html.escape(markdown).replace("&#x27;", "&apos;"))
    return Seen(rendered.replace("&lt;sup&gt;", "<sup>").replace("&lt;/sup&gt;", "</sup>"))


def folded(text: str) -> str:
    """What a reader is to see: one line, and a mark where a character would hide."""
    line = " ".join(text.split())
    hidden = r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
    return re.sub(hidden, "\ufffd", line)


def shown(text: str) -> str:
    """Text without the joiners that keep a bracket from opening an element."""
    return text.replace("\u2060", "").strip("\n")


@pytest.mark.parametrize("render", [in_general, in_the_viewer])
@given(text=any_text.filter(lambda text: folded(text) != ""))
@example(text="a < b && c > d &lt; &copy; <b>bold</b>")
@example(text="> quoted")
@example(text="<x@a.example> <sup>2</sup> //localhost www.a.example:80")
def test_any_text_is_one_paragraph_that_reads_the_same(render: object, text: str) -> None:
    assert callable(render)
    seen = render(escape_markdown(text))
    assert seen.tags == ["p"]
    assert shown(seen.texts[0]) == folded(text)


@pytest.mark.parametrize("render", [in_general, in_the_viewer])
@given(
    rubrics=st.lists(any_text.filter(lambda text: folded(text) != ""), min_size=1, max_size=4),
    letters=st.text("yn?", min_size=4, max_size=4),
    rationale=any_text,
)
def test_no_rubric_and_no_rationale_opens_an_element(
    render: object, rubrics: list[str], letters: str, rationale: str
) -> None:
    assert callable(render)
    status = letters[: len(rubrics)]
    verdict = Verdict(False, rationale, (), "strict")
    text = explain(
        list(enumerate(rubrics, start=1)),
        status,
        [Judgement("openai/judge", verdict, 1)],
        False,
    )
    seen = render(text)
    assert set(seen.tags) <= {"p", "strong", "ul", "li"}
    assert seen.tags.count("li") == len(rubrics)
    visible = [shown(part).strip() for part in seen.texts]
    for number, (rubric, letter) in enumerate(zip(rubrics, status, strict=True), start=1):
        sign = {"y": "✓", "n": "✗", "?": "?"}[letter]
        assert f"{sign} {number} {folded(rubric)}".strip() in visible
    for paragraph in rationale.splitlines():
        if folded(paragraph):
            assert folded(paragraph) in visible


def test_missed_rubrics_come_first_and_paragraphs_stay() -> None:
    verdict = Verdict(
        False, "The hour is wrong.\n\nThe pier (#2) is right.", ("no", "yes"), "strict"
    )
    text = explain(
        [(1, "Names the pier."), (3, "Names the hour.")],
        "yn",
        [Judgement("j", verdict, 1)],
        False,
    )
    assert text == (
        "**1/2 rubrics met, not solved**\n\n"
        "**Not met (1)**\n\n- ✗ **3** Names the hour\\.\n\n"
        "**Met (1)**\n\n- ✓ **1** Names the pier\\.\n\n"
        "**Rationale**\n\nThe hour is wrong\\.\n\nThe pier (\\#2\\) is right\\."
    )


def test_several_judges_are_named_and_a_failure_is_told() -> None:
    judgements = [
        Judgement("a/*x*", Verdict(True, "", ("no",), "recovered"), 1),
        Judgement("b/<y>", Failure("call_failed", "HTTP <500>\nnext"), 3),
    ]
    seen = in_the_viewer(explain([(1, "Ends.")], "", judgements, True))
    assert set(seen.tags) == {"p", "strong", "ul", "li"}
    assert [shown(text) for text in seen.texts if text.strip()] == [
        "1 rubrics, no status of each, solved",
        "No status (1)",
        "? 1 Ends.",
        "Rationale of a/*x* (1, status n; its status list disagrees with its score; the score decides)",
        "(none given)",
        "No verdict of b/<y>",
        "call_failed: HTTP <500> next",
    ]  # fmt: skip


def test_a_rationale_that_is_cut_says_so() -> None:
    long = Verdict(True, "word " * 10_000, (), "strict")
    text = explain([], "", [Judgement("j", long, 1)], True)
    assert len(text) < 25_000
    assert text.endswith("the whole text is in the score's metadata)")


@pytest.mark.parametrize(
    ("met", "solved", "line"),
    [
        (5, False, "5/6 rubrics met, not solved"),
        (6, True, "6/6 rubrics met, solved"),
        (None, False, "6 rubrics, no status of each, not solved"),
    ],
)
def test_the_line_that_says_it_all(met: int | None, solved: bool, line: str) -> None:
    assert rubric_summary(met, 6, solved) == line


def test_a_failed_judge_does_not_read_like_a_wrong_answer(demo_run: EvalLog) -> None:
    failed = [
        score
        for sample in demo_run.samples or []
        for score in (sample.scores or {}).values()
        if score.reason == "grader_failed"
    ]
    assert len(failed) == 3
    for score in failed:
        assert str(score.explanation).startswith("**No verdict: the judge failed.")
        assert "not solved" not in str(score.explanation)
        assert score.answer == "no verdict"

"""What a score reads like in the viewer: nothing from outside is taken for Markdown or HTML."""

import html
import re
from html.parser import HTMLParser
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Reference
from markdown_it import MarkdownIt

from inspect_clbench.judge.asking import Reply
from inspect_clbench.judge.verdict import Failure, Verdict
from inspect_clbench.scoring.explanation import explain, explain_no_answer

VIEWER = MarkdownIt("default", {"html": True, "breaks": True, "linkify": False})

hostile = st.lists(
    st.sampled_from(
        [
            *("*", "**", "_", "`", "```", "~~", "#", "# ", "> ", ">", "<", "</", "<!--", "-->", "<b>", "</li>"),
            *("<img src=x onerror=alert(1)>", "<script>", "<a href=", "<sup>", "<http://a.b>", "[", "](", ")", "![", "]: "),
            *("&lt;", "&#60;", "&amp", "&", ";", "$", "$$", "\\", "\\<", "\\(", "|", "---", "===", "- ", "+ ", "1. ", "a) "),
            *("http://a.example", "www.a.example", "//localhost", "x@a.example", "mailto:x@y", "\n", "\r\n", "\t", "    "),
            *("\x00", "\x1b[31m", "\u2028", "\u202e", "\u200b", "\u2060", "\ud800", "\u00a0", "a", "Ä", "🦤", "[^1]"),
        ]
    )
).map("".join)  # fmt: skip
any_text = st.text(st.characters(exclude_categories=())) | hostile


class Page(HTMLParser):
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

    def handle_endtag(self, tag: str) -> None:
        if tag in ("p", "li"):
            self.texts.append("")

    def handle_comment(self, data: str) -> None:
        self.tags.append("no element")

    handle_pi = handle_comment
    handle_decl = handle_comment  # type: ignore[assignment]  # whose argument has another name

    def handle_data(self, data: str) -> None:
        self.texts[-1] += data

    @property
    def lines(self) -> list[str]:
        """The text without the joiners that keep a bracket from opening an element."""
        return [text.replace("\u2060", "").strip("\n") for text in self.texts if text.strip()]


def in_the_viewer(markdown: str) -> Page:
    """As Inspect's log viewer shows it: HTML is escaped before Markdown is read."""
    rendered = VIEWER.render(html.escape(markdown).replace("&#x27;", "&apos;"))
    return Page(rendered.replace("&lt;sup&gt;", "<sup>").replace("&lt;/sup&gt;", "</sup>"))


def folded(text: str) -> str:
    """What a reader is to see: one line, and a mark where a character would hide."""
    hidden = r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
    return re.sub(hidden, "\ufffd", " ".join(text.split()))


@given(
    rubrics=st.lists(any_text.filter(lambda text: folded(text) != ""), min_size=1, max_size=4),
    letters=st.text("yn?", min_size=4, max_size=4),
    rationale=any_text,
)
@example(["a < b && c > d &lt; &copy; <b>bold</b>", "> quoted"], "yn??", "> quoted")
@example(["<x@a.example> <sup>2</sup> //localhost www.a.example:80"], "yn??", "1. one\n\n    two")
def test_neither_rubric_nor_rationale_opens_an_element(
    rubrics: list[str], letters: str, rationale: str
) -> None:
    status = letters[: len(rubrics)]
    page = in_the_viewer(explained(Verdict(False, rationale, status), rubrics=rubrics, status=status))
    assert set(page.tags) <= {"p", "strong", "ul", "li"}
    assert page.tags.count("li") == len(rubrics)
    lines = [line.strip() for line in page.lines]
    for number, (rubric, letter) in enumerate(zip(rubrics, status, strict=True), start=1):
        sign = {"y": "✓", "n": "✗", "?": "?"}[letter]
        assert f"{sign} {number} {folded(rubric)}".strip() in lines
    for paragraph in rationale.splitlines():
        if folded(paragraph):
            assert folded(paragraph).strip() in lines


def explained(*results: Verdict | Failure, rubrics: list[str], status: str = "", **options: Any) -> str:
    replies = [Reply(f"judge-{n}/*x*", result, 1, usage=ModelUsage()) for n, result in enumerate(results, 1)]
    options = {"solved": False, "answer": None, **options}
    return explain(list(enumerate(rubrics, start=1)), status, replies, **options)


def test_missed_rubrics_come_first_and_paragraphs_stay() -> None:
    verdict = Verdict(False, "The hour is wrong.\n\nThe pier (#2) is right.", "yn")
    cited = Reference(type="message", cite="[M3]", id="x")
    assert explained(verdict, rubrics=["Names the pier.", "Names the hour."], status="yn", answer=cited) == (
        "**1/2 rubrics met, not solved** · the answer is [M3]\n\n"
        "**Not met (1)**\n\n- ✗ **2** Names the hour\\.\n\n"
        "**Met (1)**\n\n- ✓ **1** Names the pier\\.\n\n"
        "**Rationale**\n\nThe hour is wrong\\.\n\nThe pier (\\#2\\) is right\\."
    )


def test_several_judges_are_named_with_what_each_said() -> None:
    results = (Verdict(True, "", "n"), Failure("call_failed", "HTTP <500>\nnext"))
    page = in_the_viewer(explained(*results, rubrics=["Ends."], solved=True))
    assert page.lines == [
        "1 rubrics, solved",
        "No status (1)",
        "? 1 Ends.",
        "Rationale of judge-1/*x* (1, status n; its status list disagrees with its score; the score decides)",
        "(none given)",
        "No verdict of judge-2/*x*",
        "call_failed: HTTP <500> next",
    ]  # fmt: skip


def test_failed_judges_and_empty_answers_do_not_read_like_wrong_answers() -> None:
    assert explained(Failure("timeout"), rubrics=["Ends."], solved=None) == (
        "**No verdict: the judge failed. This says nothing about the answer.**\n\n**No verdict**\n\ntimeout"
    )
    assert explain_no_answer(3, "max_tokens", None) == (
        "**0/3 rubrics met, not solved**\n\nThe model gave no answer (stop reason: max_tokens). The judge was not "
        "asked."
    )

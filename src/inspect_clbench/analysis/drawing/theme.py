"""How pictures and pages look, in light and in dark."""

# Text, lines and paper change with the reader's scheme; the colours of data have a
# contrast of at least 3:1 on either paper and stay.
INK, SOFT, LINE, PAPER = "#24292f", "#59636e", "#d8dee4", "#ffffff"
DARK = {INK: "#e6edf3", SOFT: "#a5b0bb", LINE: "#3a424c", PAPER: "#11151a"}

OWN = "#3b7dd8"
PUBLISHED = "#7a838d"
PALETTE = (OWN, "#c9690a", "#1f9254", "#d9447b", "#a05fd6")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")

# From low to high, for cells that carry their own text; black or white, whichever has
# more contrast, but neither of the colours that change.
_HEAT = ("#eef4fc", "#a5c8f0", "#4a8be0", "#1c4a8c")
_HEAT_INKS = ("#010101", "#fefefe")
NO_DATA = "#8b949e"

# Metrics of Arial everywhere: what is measured when the picture is made fits later on.
FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"


def dark_css(scope: str) -> str:
    """Rules that repaint a picture in SVG for readers who prefer dark, on screen only.

    Args:
        scope: A selector of the pictures meant.
    """
    rules = "\n".join(
        f'  {scope} [{what}="{light}"] {{ {what}: {dark}; }}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme: dark) {{\n{rules}\n}}\n"


def heat(share: float) -> tuple[str, str]:
    """The colour of a cell, and that of the text on it.

    Args:
        share: Where between lowest and highest, from 0 to 1.
    """
    place = min(max(share, 0.0), 1.0) * (len(_HEAT) - 1)
    index = min(int(place), len(_HEAT) - 2)
    low, high = _channels(_HEAT[index]), _channels(_HEAT[index + 1])
    mixed = [a + (b - a) * (place - index) for a, b in zip(low, high, strict=True)]
    fill = "#" + "".join(f"{round(channel):02x}" for channel in mixed)
    return fill, max(_HEAT_INKS, key=lambda ink: contrast(ink, fill))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in _channels(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]

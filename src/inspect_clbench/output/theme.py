"""The colours of pictures and pages, in light and in dark."""

# Text, lines and paper change with the reader's scheme; the colours of data have a
# contrast of at least 3:1 on either paper and stay.
INK, SOFT, LINE, PAPER = "#24292f", "#59636e", "#d8dee4", "#ffffff"
DARK = {INK: "#e6edf3", SOFT: "#a5b0bb", LINE: "#3a424c", PAPER: "#11151a"}

OWN = "#3b7dd8"
PUBLISHED = "#7a838d"
PALETTE = (OWN, "#c9690a", "#1f9254", "#d9447b", "#a05fd6")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")

# Metrics of Arial everywhere: what is measured when the picture is made fits later on.
FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"


def dark_css(scope: str) -> str:
    """Rules that repaint the pictures in SVG that `scope` selects, on dark screens only."""
    rules = "\n".join(
        f'  {scope} [{what}="{light}"] {{ {what}: {dark}; }}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme: dark) {{\n{rules}\n}}\n"

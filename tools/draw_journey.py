#!/usr/bin/env python3
"""Draws docs/journey.svg, the picture of the README: how a region goes from storage to a processor and back.

tools/draw_journey.py            writes the file
tools/draw_journey.py --check    exit 1 when the file is not what this program draws
"""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

OUT = Path(__file__).resolve().parent.parent / "docs" / "journey.svg"
# title, lines below it: the stages of a read
STAGES = [
    ("store", ["files, zip archives,", "memory"]),
    ("plan", ["region cut along", "the chunk grid"]),
    ("fetch", ["shard indexes, then", "the ranges needed"]),
    ("decode", ["all cores; checksums", "verified"]),
    ("place", ["byte order, axes, fill", "in one pass"]),
    ("array", ["in the caller's", "memory"]),
]
BOX_W, BOX_H, GAP, MARGIN = 146, 84, 26, 14
WIDTH = 2 * MARGIN + len(STAGES) * BOX_W + (len(STAGES) - 1) * GAP
HEIGHT = 196
TOP = 34


def text(x: float, y: float, content: str, css: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{css}">{escape(content)}</text>'


def draw() -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="A read goes through store, plan, fetch, decode and place to an array; a write goes back">',
        "<style>",
        "text{font-family:system-ui,'DejaVu Sans',sans-serif;text-anchor:middle;fill:#1b2733}",
        ".title{font-size:16px;font-weight:600}.line{font-size:12px}.way{font-size:12px;fill:#51606f}",
        "rect{fill:#eef4fa;stroke:#4a7dab;stroke-width:1.5}.end rect{fill:#fdf3e3;stroke:#c08a2b}",
        "path{stroke:#4a7dab;stroke-width:1.5;fill:none}",
        "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.way{fill:#9fb0c0}"
        "rect{fill:#16212c}.end rect{fill:#2b2313}}",
        "</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M1 1 7 4 1 7" /></marker></defs>',
    ]
    middle = TOP + BOX_H / 2
    for i, (title, lines) in enumerate(STAGES):
        x = MARGIN + i * (BOX_W + GAP)
        ends = ' class="end"' if i in (0, len(STAGES) - 1) else ""
        parts.append(f'<g{ends}><rect x="{x}" y="{TOP}" width="{BOX_W}" height="{BOX_H}" rx="8" /></g>')
        parts.append(text(x + BOX_W / 2, TOP + 26, title, "title"))
        parts += [text(x + BOX_W / 2, TOP + 48 + 17 * n, line, "line") for n, line in enumerate(lines)]
        if i:
            parts.append(f'<path d="M{x - GAP + 2} {middle:g}H{x - 3}" marker-end="url(#tip)" />')
    left, right, low = MARGIN + BOX_W / 2, WIDTH - MARGIN - BOX_W / 2, TOP + BOX_H + 44
    parts.append(
        f'<path d="M{right:g} {TOP + BOX_H}V{low - 10}q0 10 -10 10H{left + 10:g}q-10 0 -10 -10V{TOP + BOX_H + 4}" '
        'marker-end="url(#tip)" />'
    )
    parts.append(text(WIDTH / 2, TOP - 14, "read", "way"))
    parts.append(
        text(WIDTH / 2, low + 20, "write: encode on all cores, each object replaced whole, metadata last", "way")
    )
    return "\n".join([*parts, "</svg>", ""])


def main() -> int:
    drawn = draw()
    if "--check" in sys.argv:
        if not OUT.exists() or OUT.read_text() != drawn:
            print("docs/journey.svg is not what tools/draw_journey.py draws; run it")
            return 1
        return 0
    OUT.write_text(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())

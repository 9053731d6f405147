"""Looks at a page as a person would: in Chromium, served over HTTP."""

from __future__ import annotations

import functools
import html
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from PIL import Image

WIDTH, HEIGHT = 1000, 1600
SECONDS = 120
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# A page around the page: says what is in it once it has loaded.
LOOKER = """<!doctype html><meta charset=utf-8><link rel=icon href="data:,"><body style="margin:0"><pre id=seen></pre>
<iframe id=page style="position:fixed;inset:0;border:0;width:100%;height:100%"></iframe><script>
const frame = document.getElementById('page');
frame.onload = () => {
  const page = frame.contentDocument;
  const images = [...page.images].map(i => {
    const box = i.getBoundingClientRect();
    return {width: i.naturalWidth, height: i.naturalHeight, complete: i.complete, alt: i.alt,
            box: [box.left, box.top, box.right, box.bottom]};
  });
  const tables = [...page.querySelectorAll('table')].map(
    t => [...t.rows].map(r => [...r.cells].map(c => c.innerText)));
  document.getElementById('seen').textContent =
    JSON.stringify({title: page.title, text: page.body.innerText, images, tables,
                    spill: page.documentElement.scrollWidth - page.documentElement.clientWidth});
};
frame.src = 'PAGE';
</script>"""


def find() -> str | None:
    """A Chromium: $PENSTOCK_BROWSER, or the first of the usual names."""
    named = os.environ.get("PENSTOCK_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Look:
    """What a browser showed."""

    page: dict[str, Any]  # title, text, images, tables, spill: pixels that are wider than the window
    screenshot: Image.Image
    requests: dict[str, int]  # path -> HTTP status
    console: list[str]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and the looker, and notes every answer."""

    def __init__(self, *args: Any, answers: dict[str, int], page: str, **kwargs: Any) -> None:
        self.answers, self.page = answers, page
        super().__init__(*args, **kwargs)

    def do_GET(self) -> None:
        if self.path != "/look":
            super().do_GET()
            return
        body = LOOKER.replace("PAGE", self.page).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        self.answers[self.path] = int(code)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def run(browser: str, scratch: str, *options: str) -> tuple[str, str]:
    """Runs the browser without a window; it works as root, in a container, and with little /dev/shm."""
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        + ["--no-proxy-server", "--hide-scrollbars", "--force-device-scale-factor=1", "--enable-logging=stderr"]
        + [f"--window-size={WIDTH},{HEIGHT}", f"--user-data-dir={scratch}/profile", *options],
        env=os.environ | {"HOME": scratch},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{browser} ended with {done.returncode}:\n{done.stderr[-4000:]}"
    return done.stdout, done.stderr


def printed(browser: str, page: pathlib.Path) -> bytes:
    """The page as PDF."""
    with tempfile.TemporaryDirectory(prefix="penstock-browser-", ignore_cleanup_errors=True) as scratch:
        pdf = pathlib.Path(scratch) / "page.pdf"
        run(browser, scratch, f"--print-to-pdf={pdf}", "--no-pdf-header-footer", page.resolve().as_uri())
        return pdf.read_bytes()


def look(browser: str, folder: pathlib.Path, page: str, *options: str) -> Look:
    answers: dict[str, int] = {}
    handler = functools.partial(Handler, answers=answers, page=page, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with tempfile.TemporaryDirectory(prefix="penstock-browser-", ignore_cleanup_errors=True) as scratch:
                at = f"http://127.0.0.1:{server.server_port}"
                dom, log = run(browser, scratch, "--virtual-time-budget=10000", "--dump-dom", *options, f"{at}/look")
                picture = pathlib.Path(scratch) / "screenshot.png"
                run(browser, scratch, f"--screenshot={picture}", *options, f"{at}/{page}")
                screenshot = Image.open(picture).convert("RGB")
        finally:
            server.shutdown()
    seen = re.search(r"<pre id=\"seen\">(.*?)</pre>", dom, re.DOTALL)
    assert seen and seen[1], f"the page did not load:\n{dom[:2000]}\n{log[-2000:]}"
    console = [line for line in log.splitlines() if "CONSOLE" in line]
    return Look(json.loads(html.unescape(seen[1])), screenshot, answers, console)

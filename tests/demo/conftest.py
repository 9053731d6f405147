"""Says with which browser the tests look."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser


def pytest_report_header() -> str:
    return f"browser: {browser.find() or 'none, so nobody looks at the demo page; install Chromium or set PENSTOCK_BROWSER'}"

"""Servers of tests/servers for tests in Python."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

SERVE = pathlib.Path(__file__).resolve().parents[1] / "servers" / "serve.py"
KEYS = {"access_key_id": "testkey", "secret_access_key": "testsecret", "region": "us-east-1"}


@contextlib.contextmanager
def serving(*arguments: str | pathlib.Path) -> Iterator[str]:
    """The URL of a server that ends with the context; serve.py says which there are."""
    with subprocess.Popen(
        [sys.executable, SERVE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        url = child.stdout.readline().strip()
        assert url.startswith("http"), f"the server did not start: {arguments[0]}"
        yield url
        child.stdin.close()


def s3_options(url: str) -> dict[str, str]:
    return {"endpoint": url, **KEYS}


class ObjectServer:
    """The server of tests that misbehaves when it is told to."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.tell("PUT", "clear", {})
        self.rules()
        self.tell("PUT", "options", {"delay_s": 0, "page": 1000, "etags": True})

    def tell(self, method: str, path: str, value: Any = None) -> Any:
        data = None if value is None else json.dumps(value).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/-/{path}", data, method=method)) as answer:
            return json.loads(answer.read() or "null")

    def rules(self, *rules: dict[str, Any]) -> None:
        """Forgets the log."""
        self.tell("PUT", "rules", list(rules))

    def log(self) -> list[dict[str, Any]]:
        log: list[dict[str, Any]] = self.tell("GET", "log")["log"]
        return log

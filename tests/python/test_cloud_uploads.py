"""Uploads that killed writers leave in a bucket: `penstock doctor` shows them, and takes none away."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import botocore.session
import numpy as np
import pytest
from servers import KEYS, s3_options, serving

import penstock

COMMAND = pathlib.Path(penstock.__file__).parent / "bin" / "penstock"
TERMINAL = pathlib.Path(__file__).parents[1] / "cli" / "terminal.py"
URL = "s3://penstock/images"


@pytest.fixture
def s3(tmp_path: pathlib.Path) -> Iterator[str]:
    (tmp_path / "gateway").mkdir()
    with serving("versitygw", tmp_path / "gateway") as url:
        yield url


def told(url: str, flag: str = "--store-option") -> list[str]:
    return [word for name, value in s3_options(url).items() for word in (flag, f"{name}={value}")]


def doctor(s3: str, *arguments: str) -> str:
    command = [sys.executable, TERMINAL, "900", COMMAND, "doctor", *arguments, *told(s3)]  # too wide to be folded
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "testsecret" not in done.stdout + done.stderr
    return done.stdout


def store_of(s3: str, url: str = URL) -> dict[str, Any]:
    [store] = json.loads(doctor(s3, "--json", url))["stores"]
    return dict(store)


def kill_while_it_sends(command: list[Any], gateway: pathlib.Path) -> None:
    """Kills the command when the gateway, which keeps parts as files, has some of the object."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as writer:
        until = time.monotonic() + 60
        while not any((gateway / "penstock" / ".sgwtmp" / "multipart").glob("*/*")):
            assert writer.poll() is None, writer.communicate()[1]
            assert time.monotonic() < until
            time.sleep(0.001)
        writer.send_signal(signal.SIGKILL)


def test_what_a_killed_writer_leaves_is_shown(s3: str, tmp_path: pathlib.Path) -> None:
    noise = np.random.default_rng(0).integers(0, 1 << 16, (8192, 8192), "u2")
    penstock.create(tmp_path / "in.zarr", shape=noise.shape, dtype="u2", chunks=(1024, 1024), codecs=[])[...] = noise
    assert store_of(s3)["unfinished_uploads"] == []
    assert "no unfinished uploads" in doctor(s3, URL)

    name = "a b+ü.tif"
    kill_while_it_sends(
        [COMMAND, "copy", tmp_path / "in.zarr", f"{URL}/{name}", *told(s3, "--to-option")], tmp_path / "gateway"
    )
    store = store_of(s3)
    [upload] = store["unfinished_uploads"]
    assert upload["url"] == f"{URL}/{name}" and upload["key"] == f"images/{name}"
    assert 0 <= upload["age_s"] < 60
    assert "an unfinished upload: its parts" in store["verdict"] and "abort-multipart-upload" in store["verdict"]
    shown = doctor(s3, URL)
    assert f"{URL}/{name}" in shown and f"id {upload['upload_id'][:12]}..." in shown and " ago" in shown
    assert upload["upload_id"] not in shown
    assert store_of(s3, f"{URL}/{name}")["unfinished_uploads"][0]["upload_id"] == upload["upload_id"]
    assert store_of(s3, "s3://penstock/image")["unfinished_uploads"] == [], "another store"

    client = botocore.session.get_session().create_client(
        "s3",
        endpoint_url=s3,
        region_name=KEYS["region"],
        aws_access_key_id=KEYS["access_key_id"],
        aws_secret_access_key=KEYS["secret_access_key"],
    )
    client.abort_multipart_upload(Bucket="penstock", Key=upload["key"], UploadId=upload["upload_id"])
    assert store_of(s3)["unfinished_uploads"] == []

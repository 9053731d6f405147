"""Arrays in S3 and behind HTTP, against servers that these tests start."""

from __future__ import annotations

import json
import pathlib
import pickle
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from servers import ObjectServer, s3_options, serving

import penstock
import penstock.zarr
from penstock import _core

COMMAND = pathlib.Path(penstock.__file__).parent / "bin" / "penstock"
VALUES = np.arange(40 * 30, dtype="u2").reshape(40, 30)


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with serving("versitygw") as url:
        yield url


@pytest.fixture(scope="module")
def object_server() -> Iterator[str]:
    with serving("objects") as url:
        yield url


@pytest.fixture
def faults(object_server: str) -> ObjectServer:
    return ObjectServer(object_server)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=120)


def told(options: dict[str, str], flag: str = "--store-option") -> list[str]:
    return [word for name, value in options.items() for word in (flag, f"{name}={value}")]


@pytest.mark.parametrize("shards", [None, (20, 20)])
def test_an_array_is_made_written_and_read(s3: str, shards: Any) -> None:
    url, options = f"s3://penstock/made-{shards is None}.zarr", s3_options(s3)
    a = penstock.create(url, shape=VALUES.shape, dtype="u2", chunks=(10, 10), shards=shards, options=options)
    a[...] = VALUES
    a[3:5, 7] = [1, 2]  # parts of chunks: read, changed, written by condition
    expected = VALUES.copy()
    expected[3:5, 7] = [1, 2]
    again = penstock.open(url, options=options)
    assert isinstance(again, penstock.Array)
    assert np.array_equal(again[...], expected)
    assert np.array_equal(again[5:17, ::3], expected[5:17, ::3])
    assert np.array_equal(pickle.loads(pickle.dumps(again))[-1], expected[-1])
    assert "testsecret" not in repr(again) + str(again.last_report) + again.url


def test_zarr_python_reads_what_was_written(s3: str, tmp_path: pathlib.Path) -> None:
    """The gateway keeps objects as files: another program looks at them."""
    with serving("versitygw", tmp_path) as url:
        a = penstock.create(
            "s3://penstock/vol.zarr", shape=VALUES.shape, dtype="u2", chunks=(10, 10), options=s3_options(url)
        )
        a[...] = VALUES
        assert np.array_equal(zarr.open_array(tmp_path / "penstock" / "vol.zarr", mode="r")[...], VALUES)


def test_a_group_is_made_and_listed(s3: str) -> None:
    url, options = "s3://penstock/group.zarr", s3_options(s3)
    group = penstock.create_group(url, options=options)
    for name in ("b", "a"):
        group.create_array(name, shape=(4,), dtype="i4")[...] = 7
    again = penstock.open(url, options=options)
    assert isinstance(again, penstock.Group)
    assert again.keys() == ["a", "b"]
    assert again["a"][...].tolist() == [7, 7, 7, 7]


def test_the_command_reads_copies_and_verifies(s3: str, tmp_path: pathlib.Path) -> None:
    options = told(s3_options(s3))
    local = tmp_path / "local.zarr"
    penstock.create(local, shape=VALUES.shape, dtype="u2", chunks=(10, 10))[...] = VALUES
    copied = run("copy", str(local), "s3://penstock/copied.zarr", *told(s3_options(s3), "--to-option"))
    assert copied.returncode == 0, copied.stderr
    shown = run("info", "s3://penstock/copied.zarr", *options)
    assert shown.returncode == 0 and "40 x 30" in shown.stdout, shown.stderr
    cat = run("cat", "s3://penstock/copied.zarr", "--region", "0,:4", *options)
    assert cat.stdout.split() == ["0", "1", "2", "3"], cat.stderr
    assert run("verify", "s3://penstock/copied.zarr", *options).returncode == 0
    doctor = run("doctor", "s3://penstock/copied.zarr", "--json", *options)
    [found] = json.loads(doctor.stdout)["stores"]
    assert found["served_by"] == (f"S3 at {s3}, region us-east-1 (options), signed by options")
    assert found["answers"] and found["lists"] and found["verdict"] == "ok"
    for done in (copied, shown, cat, doctor):
        assert "testsecret" not in done.stdout + done.stderr


def test_a_web_server_is_read(tmp_path: pathlib.Path) -> None:
    root = zarr.create_group(tmp_path / "g.zarr")
    root.create_array("a", shape=VALUES.shape, chunks=(10, 10), shards=(20, 30), dtype="u2")[...] = VALUES
    with serving("nginx", tmp_path) as url:
        a = penstock.open(f"{url}/g.zarr/a")
        assert isinstance(a, penstock.Array)
        assert np.array_equal(a[3:33, 5], VALUES[3:33, 5])
        with pytest.raises(penstock.UnsupportedError, match="does not tell which objects"):
            penstock.open(f"{url}/g.zarr").keys()  # type: ignore[union-attr]
        zarr.consolidate_metadata(tmp_path / "g.zarr")
        listed = penstock.open(f"{url}/g.zarr")
        assert isinstance(listed, penstock.Group) and listed.keys() == ["a"]
        [(name, member)] = listed.items()
        assert name == "a" and np.array_equal(member[...], VALUES)  # type: ignore[index]
        with pytest.raises(penstock.UnsupportedError):
            penstock.create(f"{url}/new.zarr", shape=(4,), dtype="u1")


def test_an_untrusted_certificate_is_refused_unless_it_is_named(tmp_path: pathlib.Path) -> None:
    zarr.create_array(tmp_path / "a.zarr", shape=(4,), dtype="u1")[...] = 5
    with serving("nginx-tls", tmp_path) as url:
        with pytest.raises(OSError, match="certificate"):
            penstock.open(f"{url}/a.zarr")
        a = penstock.open(f"{url}/a.zarr", options={"ca_file": str(tmp_path / "cert.pem")})
        assert a[...].tolist() == [5, 5, 5, 5]  # type: ignore[index]


def test_a_proxy_is_passed_through(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says to CONNECT is not the server's answer."""
    zarr.create_array(tmp_path / "a.zarr", shape=(4,), dtype="u1", shards=(4,), chunks=(2,))[...] = 5
    options = {"ca_file": str(tmp_path / "cert.pem")}
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving("nginx-tls", tmp_path) as url:
        with serving("proxy") as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy)
            a = penstock.open(f"{url}/a.zarr", options=options)
            assert a[...].tolist() == [5, 5, 5, 5]  # type: ignore[index]
            with pytest.raises(FileNotFoundError):
                penstock.open(f"{url}/absent.zarr", options=options)
        with pytest.raises(OSError, match="connect"):
            penstock.open(f"{url}/a.zarr", options=options)
        with serving("proxy", "407") as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.replace("//", "//user:testsecret@"))
            with pytest.raises(OSError, match="the proxy answers 407") as raised:
                penstock.open(f"{url}/b.zarr", options=options)
            told = [str(raised.value), *getattr(raised.value, "__notes__", [])]
            assert "HTTPS_PROXY" in " ".join(told) and "testsecret" not in " ".join(told)


def test_bytes_are_asked_for_as_they_are(faults: ObjectServer) -> None:
    """Whoever does not say so may get them packed, from a proxy."""
    options = s3_options(faults.url)
    penstock.create("s3://bucket/as.zarr", shape=(4,), dtype="u1", options=options)[...] = 1
    penstock.open("s3://bucket/as.zarr", options=options)[...]  # type: ignore[index]
    log = faults.log()
    assert {one["method"] for one in log} == {"GET", "PUT"}
    assert {one["headers"].get("accept-encoding") for one in log} == {"identity"}


def test_writers_that_meet_in_a_chunk_lose_nothing(faults: ObjectServer) -> None:
    """Parts of one chunk from several handles: each change is by condition, and begun anew when it lost."""
    url, options = "s3://bucket/meet.zarr", s3_options(faults.url)
    penstock.create(url, shape=(4, 50), dtype="u1", chunks=(4, 50), options=options)

    def write(row: int) -> None:
        with_own_handle = penstock.open(url, "r+", options=options)
        for column in range(50):
            with_own_handle[row, column] = row + 1  # type: ignore[index]

    threads = [threading.Thread(target=write, args=(row,)) for row in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = penstock.open(url, options=options)[...]  # type: ignore[index]
    assert np.array_equal(written, np.repeat([[1], [2], [3], [4]], 50, axis=1))


def test_a_server_that_refuses_every_condition_is_told(faults: ObjectServer) -> None:
    url, options = "s3://bucket/refused.zarr", {**s3_options(faults.url), "deadline": "300ms"}
    a = penstock.create(url, shape=(4,), dtype="u1", chunks=(4,), options=options)
    a[...] = 1
    faults.rules({"match": "PUT", "times": -1, "status": 412})
    with pytest.raises(penstock.ChangedError, match="c/0: .*another writer kept.* each of [0-9]+ attempts") as raised:
        a[0] = 2
    assert "refuses every write by condition" in "".join(raised.value.__notes__)
    attempts = len([one for one in faults.log() if one["method"] == "PUT"])
    assert f" {attempts} attempts" in str(raised.value) and 3 <= attempts <= 8
    faults.rules()
    a[...] = 3
    assert a[...].tolist() == [3, 3, 3, 3]


def signature_of_botocore(logged: dict[str, Any], host: str, token: str | None) -> dict[str, str]:
    """What botocore would have sent as Authorization for the request that the server saw."""
    headers = logged["headers"]
    names = headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    request = AWSRequest(
        logged["method"],
        f"http://{host}{logged['target']}",
        {name: headers[name] for name in names if name != "x-amz-security-token"},
    )
    scope = headers["authorization"].split("Credential=")[1].split(",")[0].split("/")
    auth = S3SigV4Auth(Credentials("testkey", "testsecret", token), scope[3], scope[2])
    request.context["timestamp"] = headers["x-amz-date"]
    request.context["signing"] = {}
    if token is not None:
        request.headers["x-amz-security-token"] = token
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return {
        "Credential": auth.scope(request),
        "SignedHeaders": ";".join(names),
        "Signature": auth.signature(text, request),
    }


@pytest.mark.parametrize("token", [None, "a/token+of=some~kind"])
@pytest.mark.parametrize("virtual", [False, True])
def test_signatures_are_those_of_botocore(faults: ObjectServer, virtual: bool, token: str | None) -> None:
    options = s3_options(faults.url)
    if virtual:  # every name below localhost is this machine
        options["endpoint"] = options["endpoint"].replace("127.0.0.1", "localhost")
        options["virtual_hosted_style_request"] = "true"
    if token is not None:
        options["session_token"] = token
    store = _core.Store.open("s3://bucket/a b=c+d/\u00fc", "a", options=options)
    for key in ("plain", "t=1/a b+c", "\u65e5/(x)'!*~", "%41", "q?a&b#c", "a:b,c;d$e@f"):
        store.set(key, key.encode())
        store.set_if_absent(key, b"")
        ranges = [(key, "span", 0, 2), (key, "last", 0, 1), (key, "from", 1, 0), (key, "whole", 0, 0)]
        _core.fetch(store, ranges)
    store.list_keys("")
    store.list_dir("t=1")
    store.erase("plain")
    log = faults.log()
    assert len(log) > 30 and {one["method"] for one in log} == {"GET", "PUT", "DELETE"}
    for one in log:
        headers = one["headers"]
        assert headers["x-amz-content-sha256"] == one["body_sha256"]
        if virtual:
            assert headers["host"].startswith("bucket.localhost:")
        expected = signature_of_botocore(one, headers["host"], token)
        ours = dict(part.strip().split("=", 1) for part in headers["authorization"].split(" ", 1)[1].split(","))
        assert ours == expected, one


def test_secrets_are_in_no_message(faults: ObjectServer) -> None:
    options = {**s3_options(faults.url), "deadline": "500ms"}
    refused = {"status": 403, "body": "<Error><Code>AccessDenied</Code><Message>testsecret</Message></Error>"}
    for rule in ({"status": 500}, {"reset": True}, refused):
        faults.rules({"match": "GET", "times": -1, **rule})
        with pytest.raises(OSError) as raised:
            penstock.open("s3://bucket/a.zarr", options=options)
        texts = [str(raised.value), repr(raised.value), *getattr(raised.value, "__notes__", [])]
        assert "testsecret" not in " ".join(texts) and "Signature=" not in " ".join(texts)
        assert "s3://bucket/a.zarr" in " ".join(texts)


def test_chunks_and_members_are_asked_for_together(faults: ObjectServer) -> None:
    options = s3_options(faults.url)
    group = penstock.create_group("s3://bucket/many.zarr", options=options)
    for i in range(20):
        group.create_array(f"a{i:02}", shape=(1,), dtype="u1")
    penstock.create("s3://bucket/chunks.zarr", shape=(200,), dtype="u1", chunks=(1,), options=options)[...] = 1
    faults.tell("PUT", "options", {"delay_s": 0.05})
    faults.rules()
    begin = time.perf_counter()
    assert len(penstock.open("s3://bucket/many.zarr", options=options).keys()) == 20  # type: ignore[union-attr]
    assert time.perf_counter() - begin < 1, "one after the other: at least 2 s"
    a = penstock.open("s3://bucket/chunks.zarr", options=options)
    faults.rules()
    begin = time.perf_counter()
    assert a[...].sum() == 200  # type: ignore[index]
    assert time.perf_counter() - begin < 2, "one after the other: 10 s"
    log = faults.log()
    assert len(log) == 200 and {one["method"] for one in log} == {"GET"}, "a chunk is one GET"


def test_members_are_opened_together(faults: ObjectServer) -> None:
    options = s3_options(faults.url)
    group = penstock.create_group("s3://bucket/wide.zarr", options=options)
    names = [f"a{i:03}" for i in range(200)]
    for name in names:
        group.create_array(name, shape=(4,), dtype="u1")
    opened = penstock.open("s3://bucket/wide.zarr", options=options)
    assert isinstance(opened, penstock.Group)
    faults.tell("PUT", "options", {"delay_s": 0.05})
    faults.rules()
    begin = time.perf_counter()
    items = opened.items()
    assert time.perf_counter() - begin < 1, "one after the other: 10 s"
    assert [name for name, _ in items] == names
    assert all(isinstance(a, penstock.Array) and a.shape == (4,) for _, a in items)
    assert len(faults.log()) == 201, "a listing, and a document of each array"
    faults.rules()
    assert len(opened.values()) == 200
    assert len(faults.log()) == 201


def test_levels_of_an_image_are_opened_together(faults: ObjectServer) -> None:
    options = s3_options(faults.url)
    level = penstock.create("memory://levels", shape=(64, 64), dtype="u1", chunks=(8, 8))
    level[...] = 3
    penstock.write_pyramid(level, "s3://bucket/i.zarr", levels=4, options=options)
    image = penstock.open("s3://bucket/i.zarr", options=options)
    assert isinstance(image, penstock.Image)
    faults.tell("PUT", "options", {"delay_s": 0.2})
    faults.rules()
    begin = time.perf_counter()
    assert [a.shape for a in image.levels] == [(64, 64), (32, 32), (16, 16), (8, 8)]
    assert time.perf_counter() - begin < 0.5, "one after the other: 0.8 s"
    with pytest.raises(KeyError):
        image._open_together(["0", "absent"])


def test_a_signed_query_is_shown_nowhere(faults: ObjectServer) -> None:
    options = s3_options(faults.url)
    penstock.create("s3://bucket/q.zarr", shape=VALUES.shape, dtype="u2", chunks=(10, 10), options=options)[...] = (
        VALUES
    )
    address = faults.url.removeprefix("http://")
    url = f"http://user:testsecret@{address}/bucket/q.zarr?X-Amz-Signature=testsecret"
    a = penstock.open(url, options={"deadline": "500ms"})
    assert isinstance(a, penstock.Array)
    faults.rules()
    assert np.array_equal(a[...], VALUES)
    sent = faults.log()
    assert all("X-Amz-Signature=testsecret" in one["target"] for one in sent), "it goes with every request"
    shown = [repr(a), a.url, str(a.last_report), repr(a.last_report), str(a.plan(...))]
    shown += [
        done.stdout + done.stderr for what in ("info", "explain", "verify") for done in (run(what, url, "--json"),)
    ]
    shown.append(run("doctor", url).stdout)
    for rule in ({"status": 500}, {"status": 403}, {"cut_after": 3}, {"no_ranges": True, "status": 302}):
        faults.rules({"match": "GET", "times": -1, **rule})
        with pytest.raises(OSError) as raised:
            a[...]
        shown += [str(raised.value), *getattr(raised.value, "__notes__", [])]
        failed = run("cat", url, "--store-option", "deadline=300ms")
        assert failed.returncode != 0
        shown.append(failed.stdout + failed.stderr)
    for text in shown:
        assert "testsecret" not in text and "Signature" not in text, text


def dataset() -> xr.Dataset:
    gaps = np.where(np.arange(60) % 7 == 3, np.nan, np.arange(60) * 0.5).reshape(6, 10)
    return xr.Dataset(
        {"t": (("y", "x"), gaps), "n": ("x", np.arange(10))},
        coords={"x": np.arange(10) * 2.0},
        attrs={"title": "Grüße"},
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_xarray_opens_by_our_engine(faults: ObjectServer, tmp_path: pathlib.Path, zarr_format: Any) -> None:
    options = s3_options(faults.url)
    url = f"s3://bucket/x{zarr_format}.zarr"
    store = penstock.zarr.PenstockStore(url, options=options)
    dataset().chunk(y=2, x=5).to_zarr(store, zarr_format=zarr_format, consolidated=True)
    dataset().to_zarr(tmp_path / "local.zarr", zarr_format=zarr_format, consolidated=True)
    expected = xr.open_zarr(tmp_path / "local.zarr").load()
    before = penstock.zarr.native_calls().get("read", 0)
    lazy = xr.open_dataset(url, engine="penstock", options=options)
    assert not lazy["t"].variable._in_memory
    xr.testing.assert_identical(lazy.load(), expected)
    assert penstock.zarr.native_calls().get("read", 0) > before
    chunked = xr.open_dataset(url, engine="penstock", options=options, chunks={"y": 4, "x": 10})
    assert chunked["t"].chunks == ((4, 2), (10,))
    before = penstock.zarr.native_calls().get("read", 0)
    faults.rules()
    assert np.array_equal(chunked["t"].isel(y=slice(0, 4)).compute(), expected["t"][:4], equal_nan=True)
    assert penstock.zarr.native_calls().get("read", 0) == before + 1, "a block is one plan"
    assert len([one for one in faults.log() if one["method"] == "GET"]) == 4, "and one GET for each of its chunks"
    tree = xr.open_datatree(url, engine="penstock", options=options)
    xr.testing.assert_identical(tree.to_dataset().load(), expected)


def test_a_cog_of_an_array_in_a_bucket_has_the_crs_of_its_group(s3: str, tmp_path: pathlib.Path) -> None:
    where = xr.DataArray(0, attrs={"crs_wkt": 'PROJCS["x",AUTHORITY["EPSG","32633"]]', "GeoTransform": "7 2 0 9 0 -3"})
    image = xr.DataArray(VALUES, dims=("y", "x"), attrs={"grid_mapping": "spatial_ref"})
    xr.Dataset({"image": image, "spatial_ref": where}).to_zarr(tmp_path / "x.zarr", consolidated=False)
    url, options = "s3://penstock/with-crs.zarr", s3_options(s3)
    penstock.copy(penstock.open(tmp_path / "x.zarr"), url, options=options)
    made = penstock.write_cog(penstock.open(f"{url}/image", options=options), tmp_path / "y.tif")
    assert made.crs.epsg == 32633 and tuple(made.transform)[:6] == (2, 0, 7, 0, -3, 9)

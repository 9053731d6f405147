#!/usr/bin/env python3
"""An object server in memory whose answers can be spoilt: what stands behind the tests of faults.

object_server.py        listens on a free port of 127.0.0.1, prints its URL, and ends when its standard input is closed

Objects are at /BUCKET/KEY, or at /KEY of the host BUCKET.localhost: GET with ranges, If-Match and If-None-Match, PUT by condition (look and write are one step),
DELETE, DeleteObjects, ListObjectsV2 (pages of `page` keys), uploads in parts, and their list (pages of `page`).  Signatures are not checked; versitygw does that.

/-/rules    PUT a list of rules: {"match": part of method and path, "times": how often, or -1, "after": how many to let pass,
            and a fault: "status" with "headers" and "body", "delay_s", "reset": true, "lose_answer": true, "stall_after": bytes of body, "cut_after":
            bytes of body, "untold": true (no length, and closed after the body), "keep": {key: code} (what DeleteObjects does not remove), "other_range": true, "no_ranges": true, "replace": text that the object is replaced by afterwards}
/-/options  PUT {"delay_s": 0.05, "page": 1000, "etags": false}
/-/log      GET: every request since the last PUT of rules, with its headers
            and the SHA-256 of its body
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import datetime
import hashlib
import itertools
import json
import urllib.parse
import xml.etree.ElementTree
import xml.sax.saxutils

from standing import until_input_ends

NAMES = {200: "OK", 204: "No Content", 206: "Partial Content", 404: "Not Found", 412: "Precondition Failed"}
NAMES[416] = "Range Not Satisfiable"


def etag_of(data: bytes) -> str:
    return f'"{hashlib.md5(data).hexdigest()}"'


def error(status: int, code: str, more: str = "") -> tuple[int, dict, bytes]:
    body = f"<Error><Code>{code}</Code><Message>{code} it is</Message>{more}</Error>"
    return status, {"Content-Type": "application/xml"}, body.encode()


@dataclasses.dataclass
class Upload:
    key: str
    parts: dict[int, bytes] = dataclasses.field(default_factory=dict)
    begun: str = dataclasses.field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    )


class Server:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, Upload] = {}
        self.begun = itertools.count()  # uploads; no two have one name
        self.rules: list[dict] = []
        self.options = {"delay_s": 0.0, "page": 1000, "etags": True}
        self.log: list[dict] = []
        self.under_way = 0

    def rule_for(self, line: str) -> dict:
        for rule in self.rules:
            if rule["match"] not in line or rule.get("times", 1) == 0:
                continue
            if rule.get("after", 0) > 0:
                rule["after"] -= 1
                continue
            rule["times"] = rule.get("times", 1) - 1
            return rule
        return {}

    def control(self, method: str, path: str, body: bytes) -> tuple[int, dict, bytes]:
        if path == "/-/log":
            return 200, {}, json.dumps({"log": self.log, "uploads": len(self.uploads)}).encode()
        if path == "/-/rules":
            self.rules, self.log = json.loads(body), []
        elif path == "/-/options":
            self.options.update(json.loads(body))
        elif path == "/-/clear":
            self.objects, self.uploads = {}, {}
        return 200, {}, b""

    def get(self, key: str, headers: dict, rule: dict) -> tuple[int, dict, bytes]:
        if key not in self.objects:
            return error(404, "NoSuchKey")
        data = self.objects[key]
        if "replace" in rule:
            self.objects[key] = rule["replace"].encode()
        fields = {"ETag": etag_of(data)} if self.options["etags"] else {}
        if "if-match" in headers and headers["if-match"] != etag_of(data):
            return error(412, "PreconditionFailed")
        wanted = headers.get("range")
        if wanted is None or rule.get("no_ranges"):
            return 200, fields, data
        first, last = wanted.removeprefix("bytes=").split("-")
        if first == "":
            if not data:
                return error(416, "InvalidRange")
            begin, end = max(0, len(data) - int(last)), len(data)
        else:
            begin, end = int(first), min(int(last) + 1 if last else len(data), len(data))
        if begin >= len(data):
            return error(416, "InvalidRange")
        if rule.get("other_range"):
            begin, end = begin + 1, min(end + 1, len(data))
        fields["Content-Range"] = f"bytes {begin}-{end - 1}/{len(data)}"
        return 206, fields, data[begin:end]

    def put(self, key: str, query: dict, headers: dict, body: bytes) -> tuple[int, dict, bytes]:
        if "uploadId" in query:
            self.uploads[query["uploadId"]].parts[int(query["partNumber"])] = body
            return 200, {"ETag": etag_of(body)}, b""
        stands = self.objects.get(key)
        if headers.get("if-none-match") == "*" and stands is not None:
            return error(412, "PreconditionFailed")
        if "if-match" in headers and (stands is None or headers["if-match"] != etag_of(stands)):
            return error(412, "PreconditionFailed")
        self.objects[key] = body
        return 200, {"ETag": etag_of(body)}, b""

    def post(self, key: str, query: dict, headers: dict) -> tuple[int, dict, bytes]:
        if "uploads" in query:
            name = f"upload-{next(self.begun)}"
            self.uploads[name] = Upload(key)
            body = f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>"
            return 200, {}, body.encode()
        upload = self.uploads.pop(query["uploadId"], None)
        if upload is None:
            return error(404, "NoSuchUpload")
        if headers.get("if-none-match") == "*" and key in self.objects:
            return error(412, "PreconditionFailed")
        self.objects[key] = b"".join(upload.parts[number] for number in sorted(upload.parts))
        return 200, {}, b"<CompleteMultipartUploadResult/>"

    def delete_objects(self, bucket: str, headers: dict, body: bytes, rule: dict) -> tuple[int, dict, bytes]:
        if headers.get("content-md5") != base64.b64encode(hashlib.md5(body).digest()).decode():
            return error(400, "BadDigest" if "content-md5" in headers else "MissingContentMD5")
        space = "{http://s3.amazonaws.com/doc/2006-03-01/}"
        document = xml.etree.ElementTree.fromstring(body)
        keys = [one.findtext(f"{space}Key", "") for one in document.iter(f"{space}Object")]
        if not 1 <= len(keys) <= 1000:
            return error(400, "MalformedXML")
        told = []
        for key in keys:
            if code := rule.get("keep", {}).get(key):
                told.append(f"<Error><Key>{xml_text(key)}</Key><Code>{code}</Code><Message>no</Message></Error>")
                continue
            self.objects.pop(f"{bucket}/{key}", None)
            if document.findtext(f"{space}Quiet") != "true":
                told.append(f"<Deleted><Key>{xml_text(key)}</Key></Deleted>")
        return 200, {}, f"<DeleteResult>{''.join(told)}</DeleteResult>".encode()

    def list(self, bucket: str, query: dict) -> tuple[int, dict, bytes]:
        prefix, delimiter = bucket + "/" + query.get("prefix", ""), query.get("delimiter", "")
        names: list[tuple[str, bool]] = []
        for key in sorted(self.objects):
            if not key.startswith(prefix):
                continue
            end = key.find(delimiter, len(prefix)) if delimiter else -1
            name = (key[len(bucket) + 1 : end + 1], True) if end >= 0 else (key[len(bucket) + 1 :], False)
            if name not in names[-1:]:
                names.append(name)
        first = int(query.get("continuation-token", "0"))
        page = names[first : first + self.options["page"]]
        rest = first + len(page) < len(names)
        xml = ["<ListBucketResult><EncodingType>url</EncodingType>"]
        xml.append(f"<IsTruncated>{'true' if rest else 'false'}</IsTruncated>")
        if rest:
            xml.append(f"<NextContinuationToken>{first + len(page)}</NextContinuationToken>")
        for name, is_prefix in page:
            text = xml_text(urllib.parse.quote_plus(name, safe="/"))
            xml.append(
                f"<CommonPrefixes><Prefix>{text}</Prefix></CommonPrefixes>"
                if is_prefix
                else f"<Contents><Key>{text}</Key>{self.facts(self.objects[bucket + '/' + name])}</Contents>"
            )
        return 200, {}, ("".join(xml) + "</ListBucketResult>").encode()

    def list_uploads(self, bucket: str, query: dict) -> tuple[int, dict, bytes]:
        prefix = bucket + "/" + query.get("prefix", "")
        found = sorted((one.key, name) for name, one in self.uploads.items() if one.key.startswith(prefix))
        if "key-marker" in query:
            behind = (bucket + "/" + query["key-marker"], query.get("upload-id-marker", ""))
            found = [one for one in found if one > behind]
        page = found[: self.options["page"]]
        rest = len(page) < len(found)
        escaped = {key: xml_text(urllib.parse.quote_plus(key[len(bucket) + 1 :], safe="/")) for key, _ in page}
        xml = ["<ListMultipartUploadsResult><EncodingType>url</EncodingType>"]
        xml.append(f"<IsTruncated>{'true' if rest else 'false'}</IsTruncated>")
        if rest:
            key, name = page[-1]
            xml.append(f"<NextKeyMarker>{escaped[key]}</NextKeyMarker><NextUploadIdMarker>{name}</NextUploadIdMarker>")
        for key, name in page:
            told = f"<Initiated>{self.uploads[name].begun}</Initiated><Initiator><ID>somebody</ID></Initiator>"
            xml.append(f"<Upload><Key>{escaped[key]}</Key><UploadId>{name}</UploadId>{told}</Upload>")
        return 200, {}, ("".join(xml) + "</ListMultipartUploadsResult>").encode()

    @staticmethod
    def facts(data: bytes) -> str:
        """What other clients want to know of an object that is listed."""
        when = "<LastModified>2026-01-01T00:00:00Z</LastModified>"
        return f"<Size>{len(data)}</Size><ETag>{xml_text(etag_of(data))}</ETag>{when}"

    def answer(self, method: str, target: str, headers: dict, body: bytes, rule: dict) -> tuple[int, dict, bytes]:
        path, _, text = target.partition("?")
        query = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
        key = urllib.parse.unquote(path).lstrip("/")
        bucket, dot, _ = headers.get("host", "").partition(".localhost")
        if dot:
            key = f"{bucket}/{key}"
        if "put" in rule:
            self.objects[key] = rule["put"].encode()
        if "status" in rule:
            return rule["status"], rule.get("headers", {}), rule.get("body", "").encode()
        if query.get("list-type") == "2":
            return self.list(key.rstrip("/"), query)
        if method == "GET" and "uploads" in query:
            return self.list_uploads(key.rstrip("/"), query)
        if method == "GET":
            return self.get(key, headers, rule)
        if method == "PUT":
            return self.put(key, query, headers, body)
        if method == "POST" and "delete" in query:
            return self.delete_objects(key.rstrip("/"), headers, body, rule)
        if method == "POST":
            return self.post(key, query, headers)
        if method == "DELETE":
            self.uploads.pop(query.get("uploadId", ""), None)
            if "uploadId" not in query:
                self.objects.pop(key, None)
            return 204, {}, b""
        return error(405, "MethodNotAllowed")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self.serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):  # the last: the server ends
            pass
        finally:
            writer.close()

    async def serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if target.startswith("/-/"):
            self.write(writer, self.control(method, target, body))
            await writer.drain()
            return True
        told = {"method": method, "target": target, "headers": headers}
        self.log.append({**told, "body_sha256": hashlib.sha256(body).hexdigest()})
        rule = self.rule_for(f"{method} {target}")
        delay = rule.get("delay_s", self.options["delay_s"])
        if delay:
            await asyncio.sleep(delay)
        if rule.get("reset"):
            writer.transport.abort()
            return False
        answer = self.answer(method, target, headers, body, rule)
        if rule.get("lose_answer"):
            writer.transport.abort()
            return False
        for way in ("cut_after", "stall_after"):
            if way not in rule:
                continue
            self.write(writer, answer, rule[way])
            await writer.drain()
            if way == "stall_after":
                await asyncio.sleep(3600)
            return False
        self.write(writer, answer, told=not rule.get("untold"))
        await writer.drain()
        return not rule.get("untold")

    @staticmethod
    def write(
        writer: asyncio.StreamWriter, answer: tuple[int, dict, bytes], count: int | None = None, told: bool = True
    ) -> None:
        status, fields, body = answer
        lines = [f"HTTP/1.1 {status} {NAMES.get(status, 'Other')}"]
        if status != 204 and told:
            lines.append(f"Content-Length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in fields.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body[:count])


def xml_text(text: str) -> str:
    return xml.sax.saxutils.escape(text)


async def main() -> None:
    server = await asyncio.start_server(Server().serve, "127.0.0.1", 0, limit=1 << 20, backlog=512)
    await until_input_ends(server)


if __name__ == "__main__":
    asyncio.run(main())

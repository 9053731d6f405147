#!/usr/bin/env python3
"""Starts a server for tests and prints its URL; it ends when the standard input of this is closed.

serve.py objects          object_server.py: faults on demand, signatures not checked
serve.py proxy [STATUS]   connect_proxy.py: a proxy for https, or one that refuses
serve.py versitygw [DIR]  S3 over a directory, with the bucket `penstock`; access key `testkey`, secret `testsecret`;
                          DIR/requests.log has a line for each request that it answered
serve.py nginx DIR        a web server over the directory, with ranges
serve.py nginx-tls DIR    the same with a certificate that nobody trusts, DIR/cert.pem
"""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

NGINX = """
daemon off; pid {work}/pid; error_log stderr; worker_processes 1;
events {{ worker_connections 512; }}
http {{
  access_log off; default_type application/octet-stream;
  client_body_temp_path {work}; proxy_temp_path {work}; fastcgi_temp_path {work}; uwsgi_temp_path {work};
  scgi_temp_path {work};
  server {{ listen 127.0.0.1:{port} {tls}; root {folder}; {certificate} }}
}}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program(name: str) -> str:
    """Where the server is: what ./run test has installed, else on the path."""
    for place in (ROOT / ".deps/servers/bin" / name, shutil.which(name), f"/usr/sbin/{name}"):
        if place and os.access(place, os.X_OK):
            return str(place)
    sys.exit(f"{name} is not there; ./run test installs it (tools/run/servers.sh)")


def wait_for(port: int, child: subprocess.Popen) -> None:
    for _ in range(1000):
        if child.poll() is not None:
            sys.exit(f"the server ended with {child.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    child.kill()
    sys.exit("the server did not listen within 20 s")


def versitygw(folder: str, port: int) -> tuple[list[str], dict]:
    (pathlib.Path(folder) / "penstock").mkdir(parents=True, exist_ok=True)
    keys = {"ROOT_ACCESS_KEY": "testkey", "ROOT_SECRET_KEY": "testsecret"}
    return [
        program("versitygw"),
        "--quiet",
        "--port",
        f"127.0.0.1:{port}",
        "--access-log",
        f"{folder}/requests.log",
        "--region",
        "us-east-1",
        "posix",
        folder,
    ], keys


def nginx(folder: str, port: int, work: str, tls: bool) -> list[str]:
    certificate = ""
    if tls:
        pem, key = f"{folder}/cert.pem", f"{work}/key.pem"
        command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost".split()
        command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", pem]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        certificate = f"ssl_certificate {pem}; ssl_certificate_key {key};"
    text = NGINX.format(work=work, port=port, folder=folder, tls="ssl" if tls else "", certificate=certificate)
    if os.getuid() == 0:
        text = "user root;" + text  # folders of tests are for their owner only
    pathlib.Path(work, "nginx.conf").write_text(text)
    return [program("nginx"), "-e", "stderr", "-p", work, "-c", f"{work}/nginx.conf"]


def main() -> None:
    kind = sys.argv[1]
    if kind == "objects":
        os.execv(sys.executable, [sys.executable, str(HERE / "object_server.py")])
    if kind == "proxy":
        os.execv(sys.executable, [sys.executable, str(HERE / "connect_proxy.py"), *sys.argv[2:]])
    with tempfile.TemporaryDirectory(prefix="penstock-server-") as work:
        folder = sys.argv[2] if len(sys.argv) > 2 else work
        port, more = free_port(), {}
        if kind == "versitygw":
            command, more = versitygw(folder, port)
        else:
            command = nginx(folder, port, work, kind == "nginx-tls")
        child = subprocess.Popen(
            command,
            env={**os.environ, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(port, child)
            print(f"http{'s' if kind == 'nginx-tls' else ''}://127.0.0.1:{port}", flush=True)
            while sys.stdin.buffer.read1(4096):
                pass
        finally:
            child.terminate()
            child.wait()


if __name__ == "__main__":
    main()

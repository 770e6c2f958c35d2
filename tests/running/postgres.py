"""A PostgreSQL server of one's own: a new cluster in a temporary folder, with a password, stopped whatever happens.

The server refuses to run as root, so that there it runs as an unprivileged user.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

USER, DATABASE = "aspca", "postgres"
# Debian keeps the server's commands off the path.
PLACES = ("/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql")
UNPRIVILEGED = ("postgres", "nobody")
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "64MB",
    "max_connections": "40",
    "autovacuum": "off",
    "log_min_messages": "panic",
}
PATIENCE = 60.0


class CannotRun(Exception):
    """Why there can be no server here."""


@dataclass(frozen=True)
class Cluster:
    """A server that runs; its password is real, and hard to confuse with anything else.

    Attributes
    ----------
    port : int
        On 127.0.0.1.
    folder : Path
        Where its socket is.
    password : str
        With signs that an address must escape.
    """

    port: int
    folder: Path
    password: str

    @property
    def address(self) -> str:
        return f"postgresql://{USER}:{quote(self.password, safe='')}@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def pairs(self) -> str:
        """The same as libpq's key=value pairs."""
        return f"host=127.0.0.1 port={self.port} user={USER} password='{self.password}' dbname={DATABASE}"

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Statements, each in a transaction of its own; the rows of the last."""
        import adbc_driver_postgresql.dbapi as adbc

        rows: list[tuple[Any, ...]] = []
        with adbc.connect(self.address, autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = cursor.fetchall() if cursor.description else []
        return rows


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A new server, until the block ends.

    Raises
    ------
    CannotRun
        No server is installed, or there is no unprivileged user to run it.
    """
    initdb, postgres = (_command(name) for name in ("initdb", "postgres"))
    as_whom = _unprivileged() if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="aspca-pg-", dir="/tmp"))  # a socket's path must be short
    server = None
    try:
        if as_whom:
            shutil.chown(folder, as_whom["user"], as_whom["group"])
        password = f"S3cret-{secrets.token_hex(8)}/@:?&"
        words = folder / "password"
        words.write_text(password + "\n")
        if as_whom:
            shutil.chown(words, as_whom["user"], as_whom["group"])
        data = folder / "data"
        options = ["--auth=scram-sha-256", f"--pwfile={words}", f"--username={USER}", "--encoding=UTF8", "--locale=C"]
        done = subprocess.run(
            [initdb, "--no-sync", *options, str(data)], capture_output=True, text=True, cwd=folder, **as_whom
        )
        if done.returncode:
            raise CannotRun(f"initdb fails: {done.stderr.strip()[-300:]}")
        port = _free_port()
        given = {**SETTINGS, "port": str(port), "listen_addresses": "127.0.0.1", "unix_socket_directories": str(folder)}
        words = [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [*_ends_with_us(), postgres, "-D", str(data), *words], stdout=log, stderr=log, cwd=folder, **as_whom
            )
        made = Cluster(port, folder, password)
        _wait(made, server)
        yield made
    finally:
        if server is not None:
            _stop(server)
        shutil.rmtree(folder, ignore_errors=True)


def _command(name: str) -> str:
    found = shutil.which(name)
    if found:
        return found
    there = [path for place in PLACES for path in sorted(Path(place).glob(f"**/bin/{name}"))]
    if not there:
        raise CannotRun("no PostgreSQL server is installed here")
    return str(there[-1])


def _unprivileged() -> dict[str, Any]:
    for name in UNPRIVILEGED:
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise CannotRun("PostgreSQL does not run as root, and there is no user such as nobody to run it")


def _ends_with_us() -> list[str]:
    """So that the server ends even where this process is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "QUIT"] if setpriv else []


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait(made: Cluster, server: subprocess.Popen[bytes]) -> None:
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE:
        if server.poll() is not None:
            raise CannotRun(f"the server ends at once: {(made.folder / 'log').read_text()[-300:]}")
        with suppress(Exception):
            made.run("SELECT 1")
            return
        time.sleep(0.05)
    raise CannotRun(f"the server does not answer within {PATIENCE:g} s")


def _stop(server: subprocess.Popen[bytes]) -> None:
    # At once, for nobody needs its data any more; then for good.
    for sign in (signal.SIGQUIT, signal.SIGKILL):
        server.send_signal(sign)
        with suppress(subprocess.TimeoutExpired):
            server.wait(10)
            return

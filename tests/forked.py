"""The command line in processes of their own, without the seconds that each would take to import TensorFlow.

A server imports what every command imports, computes nothing, and forks for each command. What forks has its own descriptors, folder,
environment, signals, exit functions and exit code, as an interpreter that is started has.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CLOSED = -1


class Server:
    """Forks commands; one at a time is waited for."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno())]
        # What TensorFlow says of devices that are not there is not what a command says.
        env = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=env)
        theirs.close()
        self._socket.settimeout(60)

    def close(self) -> None:
        self._socket.close()
        self._process.wait(60)

    def start(self, arguments: list[str], folder: Path, env: dict[str, str], stdout: int, stderr: int) -> Command:
        """``stdout``, ``stderr``: descriptors to write to, or ``CLOSED``."""
        given = [descriptor for descriptor in (stdout, stderr) if descriptor != CLOSED]
        request = {"arguments": arguments, "folder": str(folder), "env": env, "open": [one != CLOSED for one in (stdout, stderr)]}
        nothing = os.open(os.devnull, os.O_RDONLY)
        socket.send_fds(self._socket, [json.dumps(request).encode()], [nothing, *given])
        os.close(nothing)
        return Command(self._socket, int(self._socket.recv(32)))

    def run(self, arguments: list[str], folder: Path, env: dict[str, str] | None = None, **streams: int) -> subprocess.CompletedProcess[bytes]:
        """Runs a command to its end; streams that are not given are read."""
        read: dict[str, Any] = {}
        for name in ("stdout", "stderr"):
            if name not in streams:
                read[name] = os.pipe()
                streams[name] = read[name][1]
        command = self.start(arguments, folder, env or {}, **streams)
        for pipe in read.values():
            os.close(pipe[1])
        return command.end({name: pipe[0] for name, pipe in read.items()}, arguments)


class Command:
    """A command that runs."""

    def __init__(self, to: socket.socket, pid: int) -> None:
        self._socket, self.pid = to, pid

    def interrupt(self) -> None:
        os.kill(self.pid, signal.SIGINT)

    def end(self, pipes: dict[str, int], arguments: list[str]) -> subprocess.CompletedProcess[bytes]:
        """Waits for its end and reads what it wrote."""
        said = {"stdout": b"", "stderr": b""}

        def drain(name: str, read: int) -> None:
            with os.fdopen(read, "rb") as stream:
                said[name] = stream.read()

        threads = []
        for name, read in pipes.items():
            threads.append(threading.Thread(target=drain, args=(name, read)))
            threads[-1].start()
        try:
            status = self._socket.recv(32)
        except TimeoutError:
            # A command that does not end fails its own test alone.
            os.kill(self.pid, signal.SIGKILL)
            status = self._socket.recv(32)
        code = os.waitstatus_to_exitcode(int(status))
        for thread in threads:
            thread.join()
        return subprocess.CompletedProcess(arguments, code, said["stdout"], said["stderr"])


def _serve(to: socket.socket) -> None:
    """Answers each request with the process id, and with the status at its end. Returns in what was forked."""
    while True:
        data, descriptors, *_ = socket.recv_fds(to, 1 << 20, 3)
        if not data:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            to.close()
            _become(json.loads(data), descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        to.send(str(pid).encode())
        to.send(str(os.waitpid(pid, 0)[1]).encode())


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """The process is one that was started with these arguments."""
    # Where the tests run in the background, Ctrl-C is ignored, and so it would be here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(request["env"])
    os.chdir(request["folder"])
    sys.argv = ["tpushape", *request["arguments"]]
    sys.path[0] = ""
    given = iter(descriptors)
    for number, there in enumerate([True, *request["open"]]):
        if there:
            one = next(given)
            os.dup2(one, number)
            os.close(one)
        else:
            os.close(number)
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    opened: list[Any] = [
        open(number, "r" if number == 0 else "w", encoding=encoding, errors=errors or policy, closefd=False) if there else None  # noqa: SIM115
        for number, there, policy in zip(range(3), [True, *request["open"]], ["strict", "strict", "backslashreplace"], strict=True)
    ]
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = opened  # type: ignore[misc]


if __name__ == "__main__":
    import keras  # noqa: F401
    import tensorflow as tf  # noqa: F401

    import jupyter_tpushape.diagnose
    import jupyter_tpushape.repair
    import jupyter_tpushape.views  # noqa: F401
    from jupyter_tpushape.cli import main

    # The end of an interpreter walks through all that it may collect, and to look at a page is to copy it.
    gc.collect()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(main())

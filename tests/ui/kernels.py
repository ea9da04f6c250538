"""Kernels without the seconds that each would take to import TensorFlow and Keras: a server has imported them and forks for each.

What Jupyter starts, interrupts and ends is a small process that waits for the fork: it passes signals on, ends as the kernel ends, and the
kernel ends with it. Run from a folder ``site-packages``, as what starts a kernel is, lest its frames be taken for the user's.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys

# How long a kernel that has ended may go unnoticed, in seconds.
OFTEN = 0.05


def start(address: str, arguments: list[str]) -> None:
    """Asks the server for a kernel, passes signals on to it, and ends with its exit code."""
    asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked.connect(address)
    request = {"arguments": arguments, "folder": os.getcwd(), "env": dict(os.environ)}  # noqa: PTH109
    socket.send_fds(asked, [json.dumps(request).encode()], [0, 1, 2])
    kernel = int(asked.recv(32))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: os.kill(kernel, number))
    sys.exit(os.waitstatus_to_exitcode(int(asked.recv(32) or 9)) & 0xFF)


def serve(address: str) -> None:
    """Forks a kernel for each request. Returns in what was forked; ends when nobody holds its input open any longer."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(8)
    kernels: dict[socket.socket, int] = {}
    while True:
        ready, _, _ = select.select([0, listening, *kernels], [], [], OFTEN)
        if 0 in ready:
            for kernel in kernels.values():
                os.kill(kernel, signal.SIGKILL)
            os._exit(0)
        if listening in ready:
            asked, _ = listening.accept()
            data, descriptors, *_ = socket.recv_fds(asked, 1 << 20, 3)
            kernel = os.fork()
            if kernel == 0:
                for held in (asked, listening, *kernels):
                    held.close()
                become(json.loads(data), descriptors)
                return
            for descriptor in descriptors:
                os.close(descriptor)
            asked.send(str(kernel).encode())
            kernels[asked] = kernel
        for asked, kernel in list(kernels.items()):
            # What started it says nothing: where it can be read, it has been ended.
            if asked in ready:
                os.kill(kernel, signal.SIGKILL)
            ended, status = os.waitpid(kernel, 0 if asked in ready else os.WNOHANG)
            if ended:
                if asked not in ready:
                    asked.send(str(status).encode())
                asked.close()
                del kernels[asked]


def become(request: dict[str, object], descriptors: list[int]) -> None:
    """The process is one that was started with these arguments, by the server."""
    os.setsid()
    os.environ.clear()
    os.environ.update(request["env"], JPY_PARENT_PID=str(os.getppid()))
    os.chdir(request["folder"])
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.argv = ["ipykernel_launcher.py", *request["arguments"]]


if __name__ == "__main__":
    if sys.argv[1] == "start":
        start(sys.argv[2], sys.argv[3:])
    del sys.path[0]
    import gc

    import keras  # noqa: F401
    import tensorflow as tf  # noqa: F401
    from ipykernel.kernelapp import launch_new_instance

    # The end of an interpreter walks through all that it may collect, and to look at a page is to copy it.
    gc.collect()
    gc.freeze()
    serve(sys.argv[2])
    launch_new_instance()

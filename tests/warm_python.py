"""A stand-in for the interpreter whose processes start at once, as all that the program imports is imported.

Imports take a process two seconds, mostly more than what a test starts it for. So one process imports everything and
waits; `[*warm_python(), "-m", "ufselect", …]` or `[*warm_python(), "-c", …]` lets it fork. The fork has the arguments,
folder, environment and streams of the command, gets its signals, and the command ends as the fork does. Only what an
interpreter does before it runs a program is missing: variables that it reads, its path, the order of imports.
"""

import fcntl
import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@cache
def warm_python():
    """The command that stands for ``sys.executable``; on systems other than Linux, ``sys.executable`` itself."""
    if not hasattr(os, "pidfd_open"):
        return [sys.executable]
    run = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()  # all processes of a run share a server
    address = Path(tempfile.gettempdir(), f"ufselect-tests-{run}")
    with Path(f"{address}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists():
            os.posix_spawn(sys.executable, [sys.executable, __file__, "serve", str(address), str(run)], os.environ)
        while not address.exists():
            time.sleep(0.01)
    return [sys.executable, "-I", "-S", __file__, "ask", str(address)]


# The process that waits


def serve(address, run):
    """Fork for every request until that process ends."""
    running = os.pidfd_open(int(run))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{address}.new")
        listener.listen()
        os.rename(f"{address}.new", address)  # whoever sees it can connect
        import_everything()
        gc.freeze()  # a fork that ends would look at all of it, and so copy it
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while running not in (ready := select.select([listener, running], [], [])[0]):
            assert ready == [listener]
            connection, _ = listener.accept()
            if os.fork() == 0:
                answer(connection)
            connection.close()
    for path in (address, f"{address}.lock"):
        os.unlink(path)


def import_everything():
    import importlib
    import pkgutil

    import anndata  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401

    import ufselect

    for module in pkgutil.walk_packages(ufselect.__path__, "ufselect."):
        if not module.name.endswith(("_cuda", ".tensors", ".__main__")):  # PyTorch may be missing
            importlib.import_module(module.name)
    assert "tqdm" not in sys.modules, "tqdm reads its variables when it is imported"


def answer(connection):
    """Become the process that was asked for, beside one that tells its number and how it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, streams, _, _ = socket.recv_fds(connection, 8, 3)
    request = json.loads(connection.makefile("rb").read(int.from_bytes(length)))
    process = os.fork()
    if process == 0:
        connection.close()
        become(request, streams)
    connection.sendall(process.to_bytes(8))
    ended = os.pidfd_open(process)
    if ended not in select.select([connection, ended], [], [])[0]:  # whoever asked is dead
        os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    connection.sendall(code.to_bytes(8, signed=True))
    os._exit(0)


def become(request, streams):
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    kind, what, *arguments = request["arguments"]
    if kind == "-c":
        sys.argv = ["-c", *arguments]
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    else:
        assert (kind, what) == ("-m", "ufselect")
        sys.argv = ["ufselect", *arguments]
        from ufselect.cli import main

        main()
    sys.exit(0)


# The process that asks


def ask(address, *arguments):
    """Let the server fork, pass signals on, and end as the fork does."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    request = json.dumps({"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}).encode()
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        socket.send_fds(server, [len(request).to_bytes(8)], [0, 1, 2])
        server.sendall(request)
        process = int.from_bytes(server.recv(8))
        for number in SIGNALS:
            signal.signal(number, lambda number, frame: os.kill(process, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        code = int.from_bytes(server.recv(8), signed=True)
    if -code in SIGNALS:
        signal.signal(-code, signal.SIG_DFL)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])

"""A process that has imported what vLLM stands on, from which the workers of tests are forked.

``python -P preloaded.py FD`` imports ``MODULES``, then forks a process for each request at the socket ``FD``. The fork
gets the request's environment, folder and standard streams, and runs the module that it names as ``python -m`` does: it
imports its vLLM and vLLM-Omni itself, from where its own path says.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys

MODULES = (
    "torch",
    "torch._inductor.lowering",
    "torch.utils.cpp_extension",
    "transformers",
    "transformers.models.auto.image_processing_auto",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.modeling_gguf_pytorch_utils",
    "diffusers.models.autoencoders.autoencoder_asym_kl",
    "diffusers.models.autoencoders.autoencoder_rae",
    "peft",
    "scipy.signal",
    "openai.types.responses.response_function_tool_call_output_item",
    "openai_harmony",
    "opentelemetry.exporter.otlp.proto.grpc.trace_exporter",
    "aiohttp",
    "av",
    "compressed_tensors",
    "cv2",
    "fastapi",
    "omegaconf",
    "sympy.tensor.tensor",
    "xgrammar",
    "zmq.asyncio",
)
"""Most of the time of an import of vLLM-Omni goes into these. One that is not installed is left out."""

MOST_FILES = 8
"""The standard streams, and what else a worker is given."""

LENGTH = 4
"""Bytes that a message begins with: how long the rest is."""


def send(control: socket.socket, message: object, files: tuple[int, ...] = ()) -> None:
    """Send one message, and file descriptors with its first byte."""
    text = json.dumps(message).encode()
    socket.send_fds(control, [b"."], list(files))
    control.sendall(len(text).to_bytes(LENGTH) + text)


def receive(control: socket.socket) -> tuple[dict, list[int]]:
    """Receive one message. Raises ``EOFError`` if the other side is gone."""
    first, files, _, _ = socket.recv_fds(control, 1, MOST_FILES)
    if not first:
        raise EOFError
    length = int.from_bytes(_exactly(control, LENGTH))
    return json.loads(_exactly(control, length)), files


def _exactly(control: socket.socket, length: int) -> bytes:
    got = b""
    while len(got) < length:
        more = control.recv(length - len(got))
        if not more:
            raise EOFError
        got += more
    return got


def main() -> None:
    """Serve until the asker is gone; the forks end when they see that this process is."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    for module in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.freeze()
    own_path = list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    sys.path[:] = [each for each in sys.path if each not in own_path]
    with contextlib.suppress(EOFError, OSError):
        while True:
            request, files = receive(control)
            if "look" in request:
                send(control, {"status": _status(request["look"])})
            else:
                send(control, {"process": _fork(request, files, control)})


def _status(process: int) -> int | None:
    found, status = os.waitpid(process, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _fork(request: dict, files: list[int], control: socket.socket) -> int:
    process = os.fork()
    if process:
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(process, process)  # whichever of the two comes first
        for file in files:
            os.close(file)
        return process
    try:
        control.close()
        with contextlib.suppress(PermissionError):
            os.setpgid(0, 0)
        _place(files, request["numbers"])
        _run(request)
    finally:
        os._exit(1)


def _place(files: list[int], numbers: list[int]) -> None:
    """Give each file the number that the asker has for it."""
    aside = [fcntl.fcntl(file, fcntl.F_DUPFD, max(numbers) + 1) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(aside, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)


def _run(request: dict) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.enable()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    module, *sys.argv[1:] = request["words"]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

"""Messages over a socket: a length, then JSON."""

from __future__ import annotations

import socket
import struct
import time
from typing import TypeVar

import msgspec

LENGTH = struct.Struct("!Q")

LONGEST = 1 << 30
"""Bytes; no trace and no output is that long."""

Message = TypeVar("Message")


def send(channel: socket.socket, message: msgspec.Struct) -> None:
    """Raises ``OSError`` where nobody listens."""
    body = msgspec.json.encode(message)
    channel.sendall(LENGTH.pack(len(body)) + body)


def receive(channel: socket.socket, type_: type[Message], deadline: float | None = None) -> Message:
    """The next message.

    Raises ``EOFError`` at the end, ``TimeoutError`` past ``deadline`` (of the monotonic clock), and ``ValueError`` for
    what is no message.
    """
    (length,) = LENGTH.unpack(_exactly(channel, LENGTH.size, deadline))
    if length > LONGEST:
        raise ValueError(f"a message of {length} bytes")
    return msgspec.json.decode(_exactly(channel, length, deadline), type=type_)


def _exactly(channel: socket.socket, size: int, deadline: float | None) -> bytes:
    parts, missing = [], size
    while missing:
        channel.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))
        part = channel.recv(min(missing, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)

# SPDX-License-Identifier: Apache-2.0
"""Stands in for the C extension in tests: the same functions, on a plain socket, no walls."""

import builtins
import _signal  # the wrappers in `signal` need builtins that tests break
import os
import socket
import struct
import sys

HEADER = struct.Struct("<IHHQII")
WAIT = 1
ACK = 6

_fds = [int(fd) for fd in os.environ["VIV_TEST_CHANNELS"].split(",")]
_channel = socket.socket(fileno=_fds[0])
_nonce = 0


def _receive():
    header = _exactly(HEADER.size)
    if header is None:
        return None
    size, kind, flags, nonce, _counter, _reserved = HEADER.unpack(header)
    return kind, flags, nonce, _exactly(size)


def _exactly(size):
    data = bytearray()
    while len(data) < size:
        piece = _channel.recv(size - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def next():
    global _nonce
    frame = _receive()
    if frame is None:
        return None
    kind, flags, _nonce, payload = frame
    size = int.from_bytes(payload[:4], "little")
    return kind, flags, _nonce, payload[4:4 + size], memoryview(payload)[4 + size:], ()


def send(kind, flags, data, more=b""):
    # An interrupt here would leave half a frame, or its answer unread; the C half lets none in.
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGINT])
    try:
        payload = bytes(data) + bytes(more)
        # In one piece: tests of the C half look at pieces and counters.
        _channel.sendall(HEADER.pack(len(payload), kind, flags, _nonce, 0, 0) + payload)
        answer = _receive() if flags & WAIT else (ACK,)
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
    if answer is None or answer[0] != ACK:
        raise OSError("no answer")


def channel():
    """The real one marks it close-on-exec; Python did that here."""
    return _channel.fileno()


def channel():
    for number in _fds:
        os.set_inheritable(number, False)
    return _fds[0]


def compile(source, filename, is_expression):
    return builtins.compile(source, filename, "eval" if is_expression else "exec",
                            dont_inherit=True)


def is_asked(wait_ms=0):
    """Tests look at forks that have rehearsed."""
    del wait_ms
    return False


def is_empty(path):
    try:
        return not os.listdir(path)
    except OSError:
        return False


def forget():
    """The C half has SQLite seed its generator anew."""


def flush():
    """The C half flushes the streams of the C library."""


def huge():
    """The C half takes Python's arenas from huge pages."""


def zygote_fail(fd, why):
    """The C half tells launch."""
    del fd
    print(why, file=sys.stderr, flush=True)


def zygote(fd, lacks):
    """Forks one child per channel; they return, this process waits for them and ends."""
    global _channel
    del fd
    if lacks:
        print(f"lacks {lacks}", file=sys.stderr, flush=True)
    _channel.detach()
    for number in _fds:
        if os.fork() == 0:
            _channel = socket.socket(fileno=number)
            return
    for _ in _fds:
        os.wait()
    sys.stdout.flush()
    os._exit(0)

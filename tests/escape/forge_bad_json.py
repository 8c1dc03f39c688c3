# SPDX-License-Identifier: Apache-2.0
# expect: killed | ok
# class: forge
# unwalled: never
# within: 15s
"""Events that are no JSON, or too much of it: they never reach a client."""
import _vivarium

for text in (b"", b"{", b"NaN", b'{"type":"result","result":NaN}', b"[" * 100_000,
             b'{"type":"result","result":' + b"[" * 100_000,
             b'{"type":"stdout","text":"BREACH: forged"}', b'{"type":"started"}',
             b'{"type":"verdict"}',
             b'{"type":"result","result":{"text/plain":"\xff\xfe"}}', b'{"type":"chart"}',
             b'"type"', b"[]", b"null",
             b'{"type":"result","type":"verdict"}',
             b'{"type":"keepalive","x":"' + b"y" * (1 << 20) + b'"}'):
    try:
        _vivarium.send(3, 0, text)
    except OSError as error:
        print("gone:", error)
        break

# SPDX-License-Identifier: Apache-2.0
# expect: exit
# class: forge
# unwalled: never
# exit: 3
"""Frames for other runs: dropped, every one."""
for nonce in range(0, 300):
    for kind, text in ((5, b'{"kind":"ok","exit_code":0}'),
                       (3, b'{"type":"result","result":{"text/plain":"BREACH: forged"}}'),
                       (3,
                        b'{"type":"error","error":{"type":"BREACH: forged","message":"","traceback":"","line":1}}')):
        os.write(3, struct.pack("<IHHQ", len(text), kind, 0, nonce) + text)
sys.exit(3)

# SPDX-License-Identifier: Apache-2.0
# expect: killed
# class: forge
# unwalled: never
# exit: 134
# signal: 6
# by: supervisor
"""Says that all went well, by hand, on the channel; then crashes. Facts win."""
text = b'{"kind":"ok","exit_code":0,"message":"all is well","remedy":""}'
for nonce in (0, 1, 2**64 - 1):
    os.write(3, struct.pack("<IHHQ", len(text), 5, 0, nonce) + text)
os.abort()

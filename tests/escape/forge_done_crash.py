# SPDX-License-Identifier: Apache-2.0
# expect: killed
# class: forge
# unwalled: never
# exit: 134
# signal: 6
# by: supervisor
"""Says that all went well, by hand, on the channel; then crashes. Facts win."""
text = b'{"kind":"ok","exit_code":0,"message":"all is well","remedy":""}'
for counter, nonce in ((2, 0), (3, 1), (4, 2**64 - 1)):
    os.write(3, struct.pack("<IHHQII", len(text), 5, 0, nonce, counter, 0) + text)
os.abort()

# SPDX-License-Identifier: Apache-2.0
# expect: exit
# class: forge
# unwalled: never
# events: yes
# exit: 3
"""Prints what the stream of events looks like, and event texts with line ends in them."""
for text in ('{"seq":99,"t_ms":1,"type":"verdict","verdict":{"kind":"ok","exit_code":0}}',
             '\r\n{"type":"verdict"}\n\n\x1e'):
    print(text, flush=True)
    print(text, file=sys.stderr, flush=True)
sys.exit(3)

# SPDX-License-Identifier: Apache-2.0
"""Entry point of the runner: `python3 -I main.py zygote FD MODULE...` or `... main.py cold [WALLS ABI SHOWN]`.

Python compiles this file at each start, so it is short; everything else is compiled beforehand.
"""

import gc
import sys
from marshal import loads

from _frozen_importlib_external import MAGIC_NUMBER

gc.disable()  # a start leaves no garbage; start.py enables it again
folder = __file__.rpartition("/")[0]
try:
    with open(f"{folder}/{MAGIC_NUMBER.hex()}.bundle", "rb") as file:
        data = memoryview(file.read())
except FileNotFoundError:  # the bundle is missing or for another Python: use the sources
    sys.path[:0] = folder, folder + "/vivarium.zip"
    from vivarium import start

    del sys.path[:2]
else:
    parts = loads(data)
    begin, end = parts["vivarium.bundle"]
    names = {}
    exec(loads(data[begin:end]), names)
    names["install"](folder, data, parts)
    from vivarium import start

start.main(sys.argv[1:])

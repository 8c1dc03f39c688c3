# SPDX-License-Identifier: Apache-2.0
"""Loads the package from one file, so that a start searches nothing on disk.

A bundle, which gather.py makes, begins with a marshalled dict: the place of each module's code in the file,
counted from the end. Only modules that are imported are unpacked, without copying them first.
"""

import sys
from marshal import loads

from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader

EXTENSION = "_vivarium"


class Bundle:
    """Finder and loader of the runner's own modules."""

    def __init__(self, folder, data, parts):
        self.folder = folder
        self.data = data
        self.parts = parts

    def find_spec(self, name, path=None, target=None):
        if name in self.parts:
            return ModuleSpec(name, self, is_package=name == "vivarium")
        if name == EXTENSION:
            file = f"{self.folder}/{EXTENSION}.abi3.so"
            return ModuleSpec(name, ExtensionFileLoader(name, file), origin=file)
        return None

    @staticmethod
    def create_module(spec):
        """Returns None: the default way to make a module."""

    def exec_module(self, module):
        begin, end = self.parts[module.__name__]
        exec(loads(self.data[begin:end]), module.__dict__)


def install(folder, data, parts):
    """From here on `import vivarium` and `import _vivarium` use `folder`."""
    sys.meta_path.insert(0, Bundle(folder, data, parts))

# SPDX-License-Identifier: Apache-2.0
"""langchain-sandbox from PyPI, which ELITEA's sandbox grew out of, against `viv compat elitea`."""

import os
import unittest

import install
from case import HERE, ClientCase


class LangchainSandbox(ClientCase):
    def test_its_classes_work_unchanged(self):
        try:
            python = install.python_with("langchain-sandbox")
        except install.Missing as why:
            raise unittest.SkipTest(str(why)) from None
        stand_in = os.path.join(HERE, "..", "..", "examples", "elitea")
        self.assert_checks(self.run_program([python, os.path.join(HERE, "langchain_sandbox_talk.py")],
                                            path=os.path.abspath(stand_in)))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The client libraries that hosts of MCP are built with, over HTTP and over stdio, in both eras."""

import os
import shutil
import tempfile

from case import VIV, ClientCase, python

HERE = os.path.dirname(os.path.abspath(__file__))


class FolderCase(ClientCase):
    """With a folder to explore."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="vc-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chmod(cls.folder, 0o755)
        with open(os.path.join(cls.folder, "a.txt"), "w", encoding="utf-8") as file:
            file.write("hello\n")
        cls.CONFIG = f"explore: {{root: {cls.folder}}}\n"
        super().setUpClass()


class Sdks(FolderCase):
    """Everything through a daemon: `viv mcp` finds it by its config."""

    @property
    def mcp(self):
        return self.url + "/mcp"

    def python_sdk(self, generation, *args, **kw):
        return self.run_program([python(generation), os.path.join(HERE, "talk.py"), *args], **kw)

    def test_the_first_sdk_over_http(self):
        self.assert_checks(self.node("sdk_v1.mjs", "http", self.mcp))

    def test_the_first_sdk_over_stdio(self):
        self.assert_checks(self.node("sdk_v1.mjs", "stdio", VIV, "mcp"))

    def test_the_second_sdk_over_http_in_the_legacy_era(self):
        self.assert_checks(self.node("sdk_v2.mjs", "legacy", "http", self.mcp))

    def test_the_second_sdk_over_http_in_the_modern_era(self):
        self.assert_checks(self.node("sdk_v2.mjs", "modern", "http", self.mcp))

    def test_the_second_sdk_over_http_finds_the_modern_era(self):
        self.assert_checks(self.node("sdk_v2.mjs", "auto", "http", self.mcp))

    def test_the_second_sdk_over_stdio_in_the_legacy_era(self):
        self.assert_checks(self.node("sdk_v2.mjs", "legacy", "stdio", VIV, "mcp"))

    def test_the_second_sdk_over_stdio_finds_the_modern_era(self):
        self.assert_checks(self.node("sdk_v2.mjs", "auto", "stdio", VIV, "mcp"))

    def test_the_ai_sdk_over_http(self):
        self.assert_checks(self.node("ai_sdk.mjs", "http", self.mcp))

    def test_the_ai_sdk_over_stdio(self):
        self.assert_checks(self.node("ai_sdk.mjs", "stdio", VIV, "mcp"))

    def test_langchain_over_http(self):
        self.assert_checks(self.node("langchain.mjs", "http", self.mcp))

    def test_langchain_over_stdio(self):
        self.assert_checks(self.node("langchain.mjs", "stdio", VIV, "mcp"))

    def test_the_first_python_sdk_over_http(self):
        self.assert_checks(self.python_sdk(1, "legacy", "http", self.mcp))

    def test_the_first_python_sdk_over_stdio(self):
        self.assert_checks(self.python_sdk(1, "legacy", "stdio", VIV, "mcp"))

    def test_the_second_python_sdk_over_http_in_the_legacy_era(self):
        self.assert_checks(self.python_sdk(2, "legacy", "http", self.mcp))

    def test_the_second_python_sdk_over_http_finds_the_modern_era(self):
        self.assert_checks(self.python_sdk(2, "auto", "http", self.mcp))

    def test_the_second_python_sdk_over_stdio_finds_the_modern_era(self):
        self.assert_checks(self.python_sdk(2, "auto", "stdio", VIV, "mcp"))


class Embedded(FolderCase):
    """`viv mcp` where no daemon is found: its own engine does the work, and ends with it. The class's
    daemon is another one; at its end it proves that nothing of either is left."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        alone = cls.daemon.path("alone")
        os.makedirs(alone)
        os.chmod(alone, 0o777)
        cls.config = os.path.join(alone, "vivarium.yaml")
        with open(cls.config, "w", encoding="utf-8") as file:
            file.write(f'listen: ["127.0.0.1:0"]\nstate_dir: {alone}/state\nruntime_dir: {alone}/run\n{cls.CONFIG}')

    def test_the_first_sdk(self):
        self.assert_checks(self.node("sdk_v1.mjs", "stdio", VIV, "mcp", config=self.config))

    def test_the_second_sdk(self):
        self.assert_checks(self.node("sdk_v2.mjs", "auto", "stdio", VIV, "mcp", config=self.config))

# SPDX-License-Identifier: Apache-2.0
"""How web/ becomes a part of the binary: what is refused, and what is not done twice."""

import base64
import gzip
import hashlib
import os
import re
import stat
import subprocess
import sys
import tempfile
import unittest

from daemon import ROOT

SCRIPTS = os.path.join(ROOT, "src", "page")
INDEX = ('<html><head><meta name="csp-nonce" content="__NONCE__"><script type="module" src="/assets/index-aaaaaaaa.js">'
         '</script><link rel="stylesheet" href="/assets/index-bbbbbbbb.css"></head><body></body></html>')
FRAME = '<html><head><script type="module" src="/assets/frame-cccccccc.js"></script></head><body></body></html>'
FILES = {
    "index.html": INDEX, "frame.html": FRAME, "assets/index-aaaaaaaa.js": 'import{a}from"./part-dddddddd.js";a()',
    "assets/part-dddddddd.js": "export const a=()=>import('./lazy-eeeeeeee.js')", "assets/lazy-eeeeeeee.js": "1",
    "assets/index-bbbbbbbb.css": "p{}", "assets/frame-cccccccc.js": "parent.postMessage({ready:1},'*');",
}
# Stand in for the real ones: they write down that they were called.
NPM = "#!/bin/sh\necho npm >> \"$CALLS\"\nmkdir -p node_modules/vite/bin\n[ -z \"$FAILS\" ] || { echo no registry; exit 1; }\n"
NODE = "#!/bin/sh\necho node >> \"$CALLS\"\nrm -rf dist; cp -r \"$DIST\" dist\n"


def write(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="viv-page-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()


class Pack(Case):
    def pack(self, changes=None, status=0):
        dist = tempfile.mkdtemp(dir=self.folder)
        write(dist, {name: text for name, text in {**FILES, **(changes or {})}.items() if text is not None})
        done = subprocess.run([sys.executable, os.path.join(SCRIPTS, "pack.py"), dist, self.path("out.c")],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def arrays(self):
        """Every array of bytes in what was made, by its name."""
        found = re.findall(r"static const uint8_t (\w+)\[\] = \{([\d,\s]*?)0\};", self.read("out.c"))
        return {name: bytes(int(byte) for byte in text.replace("\n", "").split(",") if byte) for name, text in found}

    def test_every_file_is_in_it(self):
        self.pack()
        names = re.findall(r'^\{"([^"]+)", "([^"]+)"', self.read("out.c"), re.M)
        self.assertEqual([name for name, _ in names],
                         ["index-aaaaaaaa.js", "index-bbbbbbbb.css", "lazy-eeeeeeee.js", "part-dddddddd.js"])
        self.assertEqual(names[1][1], "text/css; charset=utf-8")
        arrays = self.arrays()
        self.assertEqual(arrays["page_index_bytes"].decode(), INDEX)
        self.assertEqual(gzip.decompress(arrays["bytes_1"]), b"p{}")

    def test_the_frame_has_its_script_in_it(self):
        self.pack()
        frame = self.arrays()["page_frame_bytes"]
        script = re.search(rb"<body><script>(.*)</script></body>", frame, re.S).group(1)
        digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
        self.assertIn(digest, self.read("out.c"))
        self.assertNotIn(b"src=", frame)

    def test_the_same_files_make_the_same_bytes(self):
        self.pack()
        first, begun = self.read("out.c"), os.stat(self.path("out.c")).st_mtime_ns
        self.pack()
        self.assertEqual(self.read("out.c"), first)
        self.assertEqual(os.stat(self.path("out.c")).st_mtime_ns, begun, "what is right is not written again")

    def test_a_first_load_that_is_too_large(self):
        noise = "".join(hashlib.sha256(str(i).encode()).hexdigest() for i in range(13000))  # half of it stays
        self.assertIn("400000", self.pack({"assets/index-aaaaaaaa.js": noise}, 1))
        self.assertIn("part-dddddddd.js", self.pack({"assets/part-dddddddd.js": noise}, 1), "imported by the first")
        self.assertIn("font", self.pack({"assets/index-bbbbbbbb.css": "p{src:url(/assets/font-ffffffff.woff2)}",
                                         "assets/font-ffffffff.woff2": noise}, 1))
        self.pack({"assets/lazy-eeeeeeee.js": noise})

    def test_what_cannot_be_served(self):
        for changes, word in (
                ({"index.html": INDEX.replace("__NONCE__", "")}, "__NONCE__"),
                ({"index.html": INDEX.replace("<body>", "<body><script>1</script>")}, "inline"),
                ({"index.html": INDEX.replace("<body>", "<body><style>p{}</style>")}, "inline"),
                ({"index.html": INDEX.replace("<body>", '<body onload="x()">')}, "inline"),
                ({"index.html": INDEX.replace("/assets/index-b", "http://cdn.example/b")}, "refers to"),
                ({"assets/index-bbbbbbbb.css": None}, "not there"),
                ({"assets/plain.js": "1"}, "hash"),
                ({"assets/some-12345678.exe": "1"}, "type"),
                ({"robots.txt": "x"}, "beside"),
                ({"frame.html": FRAME.replace("<body>", "<body><script>1</script>")}, "one script"),
                ({"assets/frame-cccccccc.js": 'import"./part-dddddddd.js"'}, "imports"),
                ({"assets/frame-cccccccc.js": 'x="</script>"'}, "cannot stand")):
            self.assertIn(word, self.pack(changes, 1), changes)

    def test_without_the_page_there_is_an_empty_table(self):
        subprocess.run([sys.executable, os.path.join(SCRIPTS, "pack.py"), "", self.path("out.c")], check=True)
        self.assertNotIn("bytes_0", self.read("out.c"))


class Build(Case):
    def setUp(self):
        super().setUp()
        write(self.folder, {"bin/npm": NPM, "bin/node": NODE, "calls": "",
                            "web/package.json": "{}", "web/package-lock.json": "{}", "web/index.html": "x",
                            "web/src/main.tsx": "1", "web/src/old/gone.ts": "1", "web/test/main.test.ts": "1",
                            "web/node_modules/theirs/index.js": "1"})
        write(self.path("dist"), FILES)
        for name in ("npm", "node"):
            os.chmod(self.path("bin", name), 0o755)

    def build(self, status=0, **env):
        write(self.folder, {"calls": ""})
        done = subprocess.run(
            [sys.executable, os.path.join(SCRIPTS, "build.py"), "--web", self.path("web"), "--work", self.path("work"),
             "--output", self.path("out.c"), "--depfile", self.path("out.d")],
            env={"PATH": self.path("bin") + ":/usr/bin:/bin", "CALLS": self.path("calls"), "DIST": self.path("dist"),
                 "HOME": self.folder, **env}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return self.read("calls").split(), done.stderr

    def test_npm_is_asked_only_when_the_lock_changes(self):
        self.assertEqual(self.build()[0], ["npm", "node"])
        self.assertEqual(self.build()[0], ["node"])
        write(self.path("web"), {"src/main.tsx": "2"})
        self.assertEqual(self.build()[0], ["node"])
        write(self.path("web"), {"package-lock.json": '{"a": 1}'})
        self.assertEqual(self.build()[0], ["npm", "node"])

    def test_an_install_that_failed_is_tried_again(self):
        calls, told = self.build(1, FAILS="1")
        self.assertEqual(calls, ["npm"])
        self.assertIn("-Dpage=false", told)
        self.assertIn("no registry", told)
        self.assertEqual(self.build()[0], ["npm", "node"])

    def test_the_copy_is_like_the_sources(self):
        self.build()
        os.unlink(self.path("web", "src", "old", "gone.ts"))
        os.rmdir(self.path("web", "src", "old"))
        write(self.path("web"), {"src/main.tsx": "2", "src/new.ts": "3"})
        self.build()
        self.assertEqual(self.read("work/src/main.tsx"), "2")
        self.assertEqual(sorted(os.listdir(self.path("work", "src"))), ["main.tsx", "new.ts"])
        self.assertFalse(os.path.exists(self.path("work", "test")))
        self.assertFalse(os.path.exists(self.path("work", "node_modules", "theirs")))

    def test_it_says_what_it_was_made_from(self):
        self.build()
        depfile = self.read("out.d")
        for name in ("web/index.html", "web/src/main.tsx", "web/src ", "web/package-lock.json"):
            self.assertIn(self.path(name), depfile)
        for name in ("test", "node_modules"):
            self.assertNotIn(self.path("web", name), depfile)

    def test_the_sources_are_never_written(self):
        before = {}
        for folder, _, names in os.walk(self.path("web")):
            before.update({os.path.join(folder, name): os.stat(os.path.join(folder, name)).st_mtime_ns for name in names})
            os.chmod(folder, 0o555)
        self.addCleanup(lambda: [os.chmod(folder, 0o755) for folder, _, _ in os.walk(self.path("web"))])
        os.chmod(self.path("web", "src", "main.tsx"), 0o444)
        self.build()
        self.assertEqual(before, {path: os.stat(path).st_mtime_ns for path in before})
        self.assertTrue(os.stat(self.path("work", "src", "main.tsx")).st_mode & stat.S_IWUSR)
        self.build()

    def test_a_user_without_a_home_gets_one(self):
        self.build(HOME="/nonexistent")
        self.assertTrue(os.path.isdir(self.path("work", ".home")))


if __name__ == "__main__":
    unittest.main()

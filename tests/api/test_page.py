# SPDX-License-Identifier: Apache-2.0
"""The page at /, as bytes and headers: what it is allowed to do is decided here, not in it."""

import base64
import gzip
import hashlib
import re
import socket
import unittest

from daemon import Daemon

FIRST_LOAD_MAX = 400_000
SECRET = "s" * 43
TOKENS = f"tokens:\n  - name: alice\n    sha256: {hashlib.sha256(SECRET.encode()).hexdigest()}\n"
GZIP = {"Accept_Encoding": "gzip, deflate, br, zstd"}  # as a browser; http.client would say identity


def policy(answer):
    """A Content-Security-Policy as {directive: [word, ...]}."""
    parts = [part.split() for part in answer.headers["Content-Security-Policy"].split(";")]
    return {words[0]: words[1:] for words in parts}


class Case(unittest.TestCase):
    CONFIG = ""
    FLAGS = ()
    ENV = {}

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(cls.CONFIG, flags=cls.FLAGS, env=cls.ENV)
        cls.addClassCleanup(cls.daemon.stop)

    def get(self, path, status=200, method="GET", **headers):
        names = {name.replace("_", "-"): value for name, value in {**GZIP, **headers}.items()}
        answer = self.daemon.request(method, path, headers=names)
        self.assertEqual(answer.status, status, (method, path, answer))
        return answer

    def assets(self):
        """The files that index.html refers to."""
        return re.findall(r'(?:src|href)="([^"]+)"', self.get("/").body.decode())

    def script(self):
        return next(path for path in self.assets() if path.endswith(".js"))


class Documents(Case):
    def test_the_page_is_there_and_shut_in(self):
        answer = self.get("/")
        rules = policy(answer)
        nonce = re.fullmatch(r"'nonce-([0-9a-f]{32})'", rules["style-src"][1]).group(1)
        self.assertEqual(answer.headers["Content-Type"], "text/html; charset=utf-8")
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")
        self.assertEqual(answer.headers["Cross-Origin-Opener-Policy"], "same-origin")
        self.assertEqual(answer.headers["X-DNS-Prefetch-Control"], "off")  # a link in a note asks no name server
        self.assertEqual(answer.headers["Cross-Origin-Resource-Policy"], "same-origin")
        self.assertEqual(rules, {
            "default-src": ["'none'"], "script-src": ["'self'"], "style-src": ["'self'", f"'nonce-{nonce}'"],
            "img-src": ["'self'", "data:", "blob:"], "font-src": ["'self'"], "connect-src": ["'self'"],
            "worker-src": ["'self'"], "frame-src": ["'self'"], "base-uri": ["'none'"], "form-action": ["'none'"],
            "frame-ancestors": ["'none'"]})
        allowed = [rule for rule in answer.headers["Permissions-Policy"].split(", ") if not rule.endswith("=()")]
        self.assertEqual(allowed, ["clipboard-write=(self)"])
        text = answer.body.decode()
        self.assertIn(f'<meta name="csp-nonce" content="{nonce}"', text)
        self.assertNotIn("__NONCE__", text)

    def test_every_answer_has_a_nonce_of_its_own(self):
        seen = {self.get("/").headers["Content-Security-Policy"] for _ in range(20)}
        self.assertEqual(len(seen), 20)

    def test_nothing_in_it_is_inline_or_from_elsewhere(self):
        text = self.get("/").body.decode()
        self.assertTrue(self.assets())
        for path in self.assets():
            self.assertTrue(path.startswith("/assets/"), path)
        for body in re.findall(r"<script[^>]*>(.*?)</script>", text, re.S):
            self.assertEqual(body.strip(), "")
        self.assertNotRegex(text, r"<style|\sstyle=|\son\w+=")

    def test_the_frame_has_no_origin_and_only_our_scripts(self):
        answer = self.get("/frame")
        rules = policy(answer)
        self.assertEqual(rules["sandbox"], ["allow-scripts"])
        self.assertEqual((rules["default-src"], rules["frame-ancestors"]), (["'none'"], ["'self'"]))
        self.assertEqual((rules["img-src"], rules["style-src"]), (["data:", "blob:"], ["'unsafe-inline'"]))
        self.assertEqual((rules["base-uri"], rules["form-action"]), (["'none'"], ["'none'"]))
        self.assertNotIn("connect-src", rules)
        scripts = re.findall(rb"<script>(.*?)</script>", answer.body, re.S)
        self.assertEqual(len(scripts), 1)
        page = gzip.decompress(self.get(self.script()).body).decode()  # it posts plotly to the frame, as text
        names = sorted(set(re.findall(r"/assets/plotly-[\w.-]+\.js", page)))
        handed = [gzip.decompress(self.get(name).body) for name in names]
        sums = [base64.b64encode(hashlib.sha256(code).digest()).decode() for code in scripts + handed]
        self.assertEqual(rules["script-src"], [f"'sha256-{digest}'" for digest in sums])
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")

    def test_head_has_everything_but_the_body(self):
        for path in ("/", "/frame", self.script()):
            whole, head = self.get(path), self.get(path, method="HEAD")
            self.assertEqual(head.body, b"")
            for name in ("Content-Length", "Content-Type", "Cache-Control", "Content-Encoding", "ETag"):
                self.assertEqual(head.headers[name], whole.headers[name], (path, name))

    def test_other_methods_are_refused(self):
        for path in ("/", "/frame", self.script()):
            for method in ("POST", "PUT", "DELETE", "PATCH"):
                answer = self.get(path, 405, method)
                self.assertEqual(answer.headers["Allow"], "GET, HEAD, OPTIONS")
            self.assertEqual(self.get(path, 204, "OPTIONS").headers["Allow"], "GET, HEAD, OPTIONS")

    def test_one_connection_does_for_all(self):
        connection = self.daemon.connection()
        self.addCleanup(connection.close)
        connection.connect()
        first = connection.sock
        for path in ["/", *self.assets(), "/frame", "/assets/none", "/health"] * 3:
            connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
            connection.getresponse().read()
            self.assertIs(connection.sock, first, path)

    def test_it_is_counted(self):
        self.get("/")
        text = self.daemon.request("GET", "/metrics").body.decode()
        self.assertRegex(text, r'vivarium_http_requests_total\{route="/",status="200"\} [1-9]')


class Assets(Case):
    def test_they_are_gzipped_and_kept_for_ever(self):
        for path in self.assets():
            answer = self.get(path)
            self.assertEqual(answer.headers["Content-Encoding"], "gzip")
            self.assertEqual(answer.headers["Cache-Control"], "public, max-age=31536000, immutable")
            self.assertEqual(answer.headers["Vary"], "Accept-Encoding")
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            self.assertRegex(answer.headers["ETag"], r'^"[0-9a-f]{32}"$')
            self.assertTrue(gzip.decompress(answer.body))

    def test_types_are_what_a_browser_wants(self):
        types = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
        seen = set()
        for path in self.assets():
            kind = path.rsplit(".", 1)[1]
            self.assertEqual(self.get(path).headers["Content-Type"], types[kind])
            seen.add(kind)
        self.assertEqual(seen, set(types))

    def test_one_that_is_there_already_is_not_sent_again(self):
        tag = self.get(self.script()).headers["ETag"]
        for header in (tag, f"W/{tag}", f'"x", {tag}', "*"):
            answer = self.get(self.script(), 304, If_None_Match=header)
            self.assertEqual((answer.body, answer.headers["ETag"]), (b"", tag))
        for header in ('"x"', tag.strip('"'), tag[:-2] + '"'):
            self.get(self.script(), 200, If_None_Match=header)

    def test_who_cannot_unpack_is_told_so(self):
        for header, status in (("identity", 406), ("gzip;q=0", 406), ("gzip; q=0.000, *", 406), ("br", 406),
                               ("", 406), ("*;q=0", 406), ("gzip;q=0.1", 200), ("*", 200), ("br, GZIP", 200),
                               ("deflate, gzip;q=1.0, *;q=0", 200), ("x" * 2000, 406), (";;,,;q", 406)):
            answer = self.get(self.script(), status, Accept_Encoding=header)
            if status == 406:
                self.assertIn("gzip", answer.error["message"])

    def test_names_that_are_not_in_the_table(self):
        name = self.script()
        for path in ("/assets/", "/assets/none-12345678.js", "/assets/../v1/status", "/assets/..%2fv1%2fstatus",
                     "/assets/%2e%2e/%2e%2e/etc/passwd", "/assets/....//etc/passwd", name + "/", name + "/x",
                     name.replace("/assets/", "/assets//"), name.replace("/assets/", "/assets/./"), name.upper(),
                     name + ".gz", "/assets/" + "a" * 4000, "/assets/%", "/assets/index.html", "/assets/page.c"):
            answer = self.get(path, 404)
            self.assertEqual(answer.error["kind"], "not_found")
        for path in ("/index.html", "/frame.html", "/frame/", "//", "/assets", "/src/main.tsx", "/./", "/%2e", name + "%00"):
            self.assertIn(self.daemon.request("GET", path).status, (400, 404), path)

    def test_the_first_load_is_small(self):
        total = len(gzip.compress(self.get("/").body))
        total += sum(len(self.get(path).body) for path in self.assets())
        self.assertLessEqual(total, FIRST_LOAD_MAX)

    def test_a_slow_reader_gets_all_of_it(self):
        """The reader says nothing about codings, which means that any will do."""
        whole = self.get(self.script()).body
        with socket.create_connection((self.daemon.host, self.daemon.port)) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            request = f"GET {self.script()} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            sock.sendall(request.encode())
            data = b""
            while piece := sock.recv(1000):
                data += piece
        self.assertEqual(data.split(b"\r\n\r\n", 1)[1], whole)


class Doors(Case):
    CONFIG = TOKENS

    def test_the_page_needs_no_token_and_all_else_does(self):
        for path in ("/", "/frame", *self.assets()):
            self.get(path)
        for path in ("/v1/sessions", "/v1/conversations", "/v1/status", "/v1/runs", "/metrics", "/nothing"):
            self.get(path, 401)
        self.get("/v1/sessions", Authorization=f"Bearer {SECRET}")

    def test_host_and_origin_are_checked(self):
        for path in ("/", "/frame", self.script(), "/assets/none"):
            for headers in ({"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example:80"},
                            {"Origin": "http://evil.example"}, {"Origin": "null"}):
                answer = self.daemon.request("GET", path, headers=headers)
                self.assertEqual((answer.status, answer.error["kind"]), (403, "forbidden"), (path, headers))
                self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
            own = f"http://127.0.0.1:{self.daemon.port}"
            self.assertNotEqual(self.daemon.request("GET", path, headers={"Origin": own}).status, 403)

    def test_it_is_there_over_the_unix_socket(self):
        self.assertEqual(self.daemon.request("GET", "/", unix=True).status, 200)


class SwitchedOff(Case):
    CONFIG = "page: {enabled: false}\n"

    def test_there_is_no_page(self):
        for path in ("/", "/frame", "/assets/index.js"):
            self.assertIn("openapi", self.get(path, 404).error["message"])
        self.get("/v1/conversations")


class AtlasBeside(Case):
    CONFIG = "dialects:\n  atlas: {enabled: true, prefix: /}\n"

    def test_a_dialect_at_the_root_leaves_the_page(self):
        self.assertIn(b"<!doctype html>", self.get("/").body)
        self.get("/frame")
        self.get(self.script())
        self.assertIn("bashAvailable", self.daemon.request("GET", "/health").json)


class AtlasAlone(Case):
    FLAGS = ("--dialect", "atlas", "--listen", "127.0.0.1:0")
    ENV = {"SIDECAR_AUTH_TOKEN": SECRET}

    def test_only_its_own_routes_are_there(self):
        for path in ("/", "/frame", "/assets/x"):
            answer = self.daemon.as_token(SECRET).request("GET", path)
            self.assertEqual((answer.status, answer.json), (404, {"error": "Not found"}))
        self.assertEqual(self.daemon.as_token(SECRET).request("GET", "/v1/status").status, 200)


class OtherMain(Case):
    FLAGS = ("--dialect", "piston")

    def test_a_dialect_that_is_not_alone_leaves_the_page(self):
        self.assertIn(b"<!doctype html>", self.get("/").body)
        self.get(self.script())


if __name__ == "__main__":
    unittest.main()

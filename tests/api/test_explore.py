# SPDX-License-Identifier: Apache-2.0
"""POST /v1/explore: shell commands over the config's folders, in sandboxes without Python."""

import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from daemon import Daemon, wait_for

MIB = 1 << 20
ODD = "odd 'name'\n\"$(id)\" é"
TOKENS = "".join(f"  - {{name: {name}, sha256: {hashlib.sha256(name.encode()).hexdigest()}{more}}}\n"
                 for name, more in (("alice", ""), ("bob", ", quotas: {concurrent_runs: 1}"),
                                    ("carol", ", policies: [small]")))
POLICIES = "policies:\n  small: {base: default, timeout: 2s, timeout_max: 2s, memory: 64MiB}\n" \
           "  asked: {base: default, approve: true}\n  guarded: {base: default, guard: {enabled: true}}\n"


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class ExploreCase(unittest.TestCase):
    """A daemon with three folders: plain, more, and one with an odd name."""

    more = ""

    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.mkdtemp(prefix="viv-explore-", dir="/tmp")
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", "--", cls.top], check=True)
        os.chmod(cls.top, 0o755)
        for name in ("plain", "more", ODD):
            os.mkdir(os.path.join(cls.top, name))
        os.mkdir(cls.path("plain", "entities"))
        write(cls.path("plain", "catalog.yml"), "name: demo\n")
        write(cls.path("plain", "entities", "users.yml"), "id: int\n")
        os.symlink("/etc", cls.path("plain", "out"))
        os.symlink("entities", cls.path("plain", "in"))
        write(cls.path("more", "m.txt"), "more\n")
        write(cls.path(ODD, "o.txt"), "odd\n")
        folders = json.dumps([f"more={cls.path('more')}", f"odd={cls.path(ODD)}", f"gone={cls.path('gone')}",
                              f"swap={cls.path('swap')}"])
        cls.daemon = Daemon(f"explore: {{root: {cls.path('plain')}, folders: {folders}}}\n" + cls.more)
        cls.addClassCleanup(cls.daemon.stop)

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.top, *names)

    def ask(self, command, client=None, **body):
        return (client or self.daemon).request("POST", "/v1/explore", {"command": command, **body})

    def explore(self, command, kind="ok", **body):
        answer = self.ask(command, **body)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["verdict"]["kind"], kind, answer)
        return answer.json


class Explore(ExploreCase):
    def test_the_answer(self):
        answer = self.ask("cat catalog.yml; echo oops >&2")
        self.assertEqual(set(answer.json), {"stdout", "stderr", "exit_code", "truncated", "verdict"})
        self.assertEqual((answer.json["stdout"], answer.json["stderr"]), ("name: demo\n", "oops\n"))
        self.assertEqual((answer.json["exit_code"], answer.json["truncated"]),
                         (0, {"stdout": False, "stderr": False}))
        run = self.daemon.ask("GET", f"/v1/runs/{answer.headers['Vivarium-Run']}")
        self.assertEqual((run["runtime"], run["stdout"]), ("explore", "name: demo\n"))
        walls = {"user", "mount", "pid", "net", "ipc", "uts", "fds", "rlimit", "caps", "landlock", "seccomp"}
        self.assertLessEqual(walls, set(run["walls"]))

    def test_a_failing_command_is_an_answer(self):
        self.assertEqual(self.explore("exit 7", "exit")["exit_code"], 7)
        self.assertEqual(self.explore("no-such-program", "exit")["exit_code"], 127)
        self.assertEqual(self.explore("kill -TERM $$", "exit")["exit_code"], 143)
        self.assertEqual(self.explore("if", "exit")["exit_code"], 2)

    def test_the_environment_is_exactly_this(self):
        given = dict(line.split("=", 1) for line in self.explore("env")["stdout"].splitlines())
        self.assertEqual(given, {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin",
                                 "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "PWD": "/data",
                                 "SHLVL": given["SHLVL"], "_": "/usr/bin/env"})

    def test_bash_and_the_usual_tools(self):
        text = ("[[ abc == a* ]] && echo $((6 * 7)); echo {1..3}; cat < <(echo sub); "
                "printf 'b\\na\\n' | sort | head -1; find . -name '*.yml' | sort | xargs grep -c :; "
                "echo 'x y' | awk '{print $2}' | sed s/y/z/; ls | wc -l; true | tee /tmp/t; stat -c %s catalog.yml")
        self.assertEqual(self.explore(text)["stdout"].split("\n")[:3], ["42", "1 2 3", "sub"])
        self.assertIn("./entities/users.yml:1\nz\n4\n11\n", self.explore(text)["stdout"])

    def test_stdin_is_at_its_end(self):
        self.assertEqual(self.explore("cat; read line || echo none")["stdout"], "none\n")

    def test_each_call_is_fresh(self):
        self.explore("echo 1 > /tmp/left; echo 2 > /workspace/left; x=1")
        self.assertEqual(self.explore("ls -A /tmp /workspace $HOME; echo $x")["stdout"].split(),
                         ["/tmp:", "/tmp:", "/workspace:"])

    def test_scratch_is_there_and_nothing_in_it_runs(self):
        text = "cd $TMPDIR && echo 'echo ran' > s && chmod +x s && bash s; ./s; cp /bin/true t; ./t"
        answer = self.explore(text, "exit")
        self.assertEqual((answer["stdout"], answer["exit_code"]), ("ran\n", 126))

    # ---- which folder, and where in it ----

    def test_folders_go_by_name(self):
        self.assertEqual(self.explore("cat m.txt", root="more")["stdout"], "more\n")
        self.assertEqual(self.explore("cat o.txt", root="odd")["stdout"], "odd\n")
        self.assertEqual(self.explore("cat catalog.yml", root="default")["stdout"], "name: demo\n")
        for name in ("nobody", "", self.path("more"), "../more", "more=" + self.path("more"), "x" * 5000):
            answer = self.ask("ls", root=name)
            self.assertEqual((answer.status, answer.error["field"]), (404, "root"), answer)
            self.assertNotIn(self.top, answer.error["message"].replace(name, "") if name else "")

    def test_the_names_are_told_and_not_the_paths(self):
        status = self.daemon.request("GET", "/v1/status")
        self.assertEqual(status.json["explore"], ["default", "more", "odd", "gone", "swap"])
        self.assertNotIn(self.top.encode(), status.body)

    def test_a_host_path_is_no_field(self):
        for field in ("folder", "data", "path"):
            self.assertEqual(self.ask("ls", **{field: self.path("more")}).status, 400)

    def test_where_it_starts(self):
        for cwd, pwd in (("entities", "/data/entities"), ("/data", "/data"), ("/data/entities/", "/data/entities"),
                         ("/semantic/entities", "/semantic/entities"), ("/semantic", "/semantic"),
                         ("./entities//../entities/.", "/data/entities"), ("", "/data"), (".", "/data"),
                         ("in", "/data/in")):
            self.assertEqual(self.explore("pwd; cat $PWD/../catalog.yml > /dev/null; ls | tail -1", cwd=cwd)["stdout"]
                             .split()[0], pwd, cwd)
        self.assertEqual(self.explore("cat users.yml", cwd="in")["stdout"], "id: int\n")

    def test_never_above_the_folder(self):
        for cwd in ("..", "../plain", "entities/../..", "/etc", "/", "/data/..", "/dataX", "/semantic/../etc",
                    "/semanticX", "//data", "/data/../data"):
            answer = self.ask("pwd", cwd=cwd)
            self.assertEqual((answer.status, answer.error["message"]), (400, "cwd: must be below the folder"), cwd)

    def test_where_it_cannot_start(self):
        for cwd, why in (("nothing", "No such file or directory"), ("catalog.yml", "Not a directory"),
                         ("out", "leads out of the folder"), ("a..b", "No such file or directory"),
                         ("x" * 300, "File name too long")):
            answer = self.explore("echo ran", "exit", cwd=cwd)
            self.assertEqual((answer["exit_code"], answer["stdout"]), (1, ""), cwd)
            self.assertIn(why, answer["stderr"])

    def test_links_out_of_the_folder_show_the_sandbox(self):
        self.assertNotIn("root:", self.explore("cat out/passwd")["stdout"])
        self.assertEqual(self.explore("cat out/hostname")["stdout"], "vivarium\n")

    # ---- folders that change ----

    def test_changes_of_files_are_seen_at_once(self):
        write(self.path("more", "n.txt"), "1")
        self.assertEqual(self.explore("cat n.txt", root="more")["stdout"], "1")
        write(self.path("more", "n.txt"), "2")
        self.assertEqual(self.explore("cat n.txt", root="more")["stdout"], "2")
        os.unlink(self.path("more", "n.txt"))
        self.explore("cat n.txt", "exit", root="more")

    def test_a_folder_that_is_not_there_yet(self):
        answer = self.ask("ls", root="gone")
        self.assertEqual((answer.status, answer.error["field"]), (404, "root"), answer)
        self.assertNotIn(self.top, answer.error["message"])
        os.mkdir(self.path("gone"))
        write(self.path("gone", "g"), "back")
        self.assertEqual(self.explore("cat g", root="gone")["stdout"], "back")
        shutil.rmtree(self.path("gone"))
        self.assertEqual(self.ask("ls", root="gone").status, 404)
        os.mkdir(self.path("gone"))
        write(self.path("gone", "g"), "again")
        self.assertEqual(self.explore("cat g", root="gone")["stdout"], "again")
        shutil.rmtree(self.path("gone"))
        write(self.path("gone"), "no folder")
        self.assertEqual(self.ask("ls", root="gone").status, 404)
        os.unlink(self.path("gone"))

    def test_a_link_that_is_turned_to_another_release(self):
        for number in (1, 2):
            os.makedirs(self.path(f"release{number}"))
            write(self.path(f"release{number}", "v"), str(number))
            os.symlink(self.path(f"release{number}"), self.path("swap.new"))
            os.replace(self.path("swap.new"), self.path("swap"))
            self.assertEqual(self.explore("cat v", root="swap")["stdout"], str(number))

    # ---- limits ----

    def test_a_timeout_keeps_what_was_said(self):
        answer = self.explore("echo before; sleep 60", "timeout", timeout_ms=300)
        self.assertEqual((answer["stdout"], answer["exit_code"], answer["verdict"]["by"]),
                         ("before\n", 124, "supervisor"))

    def test_output_is_cut_at_a_mebibyte_and_said_so(self):
        for extra, is_cut in ((0, False), (1, True)):
            answer = self.explore(f"head -c {MIB + extra} /dev/zero | tr '\\0' a; echo b >&2")
            self.assertEqual((len(answer["stdout"]), answer["truncated"]["stdout"]), (MIB, is_cut))
            self.assertEqual((answer["stderr"], answer["truncated"]["stderr"]), ("b\n", False))

    def test_bytes_that_are_no_text(self):
        self.assertEqual(self.explore("printf 'a\\xffb\\0c'")["stdout"], "a�b\0c")

    def test_bad_requests(self):
        for body in ({}, {"command": ""}, {"command": None}, {"command": 1}, {"command": ["ls"]}, {"command": True},
                     {"command": "a\0b"}, {"command": "x" * (128 << 10)}, {"command": "ls", "cwd": 1},
                     {"command": "ls", "cwd": "a\0b"}, {"command": "ls", "root": {}}, {"command": "ls", "timeout_ms": 0},
                     {"command": "ls", "timeout_ms": -1}, {"command": "ls", "timeout_ms": 60001},
                     {"command": "ls", "timeout_ms": "1s"}, {"command": "ls", "timeout_ms": 1.5},
                     {"command": "ls", "what": 1}, []):
            answer = self.daemon.request("POST", "/v1/explore", body)
            self.assertEqual((answer.status, answer.error["kind"]), (400, "bad_request"), body)
        for text in ("", "{", "null", '"ls"', '{"command":"ls"', "\xff"):
            self.assertEqual(self.daemon.request("POST", "/v1/explore", text.encode("latin-1")).status, 400, text)
        self.assertEqual(self.daemon.request("GET", "/v1/explore").status, 405)

    def test_the_longest_command(self):
        command = "echo " + "x" * ((128 << 10) - 1 - 5)
        self.assertEqual(len(self.explore(command)["stdout"]), len(command) - 5 + 1)

    def test_many_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda n: self.explore(f"echo {n}; cat catalog.yml")["stdout"], range(24)))
        self.assertEqual(found, [f"{n}\nname: demo\n" for n in range(24)])

    def test_a_client_that_leaves(self):
        connection = self.daemon.connection()
        connection.request("POST", "/v1/explore",
                           json.dumps({"command": "echo on; sleep 50", "timeout_ms": 55000}))
        run = wait_for(lambda: next((line["id"] for line in self.daemon.ask("GET", "/v1/runs?limit=1")["runs"]
                                     if line["verdict"] is None), None))
        wait_for(lambda: "sleep" in self.daemon.processes().values(), what="its process")
        connection.close()
        self.assertEqual(self.daemon.result(run)["verdict"]["kind"], "cancelled")
        wait_for(lambda: "sleep" not in self.daemon.processes().values(), what="the end of its process")

    def test_it_is_in_openapi(self):
        described = self.daemon.ask("GET", "/openapi.json")["paths"]["/v1/explore"]["post"]
        self.assertIn("read-only", json.dumps(described))


class Tokens(ExploreCase):
    more = "tokens:\n" + TOKENS + POLICIES

    def test_no_token_no_answer(self):
        self.assertEqual(self.ask("ls").status, 401)
        self.assertEqual(self.ask("ls", self.daemon.as_token("alice")).status, 200)

    def test_policies_hold(self):
        carol = self.daemon.as_token("carol")
        self.assertEqual(self.ask("ls", carol).json["exit_code"], 0)
        self.assertEqual(self.ask("ls", carol, policy="default").status, 403)
        self.assertEqual(self.ask("ls", carol, timeout_ms=3000).status, 400)
        self.assertEqual(self.ask("tail /dev/zero", carol).json["verdict"]["kind"], "memory")
        alice = self.daemon.as_token("alice")
        self.assertEqual(self.ask("ls", alice, policy="guarded").json["exit_code"], 0)
        self.assertEqual(self.ask("ls", alice, policy="nothing").status, 404)

    def test_quotas_count_it(self):
        bob = self.daemon.as_token("bob")
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            first = threads.submit(self.ask, "echo on; sleep 30", bob, timeout_ms=5000)
            run = wait_for(lambda: next((line["id"] for line in bob.ask("GET", "/v1/runs")["runs"]
                                         if line["verdict"] is None), None))
            second = self.ask("ls", bob)
            self.assertEqual((second.status, second.error["kind"]), (429, "busy"), second)
            self.assertEqual(bob.request("DELETE", f"/v1/runs/{run}").status, 204)
            self.assertEqual(first.result(60).json["verdict"]["kind"], "cancelled")
        self.assertEqual(self.daemon.as_token("alice").request("GET", f"/v1/runs/{run}").status, 404)

    def test_the_audit_log_has_it(self):
        self.ask("echo audited", self.daemon.as_token("alice"))
        want = hashlib.sha256(b"echo audited").hexdigest()

        def lines():
            with open(self.daemon.path("state", "audit.jsonl"), encoding="utf-8") as file:
                return [line for line in map(json.loads, file) if line.get("sha256") == want]

        line = wait_for(lines, what="the line in the audit log")[0]
        self.assertEqual((line["op"], line["token"], line["verdict"], line["runtime"]),
                         ("explore", "alice", "ok", "explore"))


class Crash(ExploreCase):
    def test_a_command_outlives_the_daemon_and_is_told_to_the_end(self):
        connection = self.daemon.connection()
        connection.request("POST", "/v1/explore", json.dumps({"command": "echo on; sleep 2; echo over"}))
        wait_for(lambda: "sleep" in self.daemon.processes().values(), what="its process")
        run = self.daemon.ask("GET", "/v1/runs?limit=1")["runs"][0]["id"]
        self.daemon.restart()
        connection.close()
        result = self.daemon.result(run)
        self.assertEqual((result["verdict"]["kind"], result["stdout"], result["runtime"]),
                         ("ok", "on\nover\n", "explore"))
        self.assertEqual(self.explore("cat catalog.yml")["stdout"], "name: demo\n")


class Nothing(unittest.TestCase):
    def test_without_a_folder_in_the_config(self):
        with Daemon() as daemon:
            answer = daemon.request("POST", "/v1/explore", {"command": "ls"})
            self.assertEqual(answer.status, 404)
            self.assertIn("explore.root", answer.error["message"])

    def test_configs_that_are_refused(self):
        for line, word in (('explore: {folders: ["nopath"]}', "NAME=/PATH"),
                           ('explore: {folders: ["a=relative"]}', "NAME=/PATH"),
                           ('explore: {folders: ["a b=/srv"]}', "NAME=/PATH"), ("explore: {root: relative}", "root"),
                           ("explore: {what: 1}", "what")):
            daemon = Daemon(line + "\n", start=False)
            self.addCleanup(daemon.sweep)
            self.assertNotEqual(daemon.spawn().wait(60), 0, line)
            self.assertIn(word, daemon.log())

    def test_a_folder_that_is_none_is_told_at_the_start(self):
        daemon = Daemon("explore: {root: /etc/passwd}\n", start=False)
        self.addCleanup(daemon.sweep)
        self.assertEqual(daemon.spawn().wait(60), 2)
        self.assertIn("explore.root: /etc/passwd is not a folder", daemon.log())
        with Daemon("explore: {root: /nope, folders: ['a=/neither']}\n") as daemon:
            for key, path in (("root", "/nope"), ("folders", "/neither")):
                self.assertIn(f"explore.missing key=explore.{key} path={path} ", daemon.log())
            for root, key in (("default", "root"), ("a", "folders")):
                answer = daemon.request("POST", "/v1/explore", {"command": "ls", "root": root})
                self.assertEqual((answer.status, answer.error["message"]), (404,
                                 f"root: {root}, which explore.{key} of the config names: No such file or directory"))


if __name__ == "__main__":
    unittest.main()

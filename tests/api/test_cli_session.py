# SPDX-License-Identifier: Apache-2.0
"""`viv session`, `viv ps`, `viv logs`, `viv top` against a real daemon."""

import os
import signal
import subprocess

from daemon import wait_for
from daemon_cli import DaemonCase
from vivcli import strict_json


class SessionTest(DaemonCase):
    def test_variables_stay_from_run_to_run(self):
        name = self.session("--name", "stay")
        self.assertRegex(name, r"^ses_[0-9a-z]{26}$")
        self.assertEqual(self.text("session", "run", "stay", "-c", "x = 6"), "")
        self.assertEqual(self.text("session", "run", name, "-c", "x * 7"), "42\n")
        self.assertEqual(self.text("session", "run", name[:12], "-", stdin=b"print(x)"), "6\n")
        script = self.write("s.py", "x += 1\nx")
        self.assertEqual(self.text("session", "run", name[4:12], script), "7\n")

    def test_the_remedy_for_a_file_that_is_not_returned_works(self):
        name = self.session()
        done = self.viv("session", "run", name, "--out", "some", "-c", "open('big', 'wb').write(bytes(9 << 20)); None")
        self.assertEqual((done.code, os.listdir(self.path("some"))), (125, []))
        self.assertIn(b"viv session: not written: /workspace/big: it is larger than the 8 MiB that a daemon returns\n",
                      done.err)
        self.assertIn(b"remedy: `viv session get %s PATH` copies" % name.encode(), done.err)
        self.text("session", "get", name, "/workspace/big", "some/big")
        self.assertEqual(os.path.getsize(self.path("some/big")), 9 << 20)

    def test_files_above_the_most_that_a_run_gives_back_fail(self):
        code = "for i in range(1001): open(f'{i:04}', 'w').close()"
        done = self.viv("session", "run", self.session(), "--json", "--out", "many", "-c", code)
        self.assertEqual((done.code, len(os.listdir(self.path("many")))), (125, 1000), done.err)
        self.assertIn(b"viv session: not written: some files: 1000 were taken, the most that a run gives back; pack many into "
                      b"one\n", done.err)
        self.assertIn("1000 files", self.text("session", "--help"))

    def test_what_blocks_a_branch_is_told_in_a_sentence(self):
        name = self.session()
        self.text("session", "run", name, "-c", "keep = open('f', 'w')")
        done = self.viv("session", "fork", name)
        self.assertEqual((done.code != 0, done.err), (True, b"viv session: a branch is blocked by: open file /workspace/f\n"))

    def test_a_session_is_made_as_asked(self):
        made = self.good("session", "new", "--json", "--name", "as asked", "--runtime", "bare",
                         "--idle", "10m", "--ttl", "2h", "--plain")
        self.addCleanup(self.viv, "session", "rm", made["id"])
        self.assertEqual((made["name"], made["runtime"], made["idle_ms"], made["ttl_ms"],
                          made["transactional"]), ("as asked", "bare", 600_000, 7_200_000, False))
        for flags in (["--idle", "soon"], ["--policy", "none"], ["--runtime", "none"]):
            done = self.viv("session", "new", *flags)
            self.assertEqual((done.code, done.out), (2, b""), done.err)

    def test_the_list_shows_them(self):
        name = self.session("--name", "shown")
        table = self.text("session", "list")
        self.assertIn("SESSION", table.splitlines()[0])
        row = [line for line in table.splitlines() if name in line]
        self.assertEqual(len(row), 1)
        self.assertIn("shown", row[0])
        listed = self.good("session", "list", "--json")["sessions"]
        self.assertIn(name, [session["id"] for session in listed])

    def test_which_session_is_meant(self):
        ids = [self.daemon.request("POST", "/v1/sessions", {"name": "twin"}).json["id"] for _ in range(2)]
        for made in ids:
            self.addCleanup(self.viv, "session", "rm", made)
        done = self.viv("session", "run", "twin", "-c", "1")
        self.assertEqual(done.code, 2)
        said, _, named = done.err.decode().partition("; use an id: ")
        self.assertEqual(said, "viv session: 2 sessions match 'twin'")
        self.assertEqual(sorted(named.split()), sorted(ids))  # made in the same millisecond, in any order
        done = self.viv("session", "run", "nobody", "-c", "1")
        self.assertEqual(done.code, 2)
        self.assertIn(b"there is no session 'nobody'", done.err)
        self.assertEqual(self.viv("session", "run", "", "-c", "1").code, 2)

    def test_a_name_is_given_once(self):
        made = self.session("--name", "once")
        self.text("session", "export", made, "once.vivarium")
        for words in (["new"], ["import", "once.vivarium"]):
            done = self.viv("session", *words, "--name", "once")
            self.assertEqual((done.code, done.out), (2, b""))
            self.assertIn(f"there is a session 'once' already: {made}; use it, choose another name, or end it: "
                          f"viv session rm {made}", done.err.decode())

    def test_the_oldest_comes_first(self):
        made = [self.session() for _ in range(6)]
        for listed in (self.good("session", "list", "--json"), self.good("ps", "--json"),
                       self.good("top", "--once", "--json")):
            self.assertEqual([row["id"] for row in listed["sessions"] if row["id"] in made], made)

    def test_refusals_are_in_the_words_of_the_command_line(self):
        name = self.session()
        csv = self.write("s.csv", "a\n1\n")
        rows = self.write("rows.json", '{"columns": ["a"], "rows": [[1], [2, 3]]}')
        for words, told in (
                (["session", "run", name, "--timeout", "500s", "-c", "1"],
                 "--timeout: 500s is above the policy's 120s"),
                (["run", "--memory", "64GiB", "-c", "1"], "--memory: 64GiB is above the policy's 512MiB"),
                (["session", "new", "--idle", "100h"], "--idle: 100h is above the 30m of the config"),
                (["session", "new", "--idle", "1ms"], "--idle: must be at least 1000 milliseconds"),
                (["session", "fork", name, "99"], "N: must be from 1 to 16"),
                (["session", "run", name, "-c", "df", "--data", rows],
                 f"--data: {rows}: rows[1]: has 2 values, but the number of columns is 1"),
                (["run", "-c", "df", "--data", rows],
                 f"--data: {rows}: rows[1]: has 2 values, but the number of columns is 1"),
                (["run", "-c", "1", "--file", csv, "--file", f"{csv}:/etc/x"],
                 "--file: /etc/x: must be relative, or below /workspace"),
                (["run", "-c", "1", "--env", "A=1", "--env", "AB=1", "--env", "A=2"], "--env: A is given twice"),
                (["session", "run", name, "-c", "df", "--data", csv],
                 f"--data: a session takes .json only; copy the file into it with `viv session put {name} {csv}`, "
                 f"and read it there: pandas.read_csv('{os.path.basename(csv)}')")):
            done = self.viv(*words)
            self.assertEqual(done.out, b"")
            self.assertEqual(done.err.decode(), f"viv {words[0]}: {told}\n")

    def test_usage_is_checked(self):
        for words in (["dance"], ["run"], ["rollback", "x"], ["rm"], ["list", "x"],
                      ["put", "x"], ["export", "x"]):
            done = self.viv("session", *words)
            self.assertEqual((done.code, done.out), (2, b""), words)
            self.assertTrue(done.err.startswith(b"viv session: "), done.err)
        self.assertIn("subcommands:", self.text("session", "--help"))

    def test_a_flag_that_a_subcommand_does_not_take_is_refused(self):
        name = self.session()
        for words in (["run", name, "--policy", "default", "-c", "1"],
                      ["run", name, "--runtime", "nosuch", "-c", "1"],
                      ["list", "--name", "x"], ["--keep"], ["vars", name, "--timeout", "1s"],
                      ["files", name, "--offset", "0"], ["repl", name, "-c", "1"]):
            done = self.viv("session", *words)
            self.assertEqual((done.code, done.out), (2, b""), (words, done.err))
            self.assertIn(b" takes no --", done.err)
        self.assertIn(b"run takes no --policy; it is a flag of `viv session new`, `viv session "
                      b"import`, `viv session restart`",
                      self.viv("session", "run", name, "--policy", "x", "-c", "1").err)
        listed = self.good("session", "list", "--json")["sessions"]
        self.assertEqual([row["runs"] for row in listed if row["id"] == name], [0])
        self.assertIn("new, import, restart: ", self.text("session", "--help"))

    def test_a_restart_takes_policy_and_runtime(self):
        name = self.session("--keep")
        for flag in ("--policy", "--runtime"):
            done = self.viv("session", "restart", name, flag, "nosuch")
            self.assertEqual((done.code, done.out), (2, b""), done.err)
            self.assertIn(b"nosuch", done.err)
        changed = self.good("session", "restart", name, "--json", "--policy", "default",
                            "--runtime", "bare")
        self.assertEqual((changed["policy"], changed["runtime"]), ("default", "bare"))

    def test_a_run_that_fails_costs_nothing_but_itself(self):
        name = self.session()
        self.text("session", "run", name, "-c", "x = 1")
        for code, status, word in (("x = 2\nwhile True: pass", 124, b"timeout"),
                                   ("x = 3\nimport os; os._exit(5)", 5, b"rolled back"),
                                   ("x = 4\nimport os; os.kill(os.getpid(), 11)", 139, b"SIGSEGV")):
            done = self.viv("session", "run", name, "--timeout", "1s", "-c", code)
            self.assertEqual(done.code, status, done.err)
            self.assertIn(word, done.err)
            self.assertIn(b"viv session: rolled back:", done.err)
            self.assertEqual(self.text("session", "run", name, "-c", "x"), "1\n")
        done = self.viv("session", "run", name, "-c", "x = 9\n1/0")
        self.assertEqual(done.code, 1)
        self.assertIn(b"ZeroDivisionError", done.err)
        self.assertNotIn(b"rolled back", done.err)
        self.assertEqual(self.text("session", "run", name, "-c", "x"), "9\n")

    def test_a_run_that_leaves_no_checkpoint_says_so(self):
        name = self.session()
        leaves = ("import threading\nstop = threading.Event()\nt = threading.Thread(target=stop.wait, name='w\x1b[31m')\n"
                  "t.start()")
        done = self.viv("session", "run", name, "-c", leaves)
        self.assertEqual((done.code, done.out, done.err.decode()),
                         (0, b"", "viv session: no checkpoint after this run: thread w\\x1b[31m. A run that fails goes back to the last "
                                  "one\n"))
        done = self.viv("session", "run", name, "--json", "-c", "1")
        self.assertEqual(done.err, b"")
        done = self.viv("session", "repl", name, stdin=b"x = 1\nx += 1\nx += 1\nstop.set()\nt.join()\n")
        self.assertEqual((done.code, done.err.count(b"no checkpoint after this run")), (0, 1), done.err)
        self.assertEqual(self.viv("session", "run", name, "-c", "x").err, b"")

    def test_a_remedy_names_flags_that_the_subcommand_takes(self):
        name = self.session()
        for code, words in (("while True: pass", "raise --timeout of `viv session run` (the policy"),
                            ("x = [bytearray(2**20) for _ in range(4000)]",
                             "`viv session new --policy NAME` takes one"),
                            ("import no_such_module_anywhere", "`viv session new --runtime NAME`"),
                            ("import urllib.request as r; r.urlopen('http://example.com')",
                             "this sandbox has no network; give it what the code needs with `viv session put`")):
            done = self.viv("session", "run", name, "--timeout", "20s" if "x" in code else "1s",
                            "-c", code)
            self.assertIn(words, done.err.decode())
            self.assertNotIn(b"--memory", done.err)

    def test_results_and_events_are_json(self):
        name = self.session()
        result = self.good("session", "run", name, "--json", "-c", "print(1)\n2")
        self.assertEqual((result["session"], result["stdout"], result["state"]),
                         (name, "1\n", "preserved"))
        done = self.viv("session", "run", name, "--events", "-c", "print(1)")
        kinds = [strict_json(line)["type"] for line in done.out.splitlines()]
        self.assertEqual((kinds[0], kinds[-1]), ("started", "verdict"))
        refused = self.viv("session", "run", name, "--json", "--timeout", "99h", "-c", "1")
        self.assertEqual(strict_json(refused.out)["error"]["kind"], "bad_request")

    def test_files_and_charts_of_a_run_go_to_a_folder(self):
        name = self.session()
        self.text("session", "run", name, "--out", "got", "-c",
                  "open('made.txt', 'w').write('made')\n"
                  "import matplotlib.pyplot as p; p.plot([1]); None")
        self.assertEqual(sorted(os.listdir(self.path("got"))), ["chart-1.png", "made.txt"])

    def test_one_that_is_kept_is_restarted_with_its_files(self):
        name = self.text("session", "new", "--keep", "--runtime", "bare").strip()
        self.addCleanup(self.viv, "session", "rm", name)
        self.text("session", "run", name, "-c", "x = 1\nopen('f', 'w').write('old')")
        self.assertIn("is restarted", self.text("session", "restart", name))
        told = self.viv("session", "run", name, "-c", "'x' in globals(), open('f').read()")
        self.assertEqual(told.out, b"(False, 'old')\n")
        self.assertIn(b"the session was restarted", told.err)
        self.assertIn("live", self.text("session", "checkpoints", name))
        self.assertIn("is awake", self.text("session", "wake", name))

    def test_keeping_can_be_asked_for_later(self):
        name = self.text("session", "new", "--runtime", "bare").strip()
        self.addCleanup(self.viv, "session", "rm", name)
        self.text("session", "run", name, "-c", "open('f', 'w').write('old')")
        self.assertIn("its files and variables are gone", self.text("session", "restart", name))
        self.text("session", "run", name, "-c", "open('f', 'w').write('new')")
        self.assertIn("is kept", self.text("session", "keep", name))
        self.assertIn("its files are there", self.text("session", "restart", name))
        self.assertEqual(self.text("session", "run", name, "-c", "open('f').read()"), "'new'\n")
        self.assertIn("is not kept", self.text("session", "keep", name, "off"))
        self.assertIn("is not 'off'", self.viv("session", "keep", name, "no").err.decode())

    def test_a_checkpoint_with_a_name_that_is_only_on_disk_is_dropped_before_keeping_ends(self):
        name = self.text("session", "new", "--keep", "--runtime", "bare").strip()
        self.addCleanup(self.viv, "session", "rm", name)
        self.text("session", "run", name, "-c", "a = 1")
        self.text("session", "checkpoint", name, "gold")
        self.text("session", "run", name, "-c", "a = 2")
        self.text("session", "restart", name)
        told = self.viv("session", "keep", name, "off").err.decode()
        self.assertIn("would be lost: gold;", told)
        self.assertIn(f"viv session drop {name} NAME", told)
        self.text("session", "drop", name, "gold")
        self.assertIn("is not kept", self.text("session", "keep", name, "off"))

    def test_states_are_kept_and_gone_back_to(self):
        name = self.session()
        self.text("session", "run", name, "-c", "x = 1\nopen('f', 'w').write('old')")
        made = self.text("session", "checkpoint", name, "good").strip()
        self.assertTrue(made.startswith("cp_"))
        self.text("session", "run", name, "-c", "x = 2\ny = 3\nopen('f', 'w').write('new')")
        self.assertIn("good", self.text("session", "checkpoints", name))
        self.assertEqual(sorted(self.text("session", "diff", name, "good").splitlines()),
                         ["+ y", "~ x"])
        self.assertIn(made, self.text("session", "rollback", name, "good"))
        self.assertEqual(self.text("session", "run", name, "-c", "x, open('f').read()"),
                         "(1, 'old')\n")
        self.assertEqual(self.good("session", "rollback", name, made[:9], "--json")["id"], name)
        done = self.viv("session", "rollback", name, "never")
        self.assertEqual(done.code, 2)
        self.assertIn(b"there is no checkpoint 'never'", done.err)

    def test_a_checkpoint_is_dropped(self):
        name = self.session()
        made = []
        for word in ("one", "two", "three"):
            self.text("session", "run", name, "-c", f"x = '{word}'")
            made.append(self.text("session", "checkpoint", name, word).strip())
        self.assertEqual(self.text("session", "drop", name, "one"), f"{made[0]}\n")
        self.assertEqual(self.good("session", "drop", name, made[1][:9], "--json"), {"dropped": made[1]})
        told = self.text("session", "checkpoints", name)
        self.assertEqual([one in told for one in made], [False, False, True])
        done = self.viv("session", "drop", name, "three")
        self.assertEqual((done.code, done.out), (125, b""))
        self.assertIn(b"the session would go back to this state", done.err)
        self.assertIn(b"there is no checkpoint 'one'", self.viv("session", "drop", name, "one").err)

    def test_files_that_stay_as_they_are_are_told_at_each_step(self):
        name = self.session()
        self.text("session", "run", name, "-c", "open('f', 'w').write('old')")
        made = self.viv("session", "checkpoint", name, "good")
        self.assertEqual((made.code, made.err), (0, b""))
        self.text("session", "run", name, "-c", "open('f', 'w').write('old'); 1")
        again = self.viv("session", "checkpoint", name, "good")
        self.assertIn(b"the name was moved from " + made.out.strip() + b", which has none now", again.err)
        self.assertIn("go back", self.text("session", "checkpoints", name))
        branch = self.text("session", "fork", name).strip()
        self.addCleanup(self.viv, "session", "rm", branch)
        self.text("session", "run", branch, "-c", "open('f', 'w').write('new')")
        made = self.viv("session", "checkpoint", name, "later")
        self.assertIn(b"going back to this state leaves the files of /workspace as they are: branches", made.err)
        self.assertNotIn("go back", self.text("session", "checkpoints", name))
        done = self.viv("session", "rollback", name, "good")
        self.assertIn(b"this left the files of /workspace as they are: branches", done.err)
        self.assertEqual(self.text("session", "run", name, "-c", "open('f').read()"), "'new'\n")

    def test_branches_go_on_by_themselves(self):
        name = self.session()
        self.text("session", "run", name, "-c", "x = 1")
        branches = self.text("session", "fork", name, "2").split()
        self.assertEqual(len(set(branches) | {name}), 3)
        for number, branch in enumerate(branches):
            self.assertEqual(self.text("session", "run", branch, "-c", f"x += {number + 1}; x"),
                             f"{number + 2}\n")
        self.assertEqual(self.text("session", "run", name, "-c", "x"), "1\n")
        removed = self.good("session", "rm", "--json", *branches)["removed"]
        self.assertEqual(sorted(removed), sorted(branches))
        self.assertEqual(self.viv("session", "fork", name, "many").code, 2)

    def test_a_typo_removes_nothing(self):
        name = self.session()
        self.assertEqual(self.viv("session", "rm", name, "no-such").code, 2)
        self.assertEqual(self.text("session", "run", name, "-c", "1"), "1\n")

    def test_variables_during_a_run_say_which_state_they_are_of(self):
        name = self.session()
        self.text("session", "run", name, "-c", "x = 1")
        self.text("session", "run", name, "-c", "import threading\nstop = threading.Event()\nx = 2\n"
                  "threading.Thread(target=stop.wait, name='a\\x1b[31m', daemon=True).start()")
        session = self.daemon.ask("GET", f"/v1/sessions/{name}")
        run = self.daemon.start_run("print('on', flush=True)\nwhile True: pass", session["id"])
        with self.daemon.events(run) as events:
            events.until_text("on")
            shown = self.viv("session", "vars", name)
        self.daemon.request("DELETE", f"/v1/runs/{run}")
        self.assertIn(b"x", shown.out)
        self.assertIn(f"this is the state of checkpoint {session['head']}, without what later runs did (a newer one is blocked by: thread a".encode(),
                      shown.err)
        self.assertNotIn(b"\x1b", shown.err)

    def test_a_table_has_its_index_and_exact_values(self):
        name = self.session()
        self.text("session", "run", name, "-c",
                  "import pandas as pd\nf = pd.DataFrame({'f': [1234567.89, None, 1.5], 'e': [1e-9, 1, 0.1], "
                  "'i': [2**60 + 1, 5, 5], '\\x1b[31m': 'red'}, index=pd.Index(['a', 'b', None], name='k'))\n"
                  "wide = pd.DataFrame([range(40)])\nany = pd.DataFrame({'v': [1.0, 1, None, float('nan'), 1e16]}, dtype=object)")
        self.assertEqual([line.split()[-1] for line in self.text("session", "vars", name, "any").split("\n")[1:6]],
                         ["1.0", "1", "None", "NaN", "1e+16"])
        lines = [line.split() for line in self.text("session", "vars", name, "f").split("\n")]
        self.assertEqual(lines, [["k", "f", "e", "i", "\\x1b[31m"], ["a", "1234567.89", "1e-09", str(2**60 + 1), "red"],
                                 ["b", "NaN", "1.0", "5", "red"], ["None", "1.50", "0.1", "5", "red"],
                                 "3 of 3 rows".split(), []])
        self.assertIn("; 11 of 40 columns", self.text("session", "vars", name, "wide"))
        shown = self.text("session", "vars", name, "f", "--search", "A", "--filter",
                          '[{"column":"2","op":"gt","value":5}]')
        self.assertIn("1 of 1 rows that match, 3 in all", shown)
        self.assertEqual(self.text("session", "vars", name, "f", "--csv", "-", "--sort", "2").split("\n")[1],
                         "b,,1.0,5,red")
        path = self.path("f.csv")
        self.assertIn("f.csv: ", self.text("session", "vars", name, "f", "--csv", path))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.readline(), "k,f,e,i,\x1b[31m\n")
        self.assertEqual(self.viv("session", "vars", name, "f", "--csv", path).code, 2)
        self.assertIn(b"sort: ", self.viv("session", "vars", name, "f", "--sort", "9").err)
        self.assertIn(b"need the NAME of a table", self.viv("session", "vars", name, "--sort", "1").err)

    def test_variables_are_listed(self):
        name = self.session()
        self.text("session", "run", name, "-c",
                  "import pandas\nn = 5\nbad = 'a\\x1b[31mb'\n"
                  "df = pandas.DataFrame({'a': range(50), 'b': 'x'})")
        table = self.text("session", "vars", name)
        self.assertNotIn("\\x0a", table)  # a repr of many lines is one here
        self.assertIn("DataFrame", table)
        self.assertNotIn("\x1b", table)
        listed = {row["name"]: row for row in self.good("session", "vars", name, "--json")["vars"]}
        self.assertEqual(listed["n"]["type"], "int")
        rows = self.good("session", "vars", name, "df", "--json", "--offset", "10", "--limit", "2")
        self.assertEqual((rows["rows"], rows["total"]), ([[10, "x"], [11, "x"]], 50))
        self.assertIn("of 50 rows", self.text("session", "vars", name, "df"))
        self.assertRegex(self.text("session", "vars", name, "df", "--sort", "0:desc", "--limit", "1"),
                         r"^ +a +b\n49 +49 +x\n1 of 50 rows\n$")
        self.assertEqual(self.viv("session", "vars", name, "nothing").code, 2)

    def test_files_go_in_and_out(self):
        name = self.session()
        data = os.urandom(300_000)
        self.write("in.bin", data)
        self.assertEqual(self.text("session", "put", name, "in.bin"), "/workspace/in.bin\n")
        self.text("session", "put", name, "in.bin", "/workspace/a b/\u00e9?.bin")
        self.text("session", "put", name, "-", "typed.txt", stdin=b"typed")
        listed = self.good("session", "files", name, "-r", "--json")["files"]
        self.assertEqual(sorted(file["path"] for file in listed),
                         ["/workspace/a b/\u00e9?.bin", "/workspace/in.bin", "/workspace/typed.txt"])
        self.assertIn("/workspace/in.bin", self.text("session", "files", name))
        self.text("session", "get", name, "a b/\u00e9?.bin", "out.bin")
        with open(self.path("out.bin"), "rb") as file:
            self.assertEqual(file.read(), data)
        self.assertEqual(self.text("session", "get", name, "/workspace/typed.txt", "-"), "typed")
        done = self.viv("session", "get", name, "typed.txt", "out.bin")
        self.assertEqual(done.code, 2)
        self.assertIn(b"--overwrite", done.err)
        self.text("session", "get", name, "typed.txt", "out.bin", "--overwrite")
        with open(self.path("out.bin"), "rb") as file:
            self.assertEqual(file.read(), b"typed")
        self.assertEqual(self.viv("session", "get", name, "no-such").code, 2)
        self.assertEqual(sorted(os.listdir(self.folder)), ["home", "in.bin", "out.bin"])

    def test_a_session_goes_from_one_daemon_to_another_day(self):
        name = self.session()
        self.text("session", "run", name, "-c",
                  "x = [1, 2]\nopen('f', 'w').write('file')\ngen = (i for i in x)")
        self.text("session", "export", name, "all.vivarium")
        self.text("session", "rm", name)
        done = self.viv("session", "import", "all.vivarium")
        self.assertEqual(done.code, 0, done.err)
        again = done.out.decode().strip()
        self.addCleanup(self.viv, "session", "rm", again)
        self.assertRegex(done.err, rb"not imported: gen: .*generator")
        self.assertEqual(self.text("session", "run", again, "-c", "x, open('f').read()"),
                         "([1, 2], 'file')\n")
        self.write("junk", b"no export")
        self.assertEqual(self.viv("session", "import", "junk").code, 2)
        with open(self.path("all.vivarium"), "rb") as file:
            whole = file.read()
        with open(self.path("cut.vivarium"), "wb") as file:
            file.write(whole[:-100])
        cut = self.viv("session", "import", "cut.vivarium")
        self.assertEqual((cut.code, cut.out), (2, b""))
        self.assertIn(b"cut.vivarium: this is not as it was saved: bytes are missing or changed", cut.err)

    def test_a_session_becomes_a_notebook(self):
        name = self.session()
        self.text("session", "run", name, "-c", "print('in a cell')")
        book = strict_json(self.text("session", "notebook", name))
        self.assertEqual(book["cells"][0]["source"], "print('in a cell')")
        self.text("session", "notebook", name, "book.ipynb")
        with open(self.path("book.ipynb"), encoding="utf-8") as file:
            self.assertEqual(strict_json(file.read()), book)

    def test_cut_output_is_told_with_the_limit_and_the_size(self):
        name = self.session()
        done = self.viv("session", "run", name, "-c", "print('a' * 1100000)\nlist(range(2_000_000))")
        cut = ("stdout was cut at 1MiB, the output limit; the run wrote 1100001 bytes in all: print less, or write to a "
               "file below /workspace\n")
        large = ("a value was too large, and a form of it (text, JSON, HTML or picture) was cut or left out: show a part of it, or "
                 "write it to a file below /workspace\n")
        self.assertEqual((done.code, done.err.decode()), (0, f"viv session: {cut}viv session: {large}"))
        outputs = strict_json(self.text("session", "notebook", name))["cells"][0]["outputs"]
        self.assertEqual([output["output_type"] for output in outputs], ["stream", "execute_result", "stream"])
        self.assertEqual(outputs[2], {"output_type": "stream", "name": "stderr", "text": cut + large})

    def start(self, name, code, before=""):
        """A run in the session, by another viv; it has begun and done `before` when this returns."""
        process = self.popen("session", "run", name, "--timeout", "60s", "-c",
                             before + "\nprint('on', flush=True)\n" + code)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"on\n")
        return process

    def test_an_interrupt_keeps_the_state(self):
        name = self.session()
        process = self.start(name, "while True: pass", before="x = 1")
        self.assertIn("idle", self.text("session", "interrupt", name))
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.text("session", "run", name, "-c", "x"), "1\n")
        self.assertEqual(self.viv("session", "interrupt", name).code, 125)

    def test_ctrl_c_interrupts_and_keeps_the_state(self):
        name = self.session()
        process = self.start(name, "while True: pass", before="x = 5")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.text("session", "run", name, "-c", "x"), "5\n")

    # ---- ps, logs, top ----

    def test_ps_shows_what_is_on(self):
        name = self.session("--name", "busy")
        process = self.start(name, "while True: pass")
        seen = self.good("ps", "--json")
        mine = [session for session in seen["sessions"] if session["id"] == name][0]
        self.assertEqual(mine["state"], "running")
        on = [run for run in seen["runs"] if run["session"] == name]
        self.assertEqual([run["verdict"] for run in on], [None])
        self.assertIn("running", self.text("ps"))
        self.text("session", "interrupt", "busy")
        process.communicate(timeout=60)
        self.assertEqual([run for run in self.good("ps", "--json")["runs"]
                          if run["session"] == name], [])
        self.assertIn(on[0]["id"], self.text("ps", "-a"))

    def test_logs_show_what_was_said(self):
        result = strict_json(self.viv("run", "--json", "-c",
                                      "print('one\\ntwo \\x1b[31m')\n1/0").out)
        self.assertEqual(self.viv("logs", result["id"]).code, 0)
        text = self.text("logs", result["id"])
        self.assertNotIn("\x1b", text)
        lines = text.splitlines()
        self.assertIn("started", lines[0])
        self.assertTrue(lines[1].endswith("stdout    one"), lines[1])
        self.assertIn("ZeroDivisionError", text)
        self.assertIn("verdict   exception exit_code=1", lines[-1])
        events = [strict_json(line) for line in
                  self.text("logs", result["id"][:14], "--json").splitlines()]
        self.assertEqual([event["seq"] for event in events], list(range(1, len(events) + 1)))
        rest = self.text("logs", result["id"], "--json", "--after", str(len(events) - 1))
        self.assertEqual(strict_json(rest), events[-1])
        self.assertEqual(self.viv("logs", "run_nothing").code, 2)

    def test_numbers_are_shown_as_they_are(self):
        name = self.session()
        done = self.good("session", "run", name, "--json", "-c",
                         "[0.1 + 0.2, 1e22, 5e-324, 1 / 3, 0.1, 30.0, {'a': [2.5, True, None, 'x']}]")
        self.assertIn("[0.30000000000000004,1e+22,5e-324,0.3333333333333333,0.1,30.0,"
                      '{"a":[2.5,true,null,"x"]}]', self.text("logs", done["id"]))

    def test_what_cannot_be_seen_in_a_name_is_shown(self):
        name = self.session("--name", "a\u202eb\u200b\U000e0041")
        self.assertIn("a\\u202eb\\u200b\\U000e0041", self.text("session", "list"))
        done = self.viv("session", "run", name, "-c", "open('fdp.\u2067\u061c\u200f\u2069exe', 'w').close()")
        self.assertIn(b"fdp.\\u2067\\u061c\\u200f\\u2069exe", done.err)
        for text in (self.text("session", "files", name),
                     self.viv("session", "run", "no\u202e", "-c", "1").err.decode(),
                     self.text("session", "list"), done.err.decode()):
            self.assertNotRegex(text, "[\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069]")

    def test_selectors_and_fillers_are_shown_but_behind_a_picture(self):
        hidden = "\ufe00\ufe0f\U000e0100\u180b\u115f\u3164\uffa0\u034f\u00ad\u00a0"
        self.session("--name", f"p{hidden}\u26a0\ufe0f")
        text = self.text("session", "list")
        self.assertIn("p\\ufe00\\ufe0f\\U000e0100\\u180b\\u115f\\u3164\\uffa0\\u034f\\u00ad\\u00a0\u26a0\ufe0f", text)

    def test_a_variable_that_is_no_table_is_printed(self):
        name = self.session()
        self.good("session", "run", name, "--json", "-c", "n = 5; t = 'a\\x1b'; long = 'x' * 300; import math\n"
                  "class Lines:\n    def __repr__(self): return 'one\\n\\n \\x1btwo\\r\\n'\nlines = Lines()")
        for word, shown in (("n", "5\n"), ("t", "'a\\x1b'\n"), ("lines", "one\n\n \\x1btwo\\x0d\n\n")):
            self.assertEqual(self.text("session", "vars", name, word), shown)
        self.assertTrue(self.text("session", "vars", name, "long").endswith("x...\n"))
        self.assertEqual(strict_json(self.text("session", "vars", name, "n", "--json"))["repr"], "5")
        for word, why in (("math", "math is not a table: module"), ("none", "there is no variable 'none'")):
            done = self.viv("session", "vars", name, word)
            self.assertNotEqual(done.code, 0)
            self.assertIn(why, done.err.decode())
        self.assertIn("not a table", self.viv("session", "vars", name, "n", "--sort", "0").err.decode())

    def test_a_file_that_no_request_carries_is_refused_with_what_to_do(self):
        name = self.session()
        for file, then in (("a.csv", "pandas.read_csv('a.csv')"), ("a.tsv", "pandas.read_csv('a.tsv', sep='\\t')"),
                           ("a.parquet", "pandas.read_parquet('a.parquet')")):
            with open(self.path(file), "w", encoding="utf-8") as out:
                out.write("n\n1\n")
            done = self.viv("session", "run", name, "--data", self.path(file), "-c", "1")
            self.assertEqual(done.code, 2)
            self.assertIn(f"viv session put {name} {self.path(file)}", done.err.decode())
            self.assertIn(then, done.err.decode())
        self.text("session", "put", name, self.path("a.csv"))
        self.assertIn("1", self.text("session", "run", name, "-c", "import pandas; pandas.read_csv('a.csv')"))

    def test_only_regular_files_are_put(self):
        name = self.session()
        os.mkfifo(self.path("pipe"))
        for file in ("/tmp", self.path("pipe"), "/dev/zero"):
            done = self.viv("session", "put", name, file, "x")
            self.assertEqual((done.code, done.err.decode()),
                             (2, f"viv session: {file} is not a regular file\n"))
        self.assertEqual(self.text("session", "put", name, "-", "x", stdin=b"1"), "/workspace/x\n")

    def test_logs_follow_a_run_to_its_end(self):
        name = self.session()
        process = self.popen("session", "run", name, "--stdin", "--timeout", "60s", "-c",
                             "print('on', flush=True)\nprint('got', input())",
                             stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"on\n")
        run = self.good("ps", "--json")["runs"][0]["id"]
        logs = self.popen("logs", "-f", run)
        self.assertIn(b"started", logs.stdout.readline())
        self.assertIn(b"on", logs.stdout.readline())
        process.communicate(b"it\n", timeout=60)
        out, err = logs.communicate(timeout=60)
        self.assertIn(b"got it", out, err)
        self.assertIn(b"verdict   ok", out.splitlines()[-1])
        self.assertEqual(logs.returncode, 0)

    def test_logs_of_a_session_tell_of_the_session(self):
        name = self.session("--name", "told")
        self.assertIn("created", self.text("logs", "told"))
        event = strict_json(self.text("logs", name, "--json").splitlines()[0])
        self.assertEqual(event["type"], "created")

    def test_damage_to_the_interpreter_is_told_and_undone(self):
        name = self.session()
        self.text("session", "run", name, "-c", "x = 6")
        self.text("session", "run", name, "-c", "import builtins; builtins.isinstance = None")
        done = self.viv("session", "run", name, "-c", "x")
        self.assertEqual(done.code, 1, done.err)
        self.assertRegex(done.err, b"(?s)viv session: exception: the runner .*remedy: .*rolled back: .*2 runs are undone")
        self.assertEqual(self.text("session", "run", name, "-c", "x"), "6\n")

    def test_top_shows_a_frame(self):
        name = self.session("--name", "on-top")
        text = self.text("top", "--once")
        self.assertIn("sessions", text.splitlines()[1])
        self.assertIn(name, text)
        frame = self.good("top", "--json")
        self.assertEqual(set(frame), {"status", "sessions", "runs"})
        self.assertEqual(self.viv("top").code, 2)

    def test_top_adds_up_the_pools_of_a_runtime(self):
        for limits in ({}, {"memory": 100 << 20}):  # a pool for each size of sandbox
            self.daemon.run("1", runtime="bare", limits=limits)
        pools = self.good("top", "--json")["status"]["pools"]
        keep = [pool["keep"] for pool in pools if pool["runtime"] == "bare"]
        self.assertGreater(len(keep), 1)
        ready = self.text("top", "--once").splitlines()[1].partition("ready:")[2].split()
        self.assertEqual(ready[0::2].count("bare"), 1, ready)
        self.assertEqual(ready[ready.index("bare") + 1].partition("/")[2], str(sum(keep)))

    def test_top_is_live_until_q(self):
        self.session("--name", "live-one")
        screen = self.terminal("top")
        screen.expect(b"\x1b[?1049h", b"live-one")
        self.session("--name", "live-two")
        screen.expect(b"live-two")
        screen.send(b"q")
        self.assertEqual(screen.close(), 0)
        self.assertTrue(screen.seen.endswith(b"\x1b[?1049l"), screen.seen[-50:])


class GoneTest(DaemonCase):
    config = "runtimes: {bare: {python: /usr/bin/python3, preload: [], pool: 2}, base: {pool: 0}, full: {pool: 0}}\n"

    def test_what_to_do_with_one_that_is_lost_or_asleep(self):
        lost = self.session("--runtime", "bare")
        kept = self.session("--runtime", "bare", "--keep")
        for name in (lost, kept):
            self.text("session", "run", name, "-c", "x = 1")
        wait_for(lambda: self.daemon.state(kept)["kept"]["states"] > 0 and
                 not self.daemon.state(kept)["kept"]["pending"], what="its states on disk")
        os.kill(self.daemon.launch_pid, signal.SIGKILL)
        for name, state in ((lost, "lost"), (kept, "asleep")):
            wait_for(lambda name=name, state=state: self.daemon.state(name)["state"] == state, what=state)
        self.daemon.find_processes()
        for words in (["run", lost, "-c", "x"], ["vars", lost]):
            done = self.viv("session", *words)
            self.assertRegex(done.err.decode(), f"^viv session: the session is lost: .*; remove it: viv session rm "
                                                f"{lost}; make another: viv session new\n$")
        self.assertEqual(self.viv("session", "vars", kept).err.decode(),
                         f"viv session: the session is asleep; wake it: viv session wake {kept}\n")
        self.assertIn("is awake", self.text("session", "wake", kept))

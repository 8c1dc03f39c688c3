# SPDX-License-Identifier: Apache-2.0
"""viv doctor: the truth about this host, by trying; and about a host that lacks something."""

import os
import subprocess
import unittest

from vivcli import VIV, WALLS, VivCase, strict_json


class Doctor(VivCase):
    def report(self, *flags):
        done = self.viv("doctor", "--json", *flags)
        return done.code, strict_json(done.out)

    def test_the_default_policy_can_run(self):
        code, report = self.report()
        self.assertEqual((code, report["ok"]), (0, True))
        self.assertEqual({wall["name"] for wall in report["walls"]}, WALLS)
        off = {wall["name"] for wall in report["walls"] if wall["state"] != "on"}
        self.assertLessEqual(off, {"cgroup"})
        by_name = {backend["name"]: backend for backend in report["backends"]}
        self.assertEqual([name for name, row in by_name.items() if row["available"]], ["namespace"])
        self.assertEqual(by_name["namespace"]["active_for"], "python, command, session, explore")
        self.assertTrue(all(row["remedy"] for name, row in by_name.items() if name != "namespace"))

    def test_it_says_the_same_of_limits_as_a_result(self):
        _, report = self.report()
        told = {wall["name"] for wall in report["walls"] if wall["state"] == "on"}
        self.assertEqual(set(self.result("1")["walls"]), told)

    def test_runtimes_are_asked_inside(self):
        _, report = self.report()
        by_name = {runtime["name"]: runtime for runtime in report["runtimes"]}
        self.assertEqual(by_name["bare"]["preload"], [])
        self.assertEqual([module["module"] for module in by_name["base"]["preload"]],
                         ["numpy", "pandas", "matplotlib.pyplot"])
        version = self.result("import platform\nplatform.python_version()")["result"]
        self.assertEqual(by_name["base"]["version"], version["application/json"])

    def test_a_missing_package_comes_with_its_remedy(self):
        config = self.write("v.yaml", "runtimes:\n  odd: {preload: [json, no_such_package.part]}\n")
        code, report = self.report("--config", config)
        odd = [runtime for runtime in report["runtimes"] if runtime["name"] == "odd"][0]
        self.assertEqual((code, odd["state"]), (0, "off"))
        self.assertEqual([module["found"] for module in odd["preload"]], [True, False])
        self.assertIn("no_such_package.part", odd["detail"])
        self.assertIn("apt install python3-no_such_package", odd["remedy"])

    def test_an_interpreter_that_is_not_there_is_off(self):
        config = self.write("v.yaml", "runtimes:\n  gone: {python: /nowhere/python3}\n")
        _, report = self.report("--config", config)
        gone = [runtime for runtime in report["runtimes"] if runtime["name"] == "gone"][0]
        self.assertEqual(gone["state"], "off")
        self.assertIn("/nowhere/python3", gone["detail"])

    def test_without_user_namespaces_it_says_no_and_how(self):
        script = f"echo 0 > /proc/sys/user/max_user_namespaces && exec {VIV} doctor --json"
        done = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", script],
                              capture_output=True, env=self.environment(), cwd=self.folder,
                              timeout=60, check=False)
        report = strict_json(done.stdout)
        self.assertEqual((done.returncode, report["ok"]), (1, False))
        host = {fact["name"]: fact for fact in report["host"]}
        self.assertEqual(host["user namespaces"]["state"], "off")
        self.assertIn("sysctl -w user.max_user_namespaces", host["user namespaces"]["remedy"])
        by_name = {backend["name"]: backend for backend in report["backends"]}
        self.assertFalse(by_name["namespace"]["available"])
        self.assertEqual({row["active_for"] for row in by_name.values()}, {""})

    def test_with_a_masked_proc_it_says_no_and_how(self):
        script = f"mount -t tmpfs none /proc/sys && exec {VIV} doctor --json"
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork",
                               "--mount-proc", "sh", "-c", script],
                              capture_output=True, env=self.environment(), cwd=self.folder,
                              timeout=60, check=False)
        report = strict_json(done.stdout)
        host = {fact["name"]: fact for fact in report["host"]}
        self.assertEqual((host["proc"]["state"], done.returncode), ("off", 1))
        self.assertIn("systempaths=unconfined", host["proc"]["remedy"])

    def test_the_table_is_plain_text_in_a_pipe(self):
        done = self.viv("doctor")
        self.assertEqual(done.code, 0)
        self.assertTrue(done.out.isascii())
        self.assertNotIn(b"\033", done.out)
        self.assertTrue(done.out.endswith(b"The default policy can run on this host.\n"))

    def test_bad_usage(self):
        self.assertEqual(self.viv("doctor", "extra").code, 2)
        self.assertEqual(self.viv("doctor", "--no-such-flag").code, 2)


if __name__ == "__main__":
    unittest.main()

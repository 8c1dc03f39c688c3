# SPDX-License-Identifier: Apache-2.0
"""viv policy: which limits there are, and where each comes from; the same over HTTP."""

import json
import unittest

from daemon import Daemon
from vivcli import VivCase

GIB = 1 << 30
CONFIG = """policies:
  default: {timeout: 45s}
  big: {base: heavy, memory: 60GiB, runtime: bare}
  bigger: {base: big, pids: 300}
"""


class Policy(VivCase):
    def tell(self, *words):
        config = self.write("vivarium.yaml", CONFIG)
        done = self.viv("policy", *words, "--json", "--config", config)
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)

    def rows(self, name):
        return {row["key"]: row for row in self.tell("show", name)["settings"]}

    def test_list_names_them_all(self):
        names = [policy["name"] for policy in self.tell("list")["policies"]]
        self.assertEqual(names, ["default", "analysis", "ephemeral", "workspace", "conversation", "heavy", "big",
                                 "bigger"])
        done = self.viv("policy")
        self.assertEqual((done.code, done.out.decode().splitlines()[0].split()),
                         (0, ["NAME", "MEMORY", "DISK", "CPUS", "TIMEOUT", "MAX", "RUNTIME"]))

    def test_show_says_where_each_value_comes_from_and_what_is_a_maximum(self):
        rows = self.rows("bigger")
        told = {key: (row["value"], row["from"], row["is_max"]) for key, row in rows.items()}
        self.assertEqual(told["pids"], ("300", "the config", True))
        self.assertEqual(told["memory"], ("60GiB", "the config, by big", True))
        self.assertEqual(told["timeout_max"], ("30m", "built-in heavy", True))
        self.assertEqual(told["timeout"], ("5m", "built-in heavy", False))
        self.assertEqual(told["approve"], ("false", "default", False))
        self.assertEqual(self.rows("default")["timeout"]["from"], "the config")

    def test_heavy_takes_gigabytes_and_minutes_and_no_more_than_the_host_has(self):
        with open("/proc/meminfo", encoding="ascii") as file:
            host = int(file.readline().split()[1]) * 1024
        with Daemon() as daemon:
            (heavy,) = [row for row in daemon.ask("GET", "/v1/policies")["policies"] if row["name"] == "heavy"]
            self.assertLessEqual(heavy["memory"], max(host * 3 // 4, GIB // 2))
            self.assertEqual(heavy["memory"], min(8 * GIB, max(host * 3 // 4 >> 26 << 26, GIB // 2)))
            self.assertLessEqual(daemon.ask("GET", "/v1/status")["limits"]["host_memory"], host)
            self.assertEqual((heavy["timeout_ms"], heavy["max"]["timeout_ms"], heavy["warning"]), (300000, 1800000, None))
            self.assertEqual(heavy["max"]["memory"], heavy["memory"])
            self.assertLessEqual({"bare", "base"}, set(heavy["runtimes"]))
            self.assertEqual(daemon.run("6 * 7", policy="heavy", timeout_ms=1_000_000)["verdict"]["kind"], "ok")

    def test_a_policy_that_promises_too_much_is_told(self):
        self.assertIn("promises 60GiB of memory, and this host has", self.tell("show", "big")["warning"])
        config = self.write("vivarium.yaml", CONFIG)
        doctor = json.loads(self.viv("doctor", "--json", "--config", config).out)
        self.assertIn("promises 60GiB", [row["detail"] for row in doctor["limits"] if row["name"] == "big"][0])
        with Daemon(CONFIG) as daemon:
            (big,) = [row for row in daemon.ask("GET", "/v1/policies")["policies"] if row["name"] == "big"]
        self.assertIn("promises 60GiB", big["warning"])
        self.assertEqual(big["runtimes"], ["bare"])

    def test_mistakes_are_named(self):
        for words, text in ((("show", "nosuch"), "nosuch"), (("show",), "usage: viv policy show NAME"),
                            (("drop", "x"), "there is no subcommand 'drop'; usage: viv policy list|show NAME")):
            done = self.viv("policy", *words)
            self.assertNotEqual(done.code, 0)
            self.assertIn(text, done.err.decode())


if __name__ == "__main__":
    unittest.main()

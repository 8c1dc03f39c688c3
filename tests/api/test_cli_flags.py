# SPDX-License-Identifier: Apache-2.0
"""A flag that a command does not have is refused, never ignored: every flag is given to every command."""

import re
import unittest

from vivcli import VivCase


class Flags(VivCase):
    def help_of(self, *words):
        done = self.viv(*words, "--help")
        self.assertEqual(done.code, 0, done.err)
        return done.out.decode()

    def test_a_repl_is_looked_for_where_it_is(self):
        for words in (["repl"], ["help", "repl"]):
            done = self.viv(*words)
            self.assertEqual((done.code, done.err), (2, b"viv: there is no command 'repl'; a repl talks to a session: "
                                                        b"`viv session repl`\n"))

    def commands(self):
        listed = self.help_of().split("commands:")[1].split("\n\n")[0]
        return re.findall(r"^  ([a-z]+)", listed, re.M) + ["man", "completion"]

    def flags_of(self, text):
        """By name, the word for the value ("" for a switch) and the subcommands that it is for (none: all)."""
        block = text.split("\nflags:\n")[1].split("\nexamples:\n")[0]
        rows = re.findall(r"^(?:  -\w, |      )--([a-z-]+)( [^ \n]+)?(?:\n| ) *(.*)$", block, re.M)
        return {name: (value.strip(), re.match(r"((?:[a-z]+, )*[a-z]+): |", told).group(1))
                for name, value, told in rows if name != "help"}

    def subcommands_of(self, text):
        """By name, words that it takes behind it."""
        if "\nsubcommands:\n" not in text:
            return {}
        block = text.split("\nsubcommands:\n")[1].split("\n\n")[0]
        rows = re.findall(r"^  ([a-z]+) (.*?)(?:  |$)", block, re.M)
        return {name: re.sub(r"\[.*?\]|\.\.\.", "", words).split() for name, words in rows}

    def refused(self, *words):
        done = self.viv(*words)
        self.assertEqual((done.code, done.out), (2, b""), words)
        (line,) = done.err.decode().splitlines()
        return line

    def test_a_flag_of_another_command_is_refused_by_name(self):
        table = {command: self.flags_of(self.help_of(command)) for command in self.commands()}
        every = {name: value for flags in table.values() for name, (value, _) in flags.items()}
        self.assertGreater(len(every), 50)
        for command, flags in table.items():
            for name in set(every) - set(flags):
                for words in ([f"--{name}", "1"], [f"--{name}=1"]):
                    self.assertEqual(self.refused(command, *words),
                                     f"viv {command}: there is no flag {words[0]}; see --help")

    def test_a_flag_of_another_subcommand_is_refused_and_says_whose_it_is(self):
        tried = set()
        for command in self.commands():
            text = self.help_of(command)
            verbs = self.subcommands_of(text)
            self.assertEqual(bool(verbs), command in ("session", "runtime", "policy", "token"), command)
            for name, (value, takers) in self.flags_of(text).items():
                if not verbs or takers is None:
                    continue
                takers = takers.split(", ")
                self.assertEqual(set(takers) - set(verbs), set(), name)
                for verb in set(verbs) - set(takers):
                    line = self.refused(command, verb, *verbs[verb], f"--{name}", *(["1"] if value else []))
                    owners = ", ".join(f"`viv {command} {taker}`" for taker in takers)
                    self.assertEqual(line, f"viv {command}: {verb} takes no --{name}; it is a flag of {owners}")
                    tried.add(command)
        self.assertLessEqual({"session", "runtime"}, tried)


if __name__ == "__main__":
    unittest.main()

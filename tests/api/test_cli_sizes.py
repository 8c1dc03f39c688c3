# SPDX-License-Identifier: Apache-2.0
"""Too large, too many, too long: handled or refused, never hung, never lost in silence."""

import unittest

from vivcli import VivCase


class Sizes(VivCase):
    def test_ten_megabytes_of_code(self):
        line = (b"x = 'some code that fills the line up to one hundred characters, "
                b"so that lines are not too many..'\n")
        path = self.write("big.py", line * (10 * (1 << 20) // len(line)) + b"print('end')\n")
        result = self.result_of_file(path, "--timeout", "60s")
        self.assertEqual(result["stdout"], "end\n")

    def test_ten_megabytes_in_one_literal(self):
        path = self.write("big.py", b"x = '" + b"a" * (10 << 20) + b"'\nprint(len(x))\n")
        self.assertEqual(self.result_of_file(path)["stdout"], f"{10 << 20}\n")

    def test_a_gigabyte_of_output_ends_and_says_so(self):
        done = self.viv("run", "--no-daemon", "--json", "-c",
                        "for i in range(1 << 14): print('x' * ((1 << 16) - 1))")
        result = self.check_result(done, "output")
        self.assertTrue(result["truncated"]["stdout"])
        self.assertLess(len(done.out), 8 << 20)

    def test_output_below_the_limit_is_whole(self):
        result = self.result("import sys\n"
                             "for i in range(1000): print('o' * 500); print('e' * 500, "
                             "file=sys.stderr)")
        self.assertEqual((len(result["stdout"]), len(result["stderr"])), (501000, 501000))
        self.assertFalse(result["truncated"]["stdout"] or result["truncated"]["stderr"])

    def test_a_large_file_comes_out_whole(self):
        import hashlib
        import os
        out = self.path("out")
        result = self.result("open('big.bin', 'wb').write(bytes(range(256)) * (1 << 16))\nNone",
                             "--out", out)
        with open(os.path.join(out, "big.bin"), "rb") as file:
            content = file.read()
        self.assertEqual(len(content), 1 << 24)
        self.assertEqual(result["files"][0]["sha256"], hashlib.sha256(content).hexdigest())

    def test_a_large_file_goes_in_whole(self):
        path = self.write("in.bin", bytes(range(256)) * (1 << 17))
        code = "import hashlib\nhashlib.sha256(open('in.bin', 'rb').read()).hexdigest()"
        import hashlib
        self.assertEqual(self.result(code, "--file", path)["result"]["application/json"],
                         hashlib.sha256(bytes(range(256)) * (1 << 17)).hexdigest())

    def test_a_file_larger_than_the_disk_is_refused_clearly(self):
        path = self.path("huge.bin")
        with open(path, "wb") as file:
            file.truncate(400 << 20)
        done = self.run_viv("print('never')", "--file", path)
        self.assertNotEqual(done.code, 0)
        self.assertEqual(done.out, b"")
        self.assertTrue(done.err)

    def test_many_small_writes(self):
        code = "import os\nfor i in range(50000): os.write(1, b'.')\nNone"
        self.assertEqual(self.run_viv(code).out, b"." * 50000)

    def test_a_long_argument(self):
        text = '{"x": "' + "y" * 100_000 + '"}'
        self.assertEqual(self.result("len(_args['x'])", "--args",
                                     text)["result"]["application/json"], 100_000)


if __name__ == "__main__":
    unittest.main()

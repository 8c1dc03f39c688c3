# SPDX-License-Identifier: Apache-2.0
"""The check that every answer is as described can fail."""

import copy
import unittest

from daemon import Daemon
from described import Described


class DescribedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)
        cls.document = cls.daemon.ask("GET", "/openapi.json")
        cls.answer = cls.daemon.request("POST", "/v1/run", {"code": "1 + 1"})

    def check_with(self, change):
        """The same answer, against a document that was changed."""
        document = copy.deepcopy(self.document)
        change(document["components"]["schemas"]["Result"])
        Described(document).check("POST", "/v1/run", self.answer)

    def test_an_answer_as_described_is_fine(self):
        self.check_with(lambda result: None)

    def test_a_member_that_is_not_described_fails(self):
        for name in self.answer.json:
            with self.assertRaisesRegex(AssertionError, f"{name} is not described"):
                self.check_with(lambda result, name=name: result["properties"].pop(name))

    def test_a_member_that_is_missing_fails(self):
        with self.assertRaisesRegex(AssertionError, "colour is missing"):
            self.check_with(lambda result: result["required"].append("colour"))

    def test_another_type_fails(self):
        with self.assertRaisesRegex(AssertionError, "stdout is"):
            self.check_with(lambda result: result["properties"].update(stdout={"type": "integer"}))

    def test_a_status_and_a_type_that_are_not_described_fail(self):
        described = Described(self.document)
        for status, kind in ((203, "application/json"), (200, "text/html"), (200, "")):
            with self.assertRaises(AssertionError):
                described.schema_of("POST", "/v1/run", status, kind)

    def test_an_error_that_does_not_name_its_field_fails(self):
        described = Described(self.document)
        for path, good, bad in (("/v1/run", "code", "file"), ("/v1/run", "limits.memory", None),
                                ("/v1/runs?limit=0", "limit", None), ("/v1/run", "colour", "color")):
            error = {"kind": "bad_request", "message": f"{good}: must be another", "field": good}
            method = "GET" if "?" in path else "POST"
            described.check_field(method, path, error)
            error.update(field=bad) if bad else error.pop("field")
            with self.assertRaisesRegex(AssertionError, "field is not of"):
                described.check_field(method, path, error)
        for kind in ("busy", "internal"):
            described.check_field("POST", "/v1/run", {"kind": kind, "message": "code: is full"})
        described.check_field("POST", "/v1/run", {"kind": "conflict", "message": "disk: is full"})


if __name__ == "__main__":
    unittest.main()

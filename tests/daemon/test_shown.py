# SPDX-License-Identifier: Apache-2.0
"""Folders of the host that code can see, and the daemon's own sockets: nobody inside speaks to it.

As root all of it is done twice: by root, whose sandboxes have ids of their own, and by an ordinary user,
whose sandboxes have his."""

import ctypes
import json
import os
import socket
import subprocess
import sys
import unittest

from case import BARE, Case
from held import POLICIES, PROOF, decide, held, with_key

NOBODY = 65534
CLONE_NEWUSER, CLONE_NEWPID, PR_SET_NAME = 0x10000000, 0x20000000, 15
SHOWN = "explore: {root: %(folder)s}\n" + POLICIES + "  shown: {data: %(folder)s}\n"
# Says what the answer was; "no socket" and "no listener" are the two walls.
ALLOW = """
import socket
sent = (b"POST /v1/runs/%s/allow HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 2\\r\\n"
        b"Content-Type: application/json\\r\\n\\r\\n{}" % _args["run"].encode())
for path in ("/data/viv.sock", "/data/run/viv.sock"):
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            sock.sendall(sent)
            print("answered:", sock.recv(1000))
    except OSError as error:
        print(error)
"""
EXPLORE = """perl -MSocket -e 'socket($s, AF_UNIX, SOCK_STREAM, 0) or die "no socket";
    connect($s, pack_sockaddr_un("viv.sock")) or die "no listener";
    syswrite($s, "POST /v1/runs/%s/allow HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 2\\r\\n\\r\\n{}");
    print "answered: ", <$s>'"""


class Sockets(Case):
    """Its socket has a second name in a folder that is shown: the folder itself holds nothing of the daemon's."""

    def setUp(self):
        self.daemon = self.serve(start=False)
        folder = self.daemon.path("shown")
        os.mkdir(folder)
        os.chmod(folder, 0o755)
        self.daemon.write_config(SHOWN % {"folder": folder})
        self.daemon.start()
        self.addCleanup(self.daemon.stop)
        os.link(self.daemon.unix, os.path.join(folder, "viv.sock"))
        os.chmod(self.daemon.unix, 0o777)  # no mode is in the way of the attack

    def test_no_run_allows_a_held_one(self):
        run = self.daemon.start_run(PROOF, policy="asked")
        result = self.daemon.run(ALLOW, policy="shown", args={"run": run})
        self.assertEqual(result["verdict"]["kind"], "ok", result)
        self.assertNotIn("answered", result["stdout"])
        answer = self.daemon.ask("POST", "/v1/explore", {"command": EXPLORE % run})
        self.assertNotIn("answered", answer["stdout"], answer)
        self.assertEqual([row["id"] for row in held(self.daemon)], [run])
        decide(self.daemon, run, "deny", headers=with_key(self.daemon))

    def asked_from(self, name):
        """The answer to a process in a pid namespace of its own, below one of this name."""
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            libc = ctypes.CDLL(None, use_errno=True)
            libc.prctl(PR_SET_NAME, name, 0, 0, 0)
            # Root stays root, or the folder of the socket would be shut.
            if libc.unshare(CLONE_NEWPID | (CLONE_NEWUSER if os.geteuid() else 0)) != 0:
                os._exit(77)
            child = os.fork()
            if child == 0:
                text = b"nothing"
                try:
                    with socket.socket(socket.AF_UNIX) as sock:
                        sock.connect(self.daemon.unix)
                        sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                        text = sock.recv(1000) or text
                except OSError:
                    pass
                os.write(theirs, text)
                os._exit(0)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        os.close(theirs)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self.assertEqual(status, 0)
        with os.fdopen(ours, "rb") as file:
            return file.read()

    def test_the_daemon_does_not_listen_to_a_sandbox(self):
        self.assertIn(b"HTTP/1.1", self.asked_from(b"container"))
        self.assertEqual(self.asked_from(b"viv-launch-in"), b"nothing")


class Folders(Case):
    def test_a_folder_that_holds_the_daemons_own_files_is_not_shown(self):
        for what in ("", "state", "run", "other"):
            daemon = self.serve(start=False)
            folder = daemon.path(what) if what else daemon.folder
            listen = 'listen: ["127.0.0.1:0", "unix:%s"]\n' % daemon.path("other", "second.sock")
            os.mkdir(daemon.path("other"))
            if os.geteuid() == 0:
                os.chmod(daemon.path("other"), 0o777)
            # By another name: what counts is where it leads.
            os.symlink(folder, daemon.path("link"))
            daemon.write_config(listen + SHOWN % {"folder": daemon.path("link")} + BARE)
            daemon.start()
            for path, body in (("/v1/run", {"code": "print(1)", "policy": "shown"}),
                               ("/v1/sessions", {"policy": "shown"}), ("/v1/explore", {"command": "ls"})):
                answer = daemon.request("POST", path, body)
                self.assertIn("show a folder beside it", json.dumps(answer.json), (what, path, answer))
                self.assertEqual(answer.json.get("stdout", ""), "")
            self.assertEqual(daemon.run("print(1)")["stdout"], "1\n")
            daemon.stop()


@unittest.skipUnless(os.geteuid() == 0, "it is an ordinary user already")
class OrdinaryUser(unittest.TestCase):
    def test_all_of_it_as_an_ordinary_user(self):
        done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all",
                               "--", sys.executable, os.path.abspath(__file__), "Sockets", "Folders"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: leftovers
# walls: ipc net
# unwalled: safe
# repeat: 2
"""Names that outlive a process: message queues, abstract sockets held by a daemon, modules, builtins."""
import builtins
import socket

if hasattr(builtins, "left_by_a_run"):
    breach("builtins of an earlier run")
builtins.left_by_a_run = True
path = f"\0{_args['mark']}-left"
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
    try:
        sock.connect(path)
        breach("an earlier run listens")
    except OSError as error:
        held(f"connect: {name_of(error.errno)}")
server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
server.bind(path if WALLED else path + str(os.getpid()))
try:
    server.listen(1)
except OSError as error:  # where memory is only measured
    held(f"listen: {name_of(error.errno)}")
name = ("/" + _args["mark"]).encode()
queue, number = call("mq_open", name[1:], os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600, None)
if number == errno.EEXIST:
    breach("a message queue of an earlier run")
    call("mq_unlink", name[1:])

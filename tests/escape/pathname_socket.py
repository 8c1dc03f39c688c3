# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: mount
# unwalled: safe
"""Connects to the sockets that services of the host listen on."""
import socket

for path in (_args["unix_path"], "/run/dbus/system_bus_socket", "/run/systemd/notify",
             "/run/systemd/journal/socket", "/var/run/docker.sock",
             "/run/containerd/containerd.sock", "/tmp/.X11-unix/X0", "/run/nscd/socket",
             "/var/run/postgresql/.s.PGSQL.5432", "/run/user/0/bus", "/run/user/1000/bus",
             "/dev/log"):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(2)
        try:
            sock.connect(path)
            breach(f"{path}: {sock.recv(200)!r}" if path == _args["unix_path"]
                   else f"{path} answers")
        except OSError as error:
            held(f"{path}: {error}")

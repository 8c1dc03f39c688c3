// SPDX-License-Identifier: Apache-2.0
/* viv-launch - the only holder of privilege. Started by viv with a SEQPACKET socket as fd 3. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>

#include "launch/inner.h"
#include "launch/outer.h"

#define CLIENT_FD 3

int main(int argc, char **argv)
{
	socklen_t size = sizeof(int);
	int socket = CLIENT_FD;
	int type = 0;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)printf("viv-launch %s\n", VIV_VERSION);
		return 0;
	}
	if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET) {
		(void)fprintf(stderr, "viv-launch: started by viv, not by hand\n");
		return 2;
	}
	(void)umask(077);
	if (argc == 2 && strcmp(argv[1], "inner") == 0)
		inner_main(socket);
	return outer_main(&socket);
}

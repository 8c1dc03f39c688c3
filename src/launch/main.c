// SPDX-License-Identifier: Apache-2.0
/*
 * viv-launch - the only program with privilege. viv starts it with a SEQPACKET socket as fd 3: a
 * connected one, with which it ends; or, with --owner UID --reattach-ms N, a listening one.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "launch/inner.h"
#include "launch/outer.h"

#define CLIENT_FD 3

/* Parses a number; the whole text must be digits. */
static bool read_number(const char *text, uint32_t *ret_number)
{
	char *end = NULL;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value > UINT32_MAX)
		return false;
	*ret_number = (uint32_t)value;
	return true;
}

/* The owner of the socket: a service manager made it for that user. */
static bool owner_of(int socket, uint32_t *ret_owner)
{
	struct sockaddr_un address = {0};
	socklen_t size = sizeof(address) - 1;
	struct stat status;

	if (getsockname(socket, (struct sockaddr *)&address, &size) < 0 ||
	    address.sun_path[0] != '/' || stat(address.sun_path, &status) < 0)
		return false;
	*ret_owner = status.st_uid;
	return true;
}

static bool read_options(int argc, char **argv, struct outer_options *ret_options)
{
	if (argc == 3 && strcmp(argv[1], "--reattach-ms") == 0)
		return read_number(argv[2], &ret_options->reattach_ms) &&
		       owner_of(CLIENT_FD, &ret_options->owner);
	return argc == 5 && strcmp(argv[1], "--owner") == 0 &&
	       read_number(argv[2], &ret_options->owner) && strcmp(argv[3], "--reattach-ms") == 0 &&
	       read_number(argv[4], &ret_options->reattach_ms);
}

int main(int argc, char **argv)
{
	struct outer_options options = {0};
	socklen_t size = sizeof(int);
	int socket = CLIENT_FD;
	int is_listening = 0;
	int type = 0;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)printf("viv-launch %s\n", VIV_VERSION);
		return 0;
	}
	if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET ||
	    getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) < 0) {
		(void)fprintf(stderr, "viv-launch: do not start this by hand; viv starts it\n");
		return 2;
	}
	(void)umask(077);
	if (argc == 2 && strcmp(argv[1], "inner") == 0)
		inner_main(socket);
	if (is_listening != 0 && !read_options(argc, argv, &options)) {
		(void)fprintf(stderr, "usage: viv-launch [--owner UID] --reattach-ms N\n");
		return 2;
	}
	return outer_main(&socket, is_listening != 0 ? &options : NULL);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * The runner of a sandbox without Python: takes one RUN from its channel, lets bash run the
 * command, and reports how it ended (docs/protocol.md, section 2).
 *
 * The walls are up and HELLO was sent before this program begins (launch/zygote.c). Like any runner
 * it only gives testimony: what counts is seen from outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "proto/frame.h"
#include "walls/wall.h"

#define FIRST_COUNTER 2U /* HELLO was 1 */
#define NO_FOLDER 1      /* exit code: the folder could not be entered */
#define NO_SHELL 127

/* One request, in memory. */
struct request {
	struct frame_header header;
	struct buf payload; /* meta size, meta, and the rest unless that is in a memfd */
	struct buf rest;
	char *command, *cwd; /* owned */
};

/* Reads exactly `size` bytes, or ends the process: without its supervisor it has nothing to do. */
static void take(void *data, size_t size, int *ret_memfd)
{
	uint8_t *at = data;

	while (size > 0) {
		int fds[IO_FDS_MAX];
		size_t fd_count = 0;
		ssize_t n = io_recv_fds(WALL_CHANNEL_FD, at, size, fds, &fd_count);

		if (n <= 0)
			_exit(0);
		for (size_t i = 0; i < fd_count; i++) {
			if (ret_memfd != NULL && *ret_memfd < 0)
				*ret_memfd = steal_fd(&fds[i]);
			drop_fd(&fds[i]);
		}
		at += n;
		size -= (size_t)n;
	}
}

static int read_memfd(int memfd, struct buf *buf, struct err *err)
{
	if (lseek(memfd, 0, SEEK_SET) < 0)
		return err_sys(err, "rewind the payload");
	return io_read_all(memfd, buf, err);
}

/* A copy of the bytes that the member `name` of meta points to, "[offset,size]", as a string; NULL
 * if there are none. */
static char *take_part(const void *meta, size_t meta_size, const char *name, const uint8_t *rest,
		       size_t rest_size)
{
	const char *value = NULL;
	size_t value_size = 0;
	size_t at = 0;
	size_t size = 0;
	char span[64];

	if (!json_find(meta, meta_size, name, &value, &value_size) || value_size >= sizeof(span))
		return NULL;
	memcpy(span, value, value_size);
	span[value_size] = '\0';
	if (sscanf(span, "[%zu,%zu]", &at, &size) != 2 || at > rest_size || size > rest_size - at)
		return NULL;
	return strndup((const char *)rest + at, size);
}

static int take_request(struct request *request, struct err *err)
{
	AUTO_CLOSE int memfd = -1;
	const uint8_t *meta = NULL;
	const uint8_t *rest = NULL;
	struct frame frame;
	size_t meta_size = 0;
	size_t rest_size = 0;
	int r;

	take(&request->header, sizeof(request->header), &memfd);
	if (request->header.type != FRAME_RUN || request->header.size > FRAME_PAYLOAD_MAX)
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "not a command");
	buf_init(&request->payload, FRAME_PAYLOAD_MAX);
	buf_init(&request->rest, FRAME_PAYLOAD_MAX);
	r = buf_reserve(&request->payload, request->header.size);
	if (r < 0)
		return err_set(err, ERR_TOO_LARGE, -r, "no memory for the command");
	take(request->payload.data, request->header.size, &memfd);

	frame = (struct frame){.header = request->header, .payload = request->payload.data};
	r = frame_split(&frame, &meta, &meta_size, &rest, &rest_size, err);
	if (r == 0 && memfd >= 0) {
		r = read_memfd(memfd, &request->rest, err);
		rest = request->rest.data;
		rest_size = request->rest.size;
	}
	if (r < 0)
		return r;
	request->command = take_part(meta, meta_size, "command", rest, rest_size);
	request->cwd = take_part(meta, meta_size, "args", rest, rest_size);
	if (request->command == NULL || request->cwd == NULL)
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "no command, or no folder for it");
	return 0;
}

/* Enters the folder. A link in it may lead out, to places in the sandbox's own root: harmless, but
 * not what was asked for. */
static int stand_in(const char *cwd)
{
	static const char folder[] = "/data";
	char real[PATH_MAX];

	if (chdir(cwd) < 0)
		return -errno;
	if (getcwd(real, sizeof(real)) == NULL)
		return -errno;
	if (strncmp(real, folder, strlen(folder)) != 0 ||
	    (real[strlen(folder)] != '\0' && real[strlen(folder)] != '/'))
		return -EXDEV;
	return 0;
}

/* In the child. Descriptors 0, 1 and 2 are the run's; exec closes the channel. */
static _Noreturn void become_shell(const struct request *request)
{
	static const char *const shells[] = {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"};
	char pwd[PATH_MAX + sizeof("PWD=")];
	/* bash sets PWD itself, but keeps a given value that names the same folder: a folder that
	 * is reached through a link keeps the name under which it was asked for. */
	const char *const environment[] = {
		"PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin",
		"HOME=/tmp",
		"TMPDIR=/tmp",
		"LANG=C.UTF-8",
		pwd,
		NULL,
	};
	int r = stand_in(request->cwd);

	if (r < 0) {
		(void)dprintf(2, "explore: %s: %s\n", request->cwd,
			      r == -EXDEV ? "leads out of the folder" : strerror(-r));
		_exit(NO_FOLDER);
	}
	(void)snprintf(pwd, sizeof(pwd), "PWD=%s", request->cwd);
	for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
		const char *const argv[] = {shells[i], "-c", request->command, NULL};

		/* execve takes char *const *, but does not write through them. */
		(void)execve(shells[i], (char *const *)(uintptr_t)argv,
			     (char *const *)(uintptr_t)environment);
		if (errno != ENOENT)
			break;
	}
	(void)dprintf(2, "explore: bash: %s\n", strerror(errno));
	_exit(NO_SHELL);
}

/* The status as waitpid gives it, or -1: no process could be made. */
static int run_shell(const struct request *request)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		become_shell(request);
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return status;
}

static void request_done(struct request *request)
{
	free(request->command);
	free(request->cwd);
	buf_done(&request->payload);
	buf_done(&request->rest);
}

static void testify(const struct request *request, int status)
{
	struct {
		struct frame_header header;
		char text[512];
	} done = {.header = {.type = FRAME_DONE,
			     .nonce = request->header.nonce,
			     .counter = FIRST_COUNTER}};
	struct err ignored = {0};
	char message[128] = "";
	int code = 0;

	if (status < 0) {
		code = NO_SHELL;
		(void)snprintf(message, sizeof(message), "no process could be made for the shell");
	} else if (WIFSIGNALED(status)) {
		const char *name = sigabbrev_np(WTERMSIG(status));

		code = 128 + WTERMSIG(status);
		(void)snprintf(message, sizeof(message), "the shell was killed by SIG%s",
			       name != NULL ? name : "?");
	} else if (WEXITSTATUS(status) != 0) {
		code = WEXITSTATUS(status);
		(void)snprintf(message, sizeof(message), "the command ended with exit code %d",
			       code);
	}
	done.header.size = (uint32_t)snprintf(
		done.text, sizeof(done.text),
		"{\"kind\":\"%s\",\"exit_code\":%d,\"message\":\"%s\",\"remedy\":\"\","
		"\"truncated\":{\"files\":false,\"result\":false}}",
		code == 0 ? "ok" : "exit", code, message);
	(void)io_write_all(WALL_CHANNEL_FD, &done, sizeof(done.header) + done.header.size,
			   &ignored);
}

int main(void)
{
	struct request request = {0};
	struct err err = {0};
	char byte;

	/* The command's processes run as the same user: they must neither inherit the channel nor
	 * read this process's memory. */
	if (fcntl(WALL_CHANNEL_FD, F_SETFD, FD_CLOEXEC) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return 1;
	if (take_request(&request, &err) < 0) {
		(void)dprintf(2, "explore: %s\n", err.text);
		request_done(&request);
		return 1;
	}
	testify(&request, run_shell(&request));
	/* The supervisor ends the sandbox now; until then no process inside may take over the
	 * channel. */
	while (read(WALL_CHANNEL_FD, &byte, sizeof(byte)) > 0)
		continue;
	request_done(&request);
	return 0;
}

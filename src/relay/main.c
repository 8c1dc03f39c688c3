// SPDX-License-Identifier: Apache-2.0
/*
 * relay - one end of the stream to a box
 *
 *   relay outside         0, 1, 2 and 3 are the sandbox's stdin, stdout, stderr and channel,
 *                         4 and 5 the stream: from the box, and to it. SIGINT goes on to the head.
 *   relay inside PROGRAM ARGUMENT...
 *                         0 and 1 are the stream. The program is the first head, with descriptors
 * of its own as 0 to 3.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/signalfd.h>
#include <sys/socket.h>

#include "base/c.h"
#include "relay/relay.h"

#define CHANNEL_FD 3 /* where a runner has its channel */
#define STREAM_FROM_FD 4
#define STREAM_TO_FD 5
#define HIGH_FD 10 /* above all fixed descriptors */

static int fail(const struct err *err)
{
	(void)fprintf(stderr, "relay: %s\n", err->text);
	return 1;
}

static int run_outside(void)
{
	struct relay_ends ends = {.from = STREAM_FROM_FD,
				  .to = STREAM_TO_FD,
				  .first = {[MUX_CHANNEL] = CHANNEL_FD,
					    [MUX_STDIN] = STDIN_FILENO,
					    [MUX_STDOUT] = STDOUT_FILENO}};
	struct err err = {0};
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	ends.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	ends.first[MUX_STDERR] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, HIGH_FD);
	if (ends.signals < 0 || ends.first[MUX_STDERR] < 0) {
		(void)err_sys(&err, "descriptors");
		return fail(&err);
	}
	if (relay_run(&ends, &err) < 0)
		return fail(&err);
	return 0;
}

/* Makes both ends of the channel and of three pipes, in the order of enum mux_first; all numbers
 * are above those that the head will use. */
static int make_first(int ours[MUX_FIRST_COUNT], int theirs[MUX_FIRST_COUNT], struct err *err)
{
	for (size_t i = 0; i < MUX_FIRST_COUNT; i++) {
		int ends[2] = {-1, -1};
		int r = i == MUX_CHANNEL ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
					 : pipe2(ends, O_CLOEXEC);

		if (r < 0)
			return err_sys(err, "make the first descriptors");
		ours[i] = ends[i == MUX_STDIN ? 1 : 0];
		theirs[i] = fcntl(ends[i == MUX_STDIN ? 0 : 1], F_DUPFD_CLOEXEC, HIGH_FD);
		(void)close(ends[i == MUX_STDIN ? 0 : 1]);
		if (theirs[i] < 0)
			return err_sys(err, "make the first descriptors");
	}
	return 0;
}

static _Noreturn void become_head(const int theirs[MUX_FIRST_COUNT], char *const *argv)
{
	struct err err = {0};

	(void)signal(SIGPIPE, SIG_DFL);
	if (dup2(theirs[MUX_STDIN], STDIN_FILENO) < 0 ||
	    dup2(theirs[MUX_STDOUT], STDOUT_FILENO) < 0 ||
	    dup2(theirs[MUX_STDERR], STDERR_FILENO) < 0 ||
	    dup2(theirs[MUX_CHANNEL], CHANNEL_FD) < 0)
		_exit(1);
	(void)execv(argv[0], argv);
	(void)err_sys(&err, "exec %s", argv[0]);
	(void)fail(&err);
	_exit(1);
}

static int run_inside(char *const *argv)
{
	struct relay_ends ends = {
		.is_inside = true, .from = STDIN_FILENO, .to = STDOUT_FILENO, .signals = -1};
	int theirs[MUX_FIRST_COUNT] = {-1, -1, -1, -1};
	struct err err = {0};

	if (make_first(ends.first, theirs, &err) < 0)
		return fail(&err);
	ends.pid = fork();
	if (ends.pid < 0) {
		(void)err_sys(&err, "fork");
		return fail(&err);
	}
	if (ends.pid == 0)
		become_head(theirs, argv);
	for (size_t i = 0; i < MUX_FIRST_COUNT; i++)
		drop_fd(&theirs[i]);
	return relay_run(&ends, &err) < 0 ? fail(&err) : 0;
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && strcmp(argv[1], "outside") == 0)
		return run_outside();
	if (argc > 2 && strcmp(argv[1], "inside") == 0)
		return run_inside(argv + 2);
	(void)fprintf(stderr, "usage: relay outside | relay inside PROGRAM ARGUMENT...\n");
	return 2;
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "walls/wall.h"

#define KEPT_COUNT (WALL_CHANNEL_FD + 1)

/* How far to look for a leftover descriptor: zygotes and launch open few, and the lowest numbers
 * first. */
#define LOOK_UNTIL 32

/*
 * A directory leads out of the root by openat(fd, ".."), so none may come in as a standard stream;
 * the channel must be a socket.
 */
static int check_kind(int fd, int target, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(err, "descriptor %d for %d", fd, target);
	if (S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
		return err_set(err, ERR_INTERNAL, EBADF,
			       "descriptor %d for %d is a directory or a disk", fd, target);
	if (target == WALL_CHANNEL_FD && !S_ISSOCK(st.st_mode))
		return err_set(err, ERR_INTERNAL, ENOTSOCK, "the channel is not a socket");
	return 0;
}

/* A source may have the number of another's target: all are moved up first, then into place. */
static int lift(const int sources[KEPT_COUNT], int lifted[KEPT_COUNT], struct err *err)
{
	for (int i = 0; i < KEPT_COUNT; i++) {
		int r = check_kind(sources[i], i, err);

		if (r < 0)
			return r;
		lifted[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, KEPT_COUNT);
		if (lifted[i] < 0)
			return err_sys(err, "lift descriptor %d", sources[i]);
	}
	return 0;
}

static int set_down(const int lifted[KEPT_COUNT], struct err *err)
{
	for (int i = 0; i < KEPT_COUNT; i++) {
		/* Programs that user code starts get the three streams, never the channel. */
		int flags = i == WALL_CHANNEL_FD ? O_CLOEXEC : 0;

		if (dup3(lifted[i], i, flags) < 0)
			return err_sys(err, "set descriptor %d", i);
	}
	return 0;
}

/* Reads the descriptors back, as user code would find them. */
static int verify(struct err *err)
{
	char cwd[PATH_MAX];

	for (int fd = 0; fd < LOOK_UNTIL; fd++) {
		int flags = fcntl(fd, F_GETFD);
		int expected = fd < WALL_CHANNEL_FD ? 0 : fd == WALL_CHANNEL_FD ? FD_CLOEXEC : -1;

		if (flags != expected)
			return err_set(err, ERR_INTERNAL, EBADF,
				       "descriptor %d has flags %d, expected %d", fd, flags,
				       expected);
	}

	/* The raw call: the path of a directory outside the root does not start with a slash, which
	 * glibc would hide (man 3 getcwd). */
	if (syscall(SYS_getcwd, cwd, sizeof(cwd)) < 0)
		return err_sys(err, "getcwd");
	if (cwd[0] != '/')
		return err_set(err, ERR_INTERNAL, EXDEV,
			       "the working directory is outside the root");
	return 0;
}

/*
 * Should:   leave 0, 1, 2 and the channel, the latter closed on exec.
 * Must not: leave any other descriptor, the shell's pidfd and the callers' own included; accept a
 *           directory as a stream; leave a working directory outside of the root.
 */
static int fds_up(const struct walls_input *input, struct err *err)
{
	const int sources[KEPT_COUNT] = {input->std[0], input->std[1], input->std[2],
					 input->channel};
	int lifted[KEPT_COUNT] = {-1, -1, -1, -1};
	int r = lift(sources, lifted, err);

	if (r < 0)
		return r;
	r = set_down(lifted, err);
	if (r < 0)
		return r;
	if (close_range(KEPT_COUNT, ~0U, 0) < 0)
		return err_sys(err, "close_range");
	return verify(err);
}

const struct wall wall_fds = {
	.name = "fds",
	.ids = 1U << WALL_FDS,
	.up = fds_up,
};

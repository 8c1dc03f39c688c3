// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "walls/wall.h"

/*
 * Should:   leave the calls of seccomp_table.c, for this process and all it ever starts.
 * Must not: go up before anything that needs another call, or on more than one thread (walls.c
 *           has made sure of one); be taken as up without having been seen to refuse.
 */
static int seccomp_up(const struct walls_input *input, struct err *err)
{
	/* The kernel only reads the program; the header lacks a const. */
	union {
		const struct sock_filter *given;
		struct sock_filter *wanted;
	} filter = {.given = input->filter};
	const struct sock_fprog program = {.len = input->filter_count, .filter = filter.wanted};

	if (input->filter == NULL || input->filter_count == 0)
		return err_set(err, ERR_INTERNAL, EINVAL, "no filter was given");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return err_sys(err, "install a filter of %u instructions", input->filter_count);

	/* unshare(0) changes nothing and succeeds for anyone; only a filter refuses it. */
	if (unshare(0) == 0 || errno != EPERM)
		return err_set(err, ERR_INTERNAL, EPERM,
			       "the filter is installed but refuses nothing");
	return 0;
}

const struct wall wall_seccomp = {
	.name = "seccomp",
	.ids = 1U << WALL_SECCOMP,
	.up = seccomp_up,
};

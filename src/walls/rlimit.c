// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <linux/ioprio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "walls/wall.h"

#define FILES_SHARED 256
#define STACK_SOFT (8 * MIB)
#define STACK_HARD (64 * MIB)

/*
 * Where no cgroup counts memory, one process must not take all of it between two samples. These
 * count what is mapped, not what is used, so they stand above the plan's memory by what Python maps
 * and never touches (measured with every preload package: 0.5 GiB mapped, 0.3 GiB of it writable;
 * each thread adds a stack of 8 MiB and an arena of 64 MiB address space).
 */
#define MAPPED_WRITABLE (1 * GIB)
#define MAPPED_AT_ALL (4 * GIB)

/* A `soft` of 0 means the same as `hard`. */
struct limit {
	const char *name;
	__rlimit_resource_t resource;
	rlim_t soft, hard;
};

/*
 * Lowers a limit, and never asks for more than there is: raising needs CAP_SYS_RESOURCE in the
 * first user namespace, which a sandbox does not have, nor perhaps root in a container.
 */
static int lower(const struct limit *limit, struct err *err)
{
	struct rlimit now, wanted;

	if (getrlimit(limit->resource, &now) < 0)
		return err_sys(err, "read %s", limit->name);

	wanted.rlim_max = limit->hard < now.rlim_max ? limit->hard : now.rlim_max;
	wanted.rlim_cur = limit->soft > 0 ? limit->soft : limit->hard;
	if (wanted.rlim_cur > wanted.rlim_max)
		wanted.rlim_cur = wanted.rlim_max;
	if (setrlimit(limit->resource, &wanted) < 0)
		return err_sys(err, "set %s to %llu", limit->name,
			       (unsigned long long)wanted.rlim_max);
	return 0;
}

static int lower_all(const struct limit *limits, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		int r = lower(&limits[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Other processes' requests to a disk go first, where its scheduler supports that (bfq does).
 * Children inherit this, and seccomp refuses to change it. The idle class would be too much: a page
 * that the host also wants would wait behind everything. A kernel without block devices lacks this
 * call. */
static int read_last(struct err *err)
{
	int lowest = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_NR_LEVELS - 1);

	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, lowest) < 0 && errno != ENOSYS)
		return err_sys(err, "lower the priority of reads");
	return 0;
}

/*
 * Should:   bound what is counted per process or per user: descriptors, locked memory, signals.
 * Must not: be the wall on memory or processes (a cgroup is), raise anything, or start the host's
 *           core handler.
 */
static int rlimit_up(const struct walls_input *input, struct err *err)
{
	const struct plan *plan = &input->plan;
	/* Descriptors hold kernel memory (a socket's buffer) that only a cgroup counts, and all
	 * sandboxes with the same id share what is counted per user (watches, descriptors in
	 * transit). */
	const rlim_t files = input->is_measured || input->is_shared ? FILES_SHARED : plan->files;
	/* Nothing larger can be stored: files live in `disk`, memfds in `memory`. This prevents a
	 * sparse file of a terabyte, which costs nothing to make and everything to read. */
	const rlim_t file_size = plan->disk > plan->memory ? plan->disk : plan->memory;
	const struct limit limits[] = {
		/* 1, not 0: at 0 a core_pattern with a pipe still starts its handler, as the host's
		 * root; 1 is the kernel's own mark for "not even that" (man 5 core). A hard limit
		 * of 0 from above us stays 0. */
		{"RLIMIT_CORE", RLIMIT_CORE, 0, 1},
		{"RLIMIT_NOFILE", RLIMIT_NOFILE, 0, files < plan->files ? files : plan->files},
		/* Counted in the sandbox's own user namespace, init included. Set there, not before
		 * it was made: it would then limit all sandboxes of one id together. */
		{"RLIMIT_NPROC", RLIMIT_NPROC, 0, plan->pids + 1},
		{"RLIMIT_FSIZE", RLIMIT_FSIZE, 0, file_size},
		/* Room for the keys that crypto libraries lock, too little to pin memory with. */
		{"RLIMIT_MEMLOCK", RLIMIT_MEMLOCK, 0, 64 * KIB},
		{"RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE, 0, 0},
		/* Queued signals and POSIX timers are kernel memory, counted per user. */
		{"RLIMIT_SIGPENDING", RLIMIT_SIGPENDING, 0, 256},
		{"RLIMIT_STACK", RLIMIT_STACK, STACK_SOFT, STACK_HARD},
		{"RLIMIT_RTPRIO", RLIMIT_RTPRIO, 0, 0},
		/* 0 is nice 20, below any: niceness can only be given up (man 2 getrlimit). */
		{"RLIMIT_NICE", RLIMIT_NICE, 0, 0},
	};
	const struct limit measured[] = {
		{"RLIMIT_DATA", RLIMIT_DATA, 0, plan->memory + MAPPED_WRITABLE},
		{"RLIMIT_AS", RLIMIT_AS, 0, plan->memory + MAPPED_AT_ALL},
	};
	int r = lower_all(limits, ARRAY_LEN(limits), err);

	if (r == 0)
		r = read_last(err);
	if (r < 0 || !input->is_measured)
		return r;
	return lower_all(measured, ARRAY_LEN(measured), err);
}

const struct wall wall_rlimit = {
	.name = "rlimit",
	.ids = 1U << WALL_RLIMIT,
	.up = rlimit_up,
};

// SPDX-License-Identifier: Apache-2.0
/*
 * Walls - what is taken away from a sandbox before any of its code runs
 *
 * Owns:    the order in which walls go up, and the report of which stand.
 * May not: log, allocate, read configuration, or know what a session is. Everything here runs
 *          between fork and the first byte of user code, in a process that is already half shut in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <linux/filter.h>

#include "base/err.h"
#include "policy/plan.h"

/* The descriptors a sandbox keeps; all others are closed. */
#define WALL_CHANNEL_FD 3

#define WALL_TASKS_MAX 4

/* The input of all walls. Nothing in it is allocated here. */
struct walls_input {
	struct plan plan;
	int shell_pidfd;                  /* borrowed: the shell to enter; closed by the fds wall */
	int channel;                      /* borrowed: becomes WALL_CHANNEL_FD in the fds wall */
	int std[3];                       /* borrowed: become 0, 1, 2 in the fds wall */
	uint32_t landlock_abi;            /* from the probe; 0: refuse */
	const struct sock_filter *filter; /* borrowed: the seccomp program */
	uint16_t filter_count;
	uint32_t is_measured; /* this host has no cgroup: rlimits and sampling instead; refused when
			       * the plan wants a cgroup */
	uint32_t is_shared;   /* all sandboxes share one host id: resources counted per id are
			       * scarce */
	int tasks[WALL_TASKS_MAX]; /* borrowed: files that join v1 cgroups; see walls_wait */
	uint32_t task_count;
};

/* Launch's message to a new process: enter. Descriptors of its v1 groups come with it. */
struct walls_go {
	uint32_t task_count;
};

/* A sandbox's report of its walls, sent before a hostile byte runs. Part of the HELLO frame. */
struct walls_report {
	uint32_t up; /* a bit per enum wall_id */
	uint32_t landlock_abi;
	uint32_t shown; /* enum plan_shown: which seccomp program is installed */
};

/* One wall: puts itself up in the calling process, or says why not. */
struct wall {
	const char *name;
	uint32_t ids; /* bits of enum wall_id that are up once up() has succeeded */
	int (*up)(const struct walls_input *input, struct err *err);
};

extern const struct wall wall_enter;  /* user, mount, pid, net, ipc, uts, cgroup: joins the shell */
extern const struct wall wall_fds;    /* 0,1,2 and the channel, nothing else */
extern const struct wall wall_rlimit; /* nofile, core, fsize, memlock, ... */
extern const struct wall wall_caps;   /* no capability in any set, no_new_privs */
extern const struct wall wall_landlock; /* files, TCP, signals, abstract sockets */
extern const struct wall wall_seccomp;  /* the last one */

/* Waits for struct walls_go on `status` and stores the descriptors that come with it in `input`. On
 * failure the process must end: launch has ended, or the descriptors did not arrive. */
int walls_wait(int status, struct walls_input *input, struct err *err);

/* Puts all walls up, in THE order. On failure the process must end. */
int walls_up(const struct walls_input *input, struct walls_report *report, struct err *err);

/* The parameters of a seccomp program. */
struct seccomp_kind {
	bool is_measured;
	uint32_t shown; /* enum plan_shown */
};

/* The seccomp program of a kind, as seccomp_make.c made it; NULL: no such kind. */
const struct sock_filter *seccomp_program(const struct seccomp_kind *kind, uint16_t *ret_count);

/* Builds one with libseccomp, in seccomp_make.c and in tests. The caller frees *ret_filter. */
int seccomp_build(const struct seccomp_kind *kind, struct sock_filter **ret_filter,
		  uint16_t *ret_count, struct err *err);

/* The highest landlock ABI of this kernel; 0 when it is off. */
uint32_t landlock_probe(void);
#define LANDLOCK_ABI_FLOOR 1

/* The ABI to use on a kernel: at most the newest one that the landlock wall knows. */
uint32_t landlock_abi_used(uint32_t abi);

// SPDX-License-Identifier: Apache-2.0
/*
 * Slots - the sandboxes as the outer half sees them, and the requests that make them
 *
 * Owns:    struct outer and the checks of every request.
 * May not: do anything for a request that is not in its table, or before all of it was checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>
#include <sys/types.h>

#include "launch/cgroup.h"
#include "launch/idmap.h"
#include "launch/link.h"
#include "proto/launch_msg.h"

struct slot {
	bool is_live;   /* from SPAWN to GONE */
	bool is_told;   /* LAUNCH_EXIT was sent */
	bool is_armed;  /* user code runs; in the list of deadlines */
	uint32_t cause; /* enum launch_cause */
	struct cgroup group;
	struct err *err; /* owned: why it never stood, when the outer half knows */
	pid_t head;      /* the interpreter, as the host counts; 0 before it is born */
	uint64_t end_ns; /* deadline */
	TAILQ_ENTRY(slot) armed;
};

struct outer {
	struct link client;
	struct link inner;
	int epoll;
	int signals;
	pid_t inner_pid;
	bool is_inner_up; /* before its exec nobody may look through its /proc/PID/root */
	bool has_filter;  /* the inner half knows the seccomp program */
	struct idmap map;
	struct cgroups groups;
	struct launch_hello hello;
	uint64_t next_tick_ns;
	TAILQ_HEAD(, slot) armed;
	struct slot slots[LAUNCH_SANDBOXES_MAX];
};

/* Builds the seccomp program and tells the inner half, once (outer.c). */
int outer_send_filter(struct outer *outer, struct err *err);

void slots_init(struct outer *outer);

/* A message from viv, `size` bytes of it; descriptors that are used are taken. */
void slots_request(struct outer *outer, struct launch_request *request, size_t size, int *take_fds,
		   size_t fd_count);

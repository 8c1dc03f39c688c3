// SPDX-License-Identifier: Apache-2.0
/*
 * Floor - what the two files of that program share
 *
 * Owns:    the steps, and what is made once for all sandboxes of a measurement.
 * May not: use anything of launch or of a wall but the seccomp program: it is what those are
 *          compared with.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <linux/filter.h>

#define FLOOR_WRITTEN (3U << 20) /* bytes that stand in for what an interpreter writes to */
#define FLOOR_GROUPS 3

/* Each row is everything above it and one thing more. */
enum floor_step {
	STEP_FORK,
	STEP_TWO,
	STEP_NAMESPACES,
	STEP_MOUNTS,
	STEP_PROC,
	STEP_NET,
	STEP_USER,
	STEP_JOIN,
	STEP_CAPS,
	STEP_LANDLOCK,
	STEP_SECCOMP,
	STEP_CGROUP,
	STEP_COUNT,
};

/* What is made once and used by every sandbox. */
struct floor_stage {
	int control; /* between the two halves */
	int own_pidns, mntns, netns;
	int groups[FLOOR_GROUPS]; /* cgroup.procs, open for writing; or -1 */
	bool has_groups, has_range;
	struct sock_filter *filter;
	uint16_t filter_count;
	uint32_t abi;
	uint8_t *memory; /* shared with every fork until it writes there */
};

/* A tool for the terminal: what cannot be made here is the end of it. */
void floor_need(bool is_done, const char *what);

/* Writes `text` to an existing file below `dir`. */
void floor_put(int dir, const char *path, const char *text);

/* A mount namespace with a root as launch/root.c builds it; the caller stays in its own. */
int floor_root(void);

/* Memory that every fork shares until it writes there: does that. */
void floor_write(const struct floor_stage *stage);

/* Makes one sandbox with all steps up to `last`, and ends it. */
void floor_sandbox(const struct floor_stage *stage, enum floor_step last);

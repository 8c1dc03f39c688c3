// SPDX-License-Identifier: Apache-2.0
/*
 * Boxes - the sandboxes of the inner half, and the events that move each of them to its next phase
 *
 * Owns:    struct inner, and the table of boxes in it.
 * May not: decide anything about a run: it builds, watches, ends and reports.
 */
#pragma once

#include <sys/resource.h>

#include "launch/box.h"
#include "launch/inner.h"
#include "proto/zygote_msg.h"

#define NETNS_POOL 256

/* A child that was reaped before a zygote said which box it belongs to. */
struct box_death {
	pid_t pid;
	int status;
	struct rusage usage;
};

/* A template root. */
struct inner_root {
	int mntns;   /* owned: its mount namespace, or -1 */
	int builder; /* owned: from the process that builds it, or -1 */
	struct launch_root made_of;
	struct err err; /* why the root could not be built */
};

struct inner {
	struct inner_input input;
	int control; /* to the outer half */
	int epoll;
	int signals;
	int own_pidns;
	int own_netns; /* -1: still in the host's; then shells make their own */
	struct inner_root roots[LAUNCH_ROOTS_MAX];
	int zygotes[LAUNCH_ZYGOTES_MAX]; /* sockets, or -1 */
	int netns[NETNS_POOL];
	size_t netns_free;
	size_t netns_keep; /* how many may be kept */
	uint32_t netns_count;
	uint32_t next_id; /* of a sandbox, in our user namespace */
	struct box_list boxes;
	TAILQ_HEAD(, files) busy; /* helpers at work (files.c) */
	int sample;               /* owned: pipe of the memory sample at work, or -1 */
	uint64_t next_sample_ns;
	struct box *by_id[LAUNCH_SANDBOXES_MAX];
	struct box_pids by_pid[1024];
	struct box_death early[64]; /* a ring */
	size_t early_next;
	uint32_t forking; /* boxes in BOX_FORKING */
};

/* inner.c, for the other files of this half. */
int inner_watch_root(const struct inner *inner, int builder, uint32_t id, struct err *err);
int inner_watch_sample(const struct inner *inner, int fd);
int inner_watch_files(const struct inner *inner, int pidfd, uint32_t id, struct err *err);
int inner_watch_box(const struct inner *inner, const struct box *box, struct err *err);
void inner_tell(struct inner *inner, const struct launch_event *event, int fd);
void inner_tell_err(struct inner *inner, uint32_t type, uint32_t id, const struct err *err);
int inner_netns_take(struct inner *inner, struct err *err);
void inner_netns_give(struct inner *inner, int *take_fd);

/* A request for a new sandbox: fds are stdin, stdout, stderr, channel and maybe a v2 directory. */
void boxes_spawn(struct inner *inner, const struct launch_spawn *spawn, int *take_fds,
		 size_t fd_count);

/* Passes descriptors of the v1 cgroups to the sandbox's interpreter, which waits for them. */
void boxes_attach(struct inner *inner, uint32_t id, const int *tasks, size_t count);

/* The status socket of a sandbox is readable or at end of file. */
void boxes_status(struct inner *inner, uint32_t id);

/* A zygote has forked for this sandbox, or says why not. */
void boxes_forked(struct inner *inner, uint32_t id, pid_t pid, const struct err *err);

/* A zygote has ended: forks that were due from it will never come. */
void boxes_zygote_down(struct inner *inner, uint32_t zygote);

void boxes_begin(struct inner *inner, uint32_t id);

/* The run has ended: reports what was measured. */
void boxes_end_run(struct inner *inner, const struct launch_head_ref *ref);

/* From now on the sandbox ends only when told to, not with its first head. */
void boxes_share(struct inner *inner, uint32_t id);

/* Records why the sandbox failed to come up or has ended; the first reason stays. */
void boxes_fail(struct box *box, const struct err *err);

/* Frees the box once none of its processes is alive and no helper works for it. */
void boxes_finish(struct inner *inner, struct box *box);

void boxes_kill(struct inner *inner, uint32_t id);
void boxes_reaped(struct inner *inner, pid_t pid, int status, const struct rusage *usage);

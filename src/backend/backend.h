// SPDX-License-Identifier: Apache-2.0
/*
 * Backend - a way to build sandboxes
 *
 * Owns:    the table of backends and the choice among them: the highest available priority wins; a
 *          backend that was asked for by name and is broken refuses, it never degrades.
 * May not: know runs: a started sandbox is a channel that speaks frames and a number to kill it by.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backend/launcher.h"
#include "base/err.h"
#include "policy/plan.h"

enum backend_fd {
	BACKEND_STDIN,
	BACKEND_STDOUT,
	BACKEND_STDERR,
	BACKEND_CHANNEL,
	BACKEND_FD_COUNT,
};

/* Everything that one sandbox is built from. */
struct backend_start {
	uint32_t sandbox; /* its number, free until it is gone */
	uint32_t root;
	int32_t zygote;     /* -1: cold, execs `python` */
	const char *python; /* as seen inside the root */
	struct plan plan;
	int fds[BACKEND_FD_COUNT]; /* borrowed: the sandbox's ends */
};

struct backend {
	const char *name;
	int priority;
	const char *isolation; /* what stands between code and host, in a word or two */

	/* Can it build sandboxes here? 0, or why not and what to do. */
	int (*probe)(const struct launch_hello *hello, struct err *err);

	int (*start)(struct launcher *launcher, const struct backend_start *start, struct err *err);
	int (*kill)(struct launcher *launcher, uint32_t sandbox, struct err *err);
};

extern const struct backend backend_namespace;

/* Every backend, highest priority first, NULL behind the last. */
extern const struct backend *const backend_table[];

/* The backend to use: `name` (exactly that one), or for NULL and "auto" the best that is there. */
int backend_choose(const char *name, const struct launch_hello *hello,
		   const struct backend **ret_backend, struct err *err);

// SPDX-License-Identifier: Apache-2.0
/*
 * Daemon - `viv serve`: one event loop that holds everything together
 *
 * Owns:    the parts (journal, logs, sessions, pool, admission, router, HTTP), the order in which
 *          they start and stop, signals, and what happens when viv-launch ends.
 * May not: hold privilege: when started as root it first becomes another user (minder.h).
 */
#pragma once

#include <stdbool.h>

#include "backend/namespace/launcher.h"
#include "base/err.h"
#include "policy/config.h"

struct daemon_options {
	const char *const *listen; /* instead of the config's; NULL-terminated, or NULL */
	const char *dialect;       /* the system whose dialect is served; NULL: none */
	bool keep;                 /* a graceful stop leaves sessions for the next daemon */
	bool is_quiet;             /* do not print the addresses on stderr */
	bool is_private;           /* belongs to the process that started it: prints a line on
				    * stdout once it listens, and ends at end of file on stdin */
};

/* Serves until a signal ends it. `stay` says where viv-launch listens, or will listen. Returns the
 * exit status, or a negative errno when the daemon could not start. */
int daemon_serve(const struct config *config, const struct daemon_options *options,
		 const struct backend_stay *stay, struct err *err);

/* Runs the daemon. An ordinary user serves as that user. Root serves as the user `vivarium`, next
 * to a process that keeps root's rights only to start viv-launch. */
int daemon_main(const struct config *config, const struct daemon_options *options, struct err *err);

// SPDX-License-Identifier: Apache-2.0
/*
 * Daemon - `viv serve`: one event loop that holds everything together
 *
 * Owns:    the parts (journal, logs, sessions, pool, admission, router, HTTP), the order in which
 *          they come up and go, signals, and what happens when viv-launch is gone.
 * May not: hold privilege: started as root it becomes another user first (minder.h).
 */
#pragma once

#include <stdbool.h>

#include "backend/namespace/launcher.h"
#include "base/err.h"
#include "policy/config.h"

struct daemon_options {
	const char *const *listen; /* instead of the config's; NULL-terminated, or NULL */
	const char *dialect;       /* stand in for this system; NULL: for none */
	bool keep;                 /* a graceful stop leaves sessions for a successor */
	bool is_quiet;             /* no word on stderr about where it listens */
	bool is_private;           /* of the process that started it: a line on stdout when it
				      listens, and the end of stdin is its own end */
};

/* Serves until a signal ends it. `stay` tells where viv-launch is, or is to be. Returns the exit
 * status, or a negative errno when it could not start. */
int daemon_serve(const struct config *config, const struct daemon_options *options,
		 const struct backend_stay *stay, struct err *err);

/* For an ordinary user: serves as who we are. For root: as the user `vivarium`, beside a process
 * that keeps root's rights for one thing alone, to start viv-launch. */
int daemon_main(const struct config *config, const struct daemon_options *options, struct err *err);

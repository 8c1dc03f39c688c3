// SPDX-License-Identifier: Apache-2.0
/*
 * Here - one run that a command does itself, without a daemon
 *
 * Owns:    the loop, the pool with its viv-launch, the signals, the run and what shows it.
 * May not: know what is run; `viv run` and `viv explore` start it.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"
#include "cli/run_show.h"
#include "policy/config.h"
#include "session/pool.h"
#include "session/run.h"

struct here {
	uv_loop_t loop;
	bool has_loop;
	uv_poll_t signals_poll;
	int signals; /* owned: a signalfd */
	struct config *config;
	struct remote *remote; /* NULL: none is configured, or this command has no use for it */
	struct pool *pool;
	struct run *run;
	struct show show;
};

/* Blocks the signals and sets how the run is shown. Call here_close() after a failure, too. */
int here_init(struct here *here, enum show_mode mode, struct err *err);

/* Starts the pool for `here->config`. `may_be_remote`: another machine may do the run. */
int here_open(struct here *here, bool may_be_remote, struct err *err);

/* Waits until the run is over; Ctrl-C or a closed stdout ends the run. */
void here_wait(struct here *here);

/* Ends everything; when it returns, nothing of the run is left. */
void here_close(struct here *here);

// SPDX-License-Identifier: Apache-2.0
/*
 * Trial - a run that viv makes for itself, to see what this host can really do
 *
 * Owns:    a loop and a pool for as long as doctor, audit, bench or runtime need them.
 * May not: be a second way to run users' code: that is `viv run`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "session/pool.h"
#include "session/run.h"

#define TRIAL_TRUST "viv"

struct trial {
	uv_loop_t loop;
	struct pool *pool; /* owned */
	const struct backend_facts *hello;
	const struct backend *backend; /* a static row: makes its sandboxes; NULL: none can */
	bool has_loop;
};

/* Starts viv-launch and waits for its facts about this host. */
int trial_open(struct trial *trial, struct err *err);

/* Ends everything and waits for it. Accepts a zeroed and a half-open trial. */
void trial_close(struct trial *trial);

/* A request for a cold run of `code` on `runtime`: at most 1 MiB of output, no other inputs. */
struct run_request trial_request(const struct runtime *runtime, const struct plan *plan,
				 const char *code, uint32_t timeout_ms);

/* Starts the run and waits for its verdict; the run is the caller's to free. */
int trial_run(struct trial *trial, const struct run_request *request, struct run **ret_run,
	      struct err *err);

/* A copy of what the run wrote to stdout (1) or stderr (2), as text; the caller frees it. */
char *trial_output(const struct run *run, int stream);

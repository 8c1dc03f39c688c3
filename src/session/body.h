// SPDX-License-Identifier: Apache-2.0
/*
 * Body - a request as the JSON of POST /v1/run, for a daemon or another machine
 *
 * Owns:    the text, in a memfd: nothing large is built in memory. Members that the table of
 *          parameters describes are written by their row.
 * May not: silently leave out anything that was given.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "session/request.h"

enum body_for {
	BODY_DAEMON,  /* a whole object */
	BODY_SESSION, /* ... without what the session has already decided */
	BODY_REMOTE,  /* only members, without those that concern only this host */
};

struct body {
	int fd;             /* owned; -1: none */
	uint64_t core_size; /* bytes of code and data, which every sidecar takes */
	uint64_t size;
	const char *beyond; /* static: a member that no sidecar takes; NULL: none */
};

/* Makes the body. The descriptor belongs to the caller; its offset is at the start. */
int body_make(const struct run_request *request, enum body_for whom, struct body *ret_body,
	      struct err *err);

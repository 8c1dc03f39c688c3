// SPDX-License-Identifier: Apache-2.0
/*
 * Payload - a RUN or CHECK frame, made from a request
 *
 * Owns:    the meta and where each part lies in the payload: small payloads travel in the frame,
 *          large ones in a sealed memfd into which each part is copied once, and whose memory
 *          is taken back when the payload is done.
 * May not: put text from a request into anything but JSON strings and the payload itself.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "session/run.h"

struct payload {
	struct buf frame; /* header, meta, and the payload where it is small */
	int memfd;        /* owned; -1: none */
};

/* ERR_BAD_REQUEST for a path that is not below /workspace, ERR_TOO_LARGE for more than launch and
 * runner can take. */
int payload_run(const struct run_request *request, uint64_t nonce, struct payload *ret_payload,
		struct err *err);

/* For the import guard: the code and the policy's lists. */
int payload_check(const struct run_request *request, uint64_t nonce, struct payload *ret_payload,
		  struct err *err);

/* A copy of the memfd's descriptor for a sandbox; -1: the payload has none. */
int payload_lend(const struct payload *payload, int *ret_fd, struct err *err);

/* Frees everything; a payload that was lent is empty from here on for whoever has it. */
void payload_done(struct payload *payload);

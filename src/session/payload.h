// SPDX-License-Identifier: Apache-2.0
/*
 * Payload - a RUN or CHECK frame, made from a request
 *
 * Owns:    the meta and the offset of each part in the payload: small payloads travel in the frame,
 *          large ones in a sealed memfd into which each part is copied once, or which was lent, and
 *          whose memory is taken back when the payload is done.
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

/* Makes a RUN frame. ERR_BAD_REQUEST for a path that is not below /workspace, ERR_TOO_LARGE for
 * more than box and runner can take. */
int payload_run(const struct run_request *request, uint64_t nonce, struct payload *ret_payload,
		struct err *err);

/* Makes a CHECK frame for the import guard: the code and the policy's lists. */
int payload_check(const struct run_request *request, uint64_t nonce, struct payload *ret_payload,
		  struct err *err);

/* Tells the runner to test itself first, since the state in which the code will run may be
 * damaged. */
void payload_doubt(struct payload *payload);

/* A copy of the memfd's descriptor for a sandbox; -1: the payload has none. */
int payload_lend(const struct payload *payload, int *ret_fd, struct err *err);

/* Identifies the memfd for as long as it is open; 0: there is none. */
uint64_t payload_inode(int memfd);

/* Frees everything. A copy that was lent reads as empty from here on. */
void payload_done(struct payload *payload);

// SPDX-License-Identifier: Apache-2.0
/*
 * Frame - the messages on a sandbox's channel (a stream socket), both ways
 *
 * Owns:    the header, the limits, and the table of types. docs/protocol.md describes them.
 * May not: trust: everything that comes out of a sandbox is hostile. Check lengths before reading
 *          bytes and limits before allocating; never accept a descriptor from inside.
 *
 * Layout: struct frame_header (little endian), then `size` bytes of payload.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define FRAME_PAYLOAD_MAX (16U << 20) /* one frame */
#define FRAME_PIECE_MAX (64U << 10)   /* a runner sends larger payloads in pieces */
#define FRAME_INLINE_MAX (64U << 10)  /* a RUN with a larger payload brings it in a memfd */

enum frame_type {
	FRAME_HELLO = 1,  /* runner -> viv, once: struct frame_hello */
	FRAME_RUN = 2,    /* viv -> runner: u32 meta size, meta (JSON), payload bytes or a memfd */
	FRAME_EVENT = 3,  /* runner -> viv: one JSON object with "type" */
	FRAME_FILE = 4,   /* runner -> viv: u32 path size, path, bytes: a piece of an artifact */
	FRAME_DONE = 5,   /* runner -> viv, once per RUN: JSON testimony */
	FRAME_ACK = 6,    /* viv -> runner: viv has taken an EVENT that had FRAME_FLAG_WAIT */
	FRAME_CHECK = 7,  /* viv -> runner: like RUN, but the guard only checks the code; nothing
			   * runs */
	FRAME_FORK = 8,   /* viv -> runner: fork; fds: channel, or channel, stdout, stderr */
	FRAME_FORKED = 9, /* runner -> viv: the parent's answer to FORK: struct frame_forked,
			   * text */
};

#define FRAME_FLAG_WAIT 1U   /* EVENT: the runner waits for an ACK, to keep output in order */
#define FRAME_FLAG_MEMFD 2U  /* RUN, CHECK: the payload is a sealed memfd sent along */
#define FRAME_FLAG_LAST 4U   /* FILE: the last piece of this file */
#define FRAME_FLAG_MORE 8U   /* runner -> viv: the rest of this payload follows in the next frame */
#define FRAME_FLAG_STDIN 16U /* RUN: a pipe for stdin is sent along, after the memfd if any */
#define FRAME_FLAG_LOOK 32U  /* FORK: a throw-away fork, made even where a checkpoint is blocked */
#define FRAME_FLAG_DOUBT 64U /* RUN: the runner must first complete a small run of its own */

struct frame_header {
	uint32_t size; /* of the payload */
	uint16_t type;
	uint16_t flags;
	uint64_t nonce;   /* of the RUN this belongs to; 0 in HELLO */
	uint32_t counter; /* of a runner's frames, from 1: a repeated one is dropped */
	uint32_t reserved;
};

/* Announces that all walls are up. Sent by C code right after the last wall. */
struct frame_hello {
	uint32_t version; /* FRAME_VERSION */
	uint32_t walls;   /* a bit per enum wall_id */
	uint32_t landlock_abi;
	uint32_t pid;   /* as seen inside the sandbox */
	uint32_t shown; /* enum plan_shown: which seccomp program is installed */
	uint32_t reserved;
};

/* FORKED. When is_blocked, the text after it names what blocks a checkpoint ("thread worker-1"). */
struct frame_forked {
	uint32_t is_blocked;
	uint32_t pid; /* of the child, as seen inside the sandbox; 0: none */
};
#define FRAME_VERSION 3

struct frame {
	struct frame_header header;
	const uint8_t *payload; /* borrowed from the bytes given to frame_decode */
};

/* Decodes the first frame in `bytes`. Returns its size in bytes, 0 when more bytes are needed, or a
 * negative errno: -EMSGSIZE above FRAME_PAYLOAD_MAX, -EPROTO for an unknown type or flag. */
int64_t frame_decode(const void *bytes, size_t size, struct frame *ret_frame, struct err *err);

/* Appends header and payload to `buf`, with counter 0: only a runner's frames are counted. */
int frame_append(struct buf *buf, uint16_t type, uint16_t flags, uint64_t nonce,
		 const void *payload, size_t size);

/* Sends HELLO on `channel` as the sender's first frame. In a fresh sandbox these are the last bytes
 * that certainly come from our own code. */
int frame_send_hello(int channel, uint32_t walls, uint32_t landlock_abi, uint32_t shown,
		     struct err *err);

/* Splits the payload of a RUN or CHECK into meta and the rest. -EPROTO: the sizes do not match. */
int frame_split(const struct frame *frame, const uint8_t **ret_meta, size_t *ret_meta_size,
		const uint8_t **ret_rest, size_t *ret_rest_size, struct err *err);

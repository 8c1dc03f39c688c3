// SPDX-License-Identifier: Apache-2.0
/*
 * Mux - everything that goes into and out of a box, over one stream of bytes
 *
 * Owns:    the header of a chunk, the kinds of chunks and their limits. docs/protocol.md, section
 *          2, describes them.
 * May not: look inside the frames it carries, or move bytes: src/relay does.
 *
 * Layout: struct mux_header (little endian), then `size` bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define MUX_CHUNK_MAX (64U << 10)
#define MUX_WINDOW (128U << 10) /* unacknowledged bytes allowed per port and direction */
#define MUX_PORTS_MAX 256U      /* open at a time */
#define MUX_ATTACH_MAX 3U       /* ports that travel with one frame */

/* Ports that are open from the start. */
enum mux_first {
	MUX_CHANNEL, /* of the first head */
	MUX_STDIN,
	MUX_STDOUT,
	MUX_STDERR,
	MUX_FIRST_COUNT,
};

enum mux_kind {
	MUX_OPEN = 1,   /* to the box: struct mux_open; the port number is higher than all earlier
			 * ones */
	MUX_DATA = 2,   /* bytes of the port */
	MUX_CREDIT = 3, /* u32: this many bytes were taken, and as many more may be sent */
	MUX_CLOSE = 4,  /* the port ends here; its number is not used again */
	MUX_ATTACH = 5, /* to the box: u32 port numbers, sent along with the channel's next byte */
	MUX_SIGNAL = 6, /* to the box: u32 signal for the head at the end of this channel */
	MUX_KIND_END,
};

/* The object at a port's end inside the box. */
enum mux_what {
	MUX_IS_CHANNEL, /* a stream socket: frames both ways */
	MUX_IS_INPUT,   /* a pipe into the box */
	MUX_IS_OUTPUT,  /* a pipe out of it */
	MUX_IS_PAYLOAD, /* a memfd: it can be attached once its port is closed */
	MUX_WHAT_END,
};

struct mux_header {
	uint32_t size;
	uint32_t port;
	uint16_t kind;
	uint16_t reserved;
};

struct mux_open {
	uint32_t what;
	uint32_t out, err; /* outputs that this channel's frames must not overtake; its own number:
			    * none */
};

struct mux_chunk {
	struct mux_header header;
	const uint8_t *bytes; /* borrowed from the bytes given to mux_decode */
};

/* Decodes the first chunk in `bytes`. Returns its size in bytes, 0 when more bytes are needed, or a
 * negative errno: -EMSGSIZE above MUX_CHUNK_MAX, -EPROTO for a chunk that no relay sends. */
int64_t mux_decode(const void *bytes, size_t size, struct mux_chunk *ret_chunk, struct err *err);

/* Appends one chunk; `size` is at most MUX_CHUNK_MAX. */
int mux_append(struct buf *buf, uint32_t port, enum mux_kind kind, const void *bytes, size_t size);

/* The u32 at `index` in a chunk's payload. */
uint32_t mux_number(const struct mux_chunk *chunk, size_t index);

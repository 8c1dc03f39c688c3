// SPDX-License-Identifier: Apache-2.0
#include "api/exchange.h"
#include "base/c.h"
#include "mcp/mcp_inside.h"

#define PIECE (64U << 10)

/* One HTTP answer. */
struct mcp_wire {
	struct exchange *call;     /* it lives in the call's memory */
	struct mcp_stream *stream; /* borrowed; NULL: it has its answer */
	bool is_begun;
};

void mcp_wire_reply(struct mcp_wire *wire, unsigned status, struct buf *take_json)
{
	wire->stream = NULL;
	exchange_answer(wire->call, status, take_json);
}

void mcp_wire_begin(struct mcp_wire *wire)
{
	wire->is_begun = true;
	exchange_set_header(wire->call, "X-Accel-Buffering", "no");
	exchange_queue(wire->call, 200, "text/event-stream");
}

/* Hands over what there is, as far as the client keeps up. True: that was the end. */
static bool pump(struct mcp_wire *wire)
{
	AUTO_FREE char *piece = NULL;
	int64_t n = 1;

	if (wire->stream == NULL || !wire->is_begun)
		return false;
	piece = malloc(PIECE);
	while (piece != NULL && n > 0) {
		n = mcp_stream_read(wire->stream, piece, PIECE);
		if (n > 0 && !exchange_write(wire->call, piece, (size_t)n))
			return false;
	}
	if (n != -1)
		return false;
	wire->stream->wire = NULL;
	wire->stream = NULL;
	exchange_end(wire->call);
	return true;
}

void mcp_wire_ready(struct mcp_wire *wire)
{
	(void)pump(wire);
}

void mcp_wire_resume(struct mcp_wire *wire)
{
	struct mcp_stream *stream = wire->stream;

	if (pump(wire))
		mcp_stream_wire_gone(stream);
}

static void on_drained(struct exchange *call)
{
	mcp_wire_resume(call->user);
}

static void on_left(struct exchange *call)
{
	struct mcp_wire *wire = call->user;
	struct mcp_stream *stream = wire->stream;
	struct buf nothing;

	/* In the 2025 era a client may come back for an answer that has begun; one that has not
	 * begun may still be waited for by a client that only has no more to say. */
	if (stream == NULL || (stream->session != NULL && !wire->is_begun))
		return;
	wire->stream = NULL;
	if (wire->is_begun) {
		exchange_end(call);
	} else {
		buf_init(&nothing, 1);
		exchange_answer(call, 400, &nothing);
	}
	mcp_stream_wire_gone(stream);
}

void mcp_wire_join(struct exchange *call, struct mcp_stream *stream)
{
	struct mcp_wire *wire = exchange_memory(call, sizeof(*wire));

	wire->call = call;
	wire->stream = stream;
	stream->wire = wire;
	call->user = wire;
	call->left = on_left;
	call->drained = on_drained;
}

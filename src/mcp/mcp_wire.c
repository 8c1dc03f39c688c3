// SPDX-License-Identifier: Apache-2.0
#include "api/exchange.h"
#include "base/c.h"
#include "mcp/mcp_inside.h"

/* One HTTP answer that carries a stream. */
struct mcp_wire {
	struct exchange *call;     /* owns this wire's memory */
	struct mcp_stream *stream; /* borrowed; NULL: answered, or gone */
	bool is_begun;
};

void mcp_wire_reply(struct mcp_wire *wire, unsigned status, struct buf *take_json)
{
	wire->stream = NULL;
	exchange_answer(wire->call, status, take_json);
}

/* The client has left, or the stream has ended. While the answer is only beginning, the caller
 * releases the stream. */
static void part(struct mcp_wire *wire)
{
	struct mcp_stream *stream = STEAL(wire->stream);

	if (stream != NULL && wire->is_begun)
		mcp_stream_wire_gone(stream);
	else if (stream != NULL)
		stream->wire = NULL;
}

static int64_t read_stream(void *user, void *data, size_t room)
{
	struct mcp_wire *wire = user;
	int64_t n = wire->stream != NULL ? mcp_stream_read(wire->stream, data, room) : -1;

	/* Detach at the end already here: the client may reconnect before the last byte is sent. */
	if (n == -1)
		part(wire);
	return n;
}

static void close_stream(void *user)
{
	part(user);
}

void mcp_wire_begin(struct mcp_wire *wire)
{
	const struct op_source source = {read_stream, close_stream, wire};
	struct exchange *call = wire->call;

	exchange_hold(call); /* if the client is gone, exchange_stream() would free the call, and
				this wire with it */
	exchange_set_header(call, "X-Accel-Buffering", "no");
	exchange_stream(call, 200, "text/event-stream", -1, &source);
	wire->is_begun = true;
	exchange_release(call);
}

void mcp_wire_ready(struct mcp_wire *wire)
{
	if (wire->is_begun)
		exchange_wake(wire->call);
}

static void on_left(struct exchange *call)
{
	struct mcp_wire *wire = call->user;
	struct mcp_stream *stream = wire->stream;
	struct buf nothing;

	/* In the 2025 era a client may reconnect for an answer that has begun. If it has not begun,
	 * the client may have closed only its sending side and still be waiting. */
	if (stream == NULL || (stream->session != NULL && !wire->is_begun))
		return;
	wire->stream = NULL;
	if (wire->is_begun) {
		exchange_wake(call);
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
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "op/announce.h"
#include "op/op.h"
#include "session/engine.h"

#define NDJSON "application/x-ndjson"

struct events_args {
	uint64_t after;
	enum op_bool follow;
};

static const struct op_param params[] = {
	{OP_PARAM(
		struct events_args, after, .name = "after", .type = OP_COUNT, .in = OP_IN_QUERY,
		.help = "number of the last line that is known already (default: only new lines)")},
	{OP_PARAM(struct events_args, follow, .name = "follow", .type = OP_BOOL, .in = OP_IN_QUERY,
		  .help = "wait for new lines (default: true)")},
};

/* The feed on its way to one client, as fast as the client reads. At most one line is held. */
struct follower {
	struct op_call *call; /* borrowed until closed */
	struct announce_reader reader;
	struct buf line;
	size_t sent; /* bytes of `line` */
	bool follow;
};

static void is_ready(void *user)
{
	struct follower *follower = user;

	op_wake(follower->call);
}

static int64_t read_lines(void *user, void *raw, size_t room)
{
	struct follower *follower = user;
	char *data = raw;
	size_t size = 0;

	while (size < room) {
		size_t n = follower->line.size - follower->sent;

		if (n == 0) {
			int r;

			follower->line.size = follower->sent = 0;
			r = announce_next(&follower->reader, &follower->line);
			if (r == 0 && (follower->follow || size > 0))
				break;
			if (r <= 0)
				return size > 0 ? (int64_t)size : -1;
			continue;
		}
		n = n < room - size ? n : room - size;
		memcpy(data + size, follower->line.data + follower->sent, n);
		follower->sent += n;
		size += n;
	}
	return (int64_t)size;
}

static void close_lines(void *user)
{
	struct follower *follower = user;

	announce_close(&follower->reader);
	buf_done(&follower->line);
	free(follower);
}

/* The feed can be silent for long, so the reader's place is freed now, not when a write fails. */
static void client_left(struct op_call *call)
{
	struct follower *follower = call->state;

	announce_close(&follower->reader);
	op_wake(call);
}

static void call_events(struct op_call *call)
{
	const struct events_args *args = call->args;
	struct follower *follower = xnew(struct follower);
	const struct op_source source = {
		.read = read_lines, .close = close_lines, .user = follower};
	struct err err = {0};

	follower->call = call;
	follower->follow = args->follow != OP_NO;
	follower->reader.ready = is_ready;
	follower->reader.user = follower;
	buf_init(&follower->line, ANNOUNCE_LINE_MAX);
	if (announce_open(call->engine->announcer, &call->caller, args->after, &follower->reader,
			  &err) < 0) {
		close_lines(follower);
		op_fail(call, &err);
		return;
	}
	call->state = follower;
	call->left = client_left;
	call->is_cancelled_with_client = true;
	(void)announce_hello(&follower->reader, &follower->line);
	op_stream(call, 200, NDJSON, -1, &source);
}

const struct op op_events = {
	.name = "events",
	.method = "GET",
	.path = "/v1/events",
	.help = "What happens in the daemon, live: sessions, runs, conversations, one JSON object "
		"per line",
	.params = params,
	.param_count = ARRAY_LEN(params),
	.args_size = sizeof(struct events_args),
	.answer = "Announced",
	.is_stream = true,
	.call = call_events,
};

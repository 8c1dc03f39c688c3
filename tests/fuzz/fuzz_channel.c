// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

#include "base/c.h"
#include "fuzz.h"
#include "session/channel.h"

struct seen {
	uint32_t counter;
	uint64_t sum;
	bool is_ended, is_closed;
};

static void frame_in(void *user, const struct frame *frame)
{
	struct seen *seen = user;

	CLAIM(!seen->is_ended);
	CLAIM(frame->header.size <= FRAME_PAYLOAD_MAX);
	CLAIM(!(frame->header.flags & FRAME_FLAG_MORE));
	CLAIM(frame->header.counter > seen->counter);
	seen->counter = frame->header.counter;
	/* Read to the end, for the sanitizer. */
	for (uint32_t i = 0; i < frame->header.size; i++)
		seen->sum += frame->payload[i];
}

static void piece_in(void *user, const struct frame *piece)
{
	const struct seen *seen = user;

	CLAIM(!seen->is_ended);
	CLAIM(piece->header.size <= FRAME_PIECE_MAX);
}

static void ended(void *user, const struct err *why)
{
	struct seen *seen = user;

	CLAIM(!seen->is_ended);
	CLAIM(why->kind == ERR_NONE || why->text[0] != '\0');
	seen->is_ended = true;
}

static void closed(uv_handle_t *handle)
{
	struct seen *seen = handle->loop->data;

	seen->is_closed = true;
}

/* A sandbox writes the input to its channel, to the last byte, and dies. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct channel_calls calls = {frame_in, ended, piece_in};
	struct seen seen = {0};
	struct channel channel = {.fd = -1};
	struct err err = {0};
	uv_loop_t loop;
	int pair[2];

	CLAIM(uv_loop_init(&loop) == 0);
	loop.data = &seen;
	CLAIM(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	CLAIM(channel_open(&channel, &loop, &pair[0], &calls, &seen, &err) == 0);
	while (size > 0 && !seen.is_ended) {
		ssize_t n = send(pair[1], bytes, size < 30000 ? size : 30000, MSG_NOSIGNAL);

		if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		}
		channel_read(&channel);
	}
	(void)close(pair[1]);
	while (!seen.is_ended)
		(void)uv_run(&loop, UV_RUN_ONCE);
	channel_close(&channel, closed);
	while (!seen.is_closed)
		(void)uv_run(&loop, UV_RUN_ONCE);
	CLAIM(uv_loop_close(&loop) == 0);
	return 0;
}

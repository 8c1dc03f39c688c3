// SPDX-License-Identifier: Apache-2.0
#include "cli/mcp_bridge.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/io.h"
#include "cli/mcp_transfer.h"
#include "cli/run_remote.h"

#define LINE_SIZE_MAX                                                                              \
	((16U << 20) + 1024) /* the daemon's limit, and a little more to see that a line is longer \
			      */
#define PIECE 65536
#define WAIT_MS 60000
#define END_MS 500 /* for the daemon to end the session */

struct bridge {
	struct mcp_route route;
	int in, out; /* borrowed */
	int signals; /* owned */
	struct buf input;
	struct buf hello; /* the client's initialize, for a daemon that was restarted */
	struct buf again; /* lines to send again, because the daemon had lost the session */
	bool is_renewing;
	bool is_skipping; /* the rest of a line that is too long is dropped */
	bool is_over;     /* end of file on stdin */
	bool is_ending;   /* the session is being ended: signals and stdio no longer matter */
	int failure;      /* of stdout */
	struct err *err;  /* borrowed: of stdin */
	int r;            /* of stdin */
};

/* ---- out ---- */

static void put_message(void *user, const char *json, size_t size)
{
	struct bridge *bridge = user;
	struct err err = {0};

	if (bridge->failure == 0)
		bridge->failure = io_write_all(bridge->out, json, size, &err);
	if (bridge->failure == 0)
		bridge->failure = io_write_all(bridge->out, "\n", 1, &err);
}

static void say_too_long(struct bridge *bridge)
{
	static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
				   "\"message\":\"a message may have at most 16 MiB\"}}";

	put_message(bridge, text, sizeof(text) - 1);
}

/* ---- a restarted daemon has lost its sessions of the 2025 era ---- */

static void session_lost(void *user, const char *line, size_t size)
{
	struct bridge *bridge = user;
	struct mcp_envelope envelope;

	if (buf_append(&bridge->again, line, size) == 0)
		(void)buf_append(&bridge->again, "\n", 1);
	if (bridge->is_renewing)
		return;
	bridge->is_renewing = true;
	bridge->route.session[0] = bridge->route.version[0] = '\0';
	mcp_envelope_read(buf_string(&bridge->hello), bridge->hello.size, &envelope);
	envelope.is_silent = true;
	mcp_transfer_send(&bridge->route, (const char *)bridge->hello.data, bridge->hello.size,
			  &envelope);
}

/* Sends the lost lines again. If there still is no session, the daemon says so. */
static void renew(struct bridge *bridge)
{
	static const char initialized[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
	struct mcp_envelope envelope = {.method = "notifications/initialized", .is_again = true};
	char *line = NULL, *rest = NULL;

	bridge->is_renewing = false;
	mcp_transfer_send(&bridge->route, initialized, sizeof(initialized) - 1, &envelope);
	if (bridge->route.session[0] != '\0')
		mcp_transfer_plain(&bridge->route, "GET", "", "");
	(void)buf_append(&bridge->again, "", 1);
	for (line = strtok_r((char *)bridge->again.data, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		mcp_envelope_read(line, strlen(line), &envelope);
		envelope.is_again = true;
		mcp_transfer_send(&bridge->route, line, strlen(line), &envelope);
	}
	buf_consume(&bridge->again, bridge->again.size);
}

/* ---- in ---- */

static void take_line(struct bridge *bridge, const char *line, size_t size)
{
	struct mcp_envelope envelope;

	while (size > 0 && strchr(" \t\r", line[size - 1]) != NULL)
		size--;
	if (size == 0)
		return;
	mcp_envelope_read(line, size, &envelope);
	/* In the 2026 era a client cancels a call by closing the answer's stream. */
	if (strcmp(envelope.method, "notifications/cancelled") == 0 &&
	    mcp_transfer_drop(&bridge->route, envelope.cancels))
		return;
	if (envelope.version[0] == '\0' && strcmp(envelope.method, "initialize") == 0) {
		buf_consume(&bridge->hello, bridge->hello.size);
		(void)buf_append(&bridge->hello, line, size);
	}
	mcp_transfer_send(&bridge->route, line, size, &envelope);
	if (strcmp(envelope.method, "notifications/initialized") == 0 &&
	    bridge->route.session[0] != '\0')
		mcp_transfer_plain(&bridge->route, "GET", "", "");
}

/* Takes whole lines, but none after an unanswered initialize: its answer has the session and the
 * version that later lines need. */
static void take_lines(struct bridge *bridge)
{
	size_t taken = 0;

	while (!mcp_transfer_is_due(&bridge->route, true)) {
		const char *line = (const char *)bridge->input.data + taken;
		size_t left = bridge->input.size - taken;
		const char *end = left > 0 ? memchr(line, '\n', left) : NULL;

		if (end == NULL)
			break;
		taken += (size_t)(end - line) + 1;
		if (bridge->is_skipping)
			bridge->is_skipping = false;
		else
			take_line(bridge, line, (size_t)(end - line));
	}
	buf_consume(&bridge->input, taken);
	if (bridge->input.size >= LINE_SIZE_MAX && !mcp_transfer_is_due(&bridge->route, true)) {
		if (!bridge->is_skipping)
			say_too_long(bridge);
		bridge->is_skipping = true;
		buf_consume(&bridge->input, bridge->input.size);
	}
}

static void input_came(void *user)
{
	struct bridge *bridge = user;
	ssize_t n;

	if (buf_reserve(&bridge->input, PIECE) < 0) {
		bridge->r = err_set(bridge->err, ERR_INTERNAL, ENOMEM, "no memory for a message");
		return;
	}
	n = read(bridge->in, bridge->input.data + bridge->input.size, PIECE);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		bridge->r = err_sys(bridge->err, "read stdin");
	if (n == 0)
		bridge->is_over = true;
	if (n > 0)
		bridge->input.size += (size_t)n;
	/* The last line may lack its newline. */
	if (n == 0 && bridge->input.size > 0)
		(void)buf_append(&bridge->input, "\n", 1);
}

/* ---- the loop ---- */

/* Does what can be done now. Lines that waited for initialize are taken as soon as it is answered:
 * perhaps no other event would wake us. */
static void step(struct bridge *bridge)
{
	bool was_due = false;

	do {
		client_work(bridge->route.client);
		if (bridge->is_renewing && !mcp_transfer_is_due(&bridge->route, true))
			renew(bridge);
		take_lines(bridge);
		was_due = mcp_transfer_is_due(&bridge->route, true);
		client_work(bridge->route.client);
	} while (was_due && !mcp_transfer_is_due(&bridge->route, true));
}

/* A signal came, or stdout was closed. */
static void give_up(void *user)
{
	struct bridge *bridge = user;

	bridge->failure = -ECANCELED;
}

/* Waits for something to do. */
static void wait_for_more(struct bridge *bridge, int wait_ms)
{
	bool can_read = !bridge->is_over && bridge->input.size < LINE_SIZE_MAX;
	const struct client_watch watches[] = {
		{.fd = bridge->signals, .ready = give_up, .user = bridge},
		{.fd = bridge->out, .is_for_end = true, .ready = give_up, .user = bridge},
		{.fd = can_read ? bridge->in : -1, .ready = input_came, .user = bridge},
	};

	client_wait(bridge->route.client, watches, bridge->is_ending ? 0 : ARRAY_LEN(watches),
		    wait_ms);
}

/* Works until no answer is due, for at most `most_ms`; 0: no limit, since calls have their own. */
static void finish(struct bridge *bridge, uint64_t most_ms)
{
	uint64_t end_ns = now_ns() + most_ms * 1000000;

	step(bridge);
	while (bridge->r == 0 && bridge->failure == 0 && (most_ms == 0 || now_ns() < end_ns) &&
	       (mcp_transfer_is_due(&bridge->route, false) || bridge->input.size > 0)) {
		wait_for_more(bridge,
			      most_ms == 0 ? WAIT_MS : (int)((end_ns - now_ns()) / 1000000) + 1);
		step(bridge);
	}
}

/* Ends the session that the client left open, and the runs in it. */
static void end_session(struct bridge *bridge)
{
	mcp_transfer_end_all(&bridge->route);
	if (bridge->route.session[0] == '\0')
		return;
	mcp_transfer_plain(&bridge->route, "DELETE", "", "");
	bridge->failure = 0;
	bridge->is_over = bridge->is_ending = true;
	buf_consume(&bridge->input, bridge->input.size);
	finish(bridge, END_MS);
}

int mcp_bridge_run(struct client *client, const char *path, int in, int out, struct err *err)
{
	struct bridge bridge = {.in = in, .out = out, .signals = -1, .err = err};
	int r = run_remote_signals(&bridge.signals, err);

	if (r < 0)
		return r;
	bridge.route = (struct mcp_route){
		.client = client,
		.path = path,
		.message = put_message,
		.lost = session_lost,
		.user = &bridge,
	};
	buf_init(&bridge.input, LINE_SIZE_MAX + 2 * PIECE);
	buf_init(&bridge.hello, LINE_SIZE_MAX);
	buf_init(&bridge.again, 4UL * LINE_SIZE_MAX);
	while (bridge.r == 0 && !bridge.is_over && bridge.failure == 0) {
		step(&bridge);
		if (bridge.failure == 0)
			wait_for_more(&bridge, WAIT_MS);
	}
	if (bridge.r == 0)
		finish(&bridge, 0); /* the client has no more to say, and waits for answers */
	end_session(&bridge);
	mcp_transfer_end_all(&bridge.route);
	buf_done(&bridge.input);
	buf_done(&bridge.hello);
	buf_done(&bridge.again);
	drop_fd(&bridge.signals);
	return bridge.r;
}

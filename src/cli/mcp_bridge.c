// SPDX-License-Identifier: Apache-2.0
#include "cli/mcp_bridge.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <sys/signalfd.h>

#include "base/c.h"
#include "base/io.h"
#include "cli/mcp_transfer.h"

#define LINE_SIZE_MAX                                                                              \
	((16U << 20) + 1024) /* what the daemon takes, and a little more to say so                 \
			      */
#define PIECE 65536
#define WAIT_MS 60000
#define END_MS 500 /* for the end of its session */

struct bridge {
	struct mcp_route route;
	int in, out; /* borrowed */
	int signals; /* owned */
	struct buf input;
	struct buf hello; /* the client's initialize, for a daemon that was started again */
	struct buf again; /* lines that a daemon without our session got */
	bool is_renewing;
	bool is_skipping; /* a line that is too long, to its end */
	bool is_over;     /* nothing more comes in */
	bool is_ending;   /* whatever ended it has been seen */
	int failure;      /* of stdout */
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
				   "\"message\":\"a message may have 16 MiB\"}}";

	put_message(bridge, text, sizeof(text) - 1);
}

/* ---- a daemon that was started again knows no session of the 2025 era ---- */

static void session_lost(void *user, const char *line, size_t size)
{
	struct bridge *bridge = user;
	struct mcp_envelope envelope;
	struct err err = {0};

	if (buf_append(&bridge->again, line, size) == 0)
		(void)buf_append(&bridge->again, "\n", 1);
	if (bridge->is_renewing)
		return;
	bridge->is_renewing = true;
	bridge->route.session[0] = bridge->route.version[0] = '\0';
	mcp_envelope_read(buf_string(&bridge->hello), bridge->hello.size, &envelope);
	envelope.is_silent = true;
	(void)mcp_transfer_send(&bridge->route, (const char *)bridge->hello.data,
				bridge->hello.size, &envelope, &err);
}

/* Sends again what was lost. Where there still is no session the daemon says so. */
static int renew(struct bridge *bridge, struct err *err)
{
	static const char initialized[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
	struct mcp_envelope envelope = {.method = "notifications/initialized", .is_again = true};
	char *line = NULL, *rest = NULL;
	int r;

	bridge->is_renewing = false;
	r = mcp_transfer_send(&bridge->route, initialized, sizeof(initialized) - 1, &envelope, err);
	if (r == 0 && bridge->route.session[0] != '\0')
		r = mcp_transfer_plain(&bridge->route, "GET", "", "", err);
	(void)buf_append(&bridge->again, "", 1);
	for (line = strtok_r((char *)bridge->again.data, "\n", &rest); r == 0 && line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		mcp_envelope_read(line, strlen(line), &envelope);
		envelope.is_again = true;
		r = mcp_transfer_send(&bridge->route, line, strlen(line), &envelope, err);
	}
	buf_consume(&bridge->again, bridge->again.size);
	return r;
}

/* ---- in ---- */

static int take_line(struct bridge *bridge, const char *line, size_t size, struct err *err)
{
	struct mcp_envelope envelope;
	int r;

	while (size > 0 && strchr(" \t\r", line[size - 1]) != NULL)
		size--;
	if (size == 0)
		return 0;
	mcp_envelope_read(line, size, &envelope);
	/* In the 2026 era a client gives up by closing the answer's stream. */
	if (strcmp(envelope.method, "notifications/cancelled") == 0 &&
	    mcp_transfer_drop(&bridge->route, envelope.cancels))
		return 0;
	if (envelope.version[0] == '\0' && strcmp(envelope.method, "initialize") == 0) {
		buf_consume(&bridge->hello, bridge->hello.size);
		(void)buf_append(&bridge->hello, line, size);
	}
	r = mcp_transfer_send(&bridge->route, line, size, &envelope, err);
	if (r == 0 && strcmp(envelope.method, "notifications/initialized") == 0 &&
	    bridge->route.session[0] != '\0')
		r = mcp_transfer_plain(&bridge->route, "GET", "", "", err);
	return r;
}

/* Whole lines, but none behind an initialize that is not answered: what it gives must be known. */
static int take_lines(struct bridge *bridge, struct err *err)
{
	size_t taken = 0;
	int r = 0;

	while (r == 0 && !mcp_transfer_is_due(&bridge->route, true)) {
		const char *line = (const char *)bridge->input.data + taken;
		size_t left = bridge->input.size - taken;
		const char *end = left > 0 ? memchr(line, '\n', left) : NULL;

		if (end == NULL)
			break;
		taken += (size_t)(end - line) + 1;
		if (bridge->is_skipping)
			bridge->is_skipping = false;
		else
			r = take_line(bridge, line, (size_t)(end - line), err);
	}
	buf_consume(&bridge->input, taken);
	if (bridge->input.size >= LINE_SIZE_MAX && !mcp_transfer_is_due(&bridge->route, true)) {
		if (!bridge->is_skipping)
			say_too_long(bridge);
		bridge->is_skipping = true;
		buf_consume(&bridge->input, bridge->input.size);
	}
	return r;
}

static int read_input(struct bridge *bridge, struct err *err)
{
	ssize_t n;

	if (buf_reserve(&bridge->input, PIECE) < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for a message");
	n = read(bridge->in, bridge->input.data + bridge->input.size, PIECE);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return err_sys(err, "read stdin");
	if (n == 0)
		bridge->is_over = true;
	if (n > 0)
		bridge->input.size += (size_t)n;
	/* The last line may lack its end. */
	if (n == 0 && bridge->input.size > 0)
		(void)buf_append(&bridge->input, "\n", 1);
	return 0;
}

/* ---- the loop ---- */

/* Does what can be done now. */
static int step(struct bridge *bridge, struct err *err)
{
	const struct curl *curl = &bridge->route.curl;
	int running = 0;
	int r = 0;

	(void)curl->multi_perform(bridge->route.multi, &running);
	mcp_transfer_reap(&bridge->route);
	if (bridge->is_renewing && !mcp_transfer_is_due(&bridge->route, true))
		r = renew(bridge, err);
	if (r == 0)
		r = take_lines(bridge, err);
	(void)curl->multi_perform(bridge->route.multi, &running);
	mcp_transfer_reap(&bridge->route);
	return r;
}

/* Is nobody left who could read an answer? libcurl wakes for that, and does not tell. */
static bool is_unread(const struct bridge *bridge)
{
	struct pollfd out = {.fd = bridge->out};

	return poll(&out, 1, 0) == 1;
}

/* Waits for something to do. */
static int wait_for_more(struct bridge *bridge, int wait_ms, struct err *err)
{
	struct curl_waitfd fds[] = {{.fd = bridge->signals, .events = CURL_WAIT_POLLIN},
				    {.fd = bridge->out},
				    {.fd = bridge->in, .events = CURL_WAIT_POLLIN}};
	bool can_read = !bridge->is_over && bridge->input.size < LINE_SIZE_MAX;
	unsigned count = bridge->is_ending ? 0 : can_read ? 3 : 2;

	(void)bridge->route.curl.multi_poll(bridge->route.multi, fds, count, wait_ms, NULL);
	if (!bridge->is_ending && ((fds[0].revents & CURL_WAIT_POLLIN) != 0 || is_unread(bridge)))
		bridge->failure = -ECANCELED;
	return can_read && fds[2].revents != 0 ? read_input(bridge, err) : 0;
}

/* Goes on until nothing is due, at most this long; 0: calls end by their own limits. */
static void finish(struct bridge *bridge, uint64_t most_ms)
{
	uint64_t end_ns = now_ns() + most_ms * 1000000;
	struct err err = {0};
	int r = step(bridge, &err);

	while (r == 0 && bridge->failure == 0 && (most_ms == 0 || now_ns() < end_ns) &&
	       (mcp_transfer_is_due(&bridge->route, false) || bridge->input.size > 0)) {
		int wait_ms = most_ms == 0 ? WAIT_MS : (int)((end_ns - now_ns()) / 1000000) + 1;

		r = wait_for_more(bridge, wait_ms, &err);
		if (r == 0)
			r = step(bridge, &err);
	}
}

/* What the client did not take back: its session, and with it what runs there. */
static void end_session(struct bridge *bridge)
{
	struct err err = {0};

	mcp_transfer_end_all(&bridge->route);
	if (bridge->route.session[0] == '\0' ||
	    mcp_transfer_plain(&bridge->route, "DELETE", "", "", &err) < 0)
		return;
	bridge->failure = 0;
	bridge->is_over = bridge->is_ending = true;
	buf_consume(&bridge->input, bridge->input.size);
	finish(bridge, END_MS);
}

static int watch_signals(struct bridge *bridge, struct err *err)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
	sigset_t set;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		(void)sigaddset(&set, numbers[i]);
	bridge->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (bridge->signals < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, "signals");
	return 0;
}

int mcp_bridge_run(const struct client_way *way, const char *path, int in, int out, struct err *err)
{
	struct bridge bridge = {.in = in, .out = out, .signals = -1};
	int r;

	bridge.route = (struct mcp_route){
		.way = way,
		.path = path,
		.message = put_message,
		.lost = session_lost,
		.user = &bridge,
	};
	buf_init(&bridge.input, LINE_SIZE_MAX + 2 * PIECE);
	buf_init(&bridge.hello, LINE_SIZE_MAX);
	buf_init(&bridge.again, 4UL * LINE_SIZE_MAX);
	r = curl_load(&bridge.route.curl, err);
	if (r == 0)
		r = watch_signals(&bridge, err);
	if (r < 0)
		return r;
	bridge.route.multi = bridge.route.curl.multi_init();
	if (bridge.route.multi == NULL)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for requests");
	while (r == 0 && !bridge.is_over && bridge.failure == 0) {
		r = step(&bridge, err);
		if (r == 0 && bridge.failure == 0)
			r = wait_for_more(&bridge, WAIT_MS, err);
	}
	if (r == 0)
		finish(&bridge, 0); /* the client has no more to say, and waits for answers */
	end_session(&bridge);
	mcp_transfer_end_all(&bridge.route);
	(void)bridge.route.curl.multi_cleanup(bridge.route.multi);
	buf_done(&bridge.input);
	buf_done(&bridge.hello);
	buf_done(&bridge.again);
	drop_fd(&bridge.signals);
	return r;
}

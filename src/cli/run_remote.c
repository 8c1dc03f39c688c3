// SPDX-License-Identifier: Apache-2.0
#include "cli/run_remote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "base/c.h"

#define INPUT_SIZE 4096U /* a page: it fits the smallest pipe and one atomic write */
/* Pause before input is sent again because the code has not read the last; doubles each time. */
#define RETRY_MIN_NS 1000000L
#define RETRY_MAX_NS 64000000L
#define PATH_SIZE 160
#define RESUME_NS (30ULL * 1000000000) /* how long to wait for the daemon to come back */
#define RESUME_PAUSE_MS 100

enum {
	WATCH_SIGNALS,
	WATCH_INPUT,
	WATCH_RETRY,
	WATCH_COUNT,
};

struct viewer {
	const struct run_remote *remote;
	struct client_watch watches[WATCH_COUNT];
	int retry;   /* owned: a timerfd */
	int signals; /* how many came */
	int signal;  /* the first */
	bool is_cancelled;
	char run[ID_SIZE]; /* from the head of the answer, which comes before the run begins */

	unsigned char input[INPUT_SIZE];
	size_t input_size;
	long retry_ns;
	bool is_input_over;
	bool is_sending;
};

/* ---- Ctrl-C ---- */

static void run_path(const struct viewer *viewer, const char *rest, char *path)
{
	(void)snprintf(path, PATH_SIZE, "/v1/runs/%s%s", viewer->remote->lines->run, rest);
}

static void cancel(struct viewer *viewer)
{
	struct client *client = viewer->remote->client;
	char path[PATH_SIZE];

	if (viewer->is_cancelled)
		return;
	viewer->is_cancelled = true;
	run_path(viewer, "", path);
	client_aside(client, "DELETE", path, NULL, NULL, NULL);
}

static void interrupt(struct viewer *viewer)
{
	const struct run_remote *remote = viewer->remote;
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "/v1/sessions/%s/interrupt", remote->session);
	client_aside(remote->client, "POST", path, json_pack("{s:s}", "run", remote->lines->run),
		     NULL, NULL);
}

/* The first SIGINT interrupts a session's run. Any other signal cancels the run. A third signal, or
 * one that comes before the run's id, stops waiting. */
static void signal_came(void *user)
{
	struct viewer *viewer = user;
	const struct run_remote *remote = viewer->remote;
	struct signalfd_siginfo info;

	if (read(remote->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	viewer->signals++;
	if (viewer->signal == 0)
		viewer->signal = (int)info.ssi_signo;
	if (remote->lines->run[0] == '\0' || viewer->signals > 2)
		client_stop(remote->client);
	else if (remote->session != NULL && info.ssi_signo == SIGINT && viewer->signals == 1)
		interrupt(viewer);
	else
		cancel(viewer);
}

/* ---- live stdin ---- */

static void watch_input(struct viewer *viewer)
{
	const struct run_lines *lines = viewer->remote->lines;
	bool is_wanted = lines->run[0] != '\0' && !lines->is_held && !viewer->is_sending &&
			 !viewer->is_input_over;

	viewer->watches[WATCH_INPUT].fd = is_wanted ? viewer->remote->input : -1;
}

static void input_sent(void *user, const struct err *why);

static void send_input(struct viewer *viewer)
{
	AUTO_BUF struct buf text = {.max = 2 * INPUT_SIZE};
	json_t *body = NULL;
	char path[PATH_SIZE];

	if (viewer->input_size > 0) {
		(void)buf_base64(&text, viewer->input, viewer->input_size);
		body = json_pack("{s:s}", "base64", buf_string(&text));
	} else {
		body = json_pack("{s:b}", "eof", 1);
	}
	viewer->is_sending = true;
	watch_input(viewer);
	run_path(viewer, "/stdin", path);
	client_aside(viewer->remote->client, "POST", path, body, input_sent, viewer);
}

static void input_sent(void *user, const struct err *why)
{
	struct viewer *viewer = user;

	if (why != NULL && err_is_busy(why)) {
		const struct itimerspec soon = {.it_value = {.tv_nsec = viewer->retry_ns}};

		(void)timerfd_settime(viewer->retry, 0, &soon, NULL);
		if (viewer->retry_ns < RETRY_MAX_NS)
			viewer->retry_ns *= 2;
		return;
	}
	/* After an error the run takes no more stdin, so nothing else is sent. */
	viewer->is_input_over |= why != NULL || viewer->input_size == 0;
	viewer->is_sending = false;
	watch_input(viewer);
}

static void retry_due(void *user)
{
	struct viewer *viewer = user;
	uint64_t count;

	if (read(viewer->retry, &count, sizeof(count)) == (ssize_t)sizeof(count))
		send_input(viewer);
}

static void input_came(void *user)
{
	struct viewer *viewer = user;
	ssize_t n = read(viewer->remote->input, viewer->input, sizeof(viewer->input));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	viewer->input_size = n > 0 ? (size_t)n : 0;
	viewer->retry_ns = RETRY_MIN_NS;
	send_input(viewer);
}

/* ---- the run ---- */

static void header_came(void *user, const char *line, size_t size)
{
	struct viewer *viewer = user;
	const char *value = NULL;
	size_t n = 0;

	if (client_header_is(line, size, "Vivarium-Run:", &value, &n) && n < sizeof(viewer->run)) {
		memcpy(viewer->run, value, n);
		viewer->run[n] = '\0';
	}
}

static int line_came(void *user, const char *line, size_t size)
{
	struct viewer *viewer = user;
	int r = run_lines_take(viewer->remote->lines, line, size);

	if (viewer->remote->input >= 0)
		watch_input(viewer);
	if (viewer->remote->lines->show->is_closed && viewer->remote->lines->run[0] != '\0')
		cancel(viewer); /* nobody reads its output */
	return r;
}

/* ---- a daemon that went away, and comes back ---- */

static int follow(struct viewer *viewer, struct err *err)
{
	char path[PATH_SIZE];
	const struct client_call call = {
		.method = "GET",
		.path = path,
		.line = line_came,
		.user = viewer,
		.watches = viewer->watches,
		.watch_count = WATCH_COUNT,
	};

	(void)snprintf(path, sizeof(path), "/v1/runs/%s/events?follow=true&after=%llu",
		       viewer->remote->lines->run, (unsigned long long)viewer->remote->lines->seq);
	return client_call(viewer->remote->client, &call, NULL, err);
}

/* True if the stream ended before the run did, or the daemon is not back yet. */
static bool is_broken_off(const struct viewer *viewer, int r, const struct err *err)
{
	const struct run_lines *lines = viewer->remote->lines;

	return lines->run[0] != '\0' && !lines->has_verdict && viewer->signals == 0 &&
	       (r == 0 || err->num == ECONNRESET || err->num == ECONNREFUSED ||
		err->kind == ERR_BUSY);
}

/* Events have numbers, so the next daemon continues after the last one received. A run that waited
 * for its turn has no event that tells its id; the next daemon ends it with a verdict. */
static int go_on(struct viewer *viewer, int r, struct err *err)
{
	struct run_lines *lines = viewer->remote->lines;
	uint64_t end = now_ns() + RESUME_NS;

	if (lines->run[0] == '\0')
		memcpy(lines->run, viewer->run, sizeof(lines->run));
	if (is_broken_off(viewer, r, err))
		show_note(lines->show, "the daemon went away; waiting for it to come back");
	while (is_broken_off(viewer, r, err) && now_ns() < end) {
		struct pollfd signals = {.fd = viewer->remote->signals, .events = POLLIN};
		uint64_t seq = lines->seq;

		(void)poll(&signals, 1, RESUME_PAUSE_MS);
		if (signals.revents & POLLIN)
			signal_came(viewer);
		*err = (struct err){0};
		r = follow(viewer, err);
		if (lines->seq > seq)
			end = now_ns() + RESUME_NS;
	}
	if (r < 0 && is_broken_off(viewer, r, err))
		return err_wrap(err, "the run may go on; follow it with `viv logs -f %s`",
				lines->run);
	return r;
}

static void set_watches(struct viewer *viewer)
{
	const struct client_watch watches[] = {
		[WATCH_SIGNALS] = {viewer->remote->signals, signal_came, viewer},
		[WATCH_INPUT] = {-1, input_came, viewer},
		[WATCH_RETRY] = {viewer->retry, retry_due, viewer},
	};

	memcpy(viewer->watches, watches, sizeof(watches));
}

int run_remote(const struct run_remote *remote, int *ret_signal, struct err *err)
{
	struct viewer viewer = {.remote = remote, .retry = -1};
	struct client_call call = {
		.method = "POST",
		.path = remote->path,
		.upload = remote->body,
		.upload_type = "application/json",
		.line = line_came,
		.header = header_came,
		.user = &viewer,
		.watches = viewer.watches,
		.watch_count = WATCH_COUNT,
	};
	int r;

	viewer.retry = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (viewer.retry < 0)
		return err_sys(err, "timerfd");
	set_watches(&viewer);
	r = go_on(&viewer, client_call(remote->client, &call, NULL, err), err);
	drop_fd(&viewer.retry);
	*ret_signal = viewer.signal;
	if (r == 0 && !remote->lines->has_verdict)
		r = err_set(err, ERR_INTERNAL, EPROTO, "%s ended the events without a verdict",
			    client_address(remote->client));
	return r;
}

int run_remote_signals(int *ret_fd, struct err *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, "block signals");
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd < 0 ? err_sys(err, "signalfd") : 0;
}

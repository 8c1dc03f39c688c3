// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/remote_state.h"
#include "base/c.h"
#include "base/json.h"

#define NDJSON "application/x-ndjson"
#define EXPLORE_MAX (4UL << 20)
#define EXPLORE_PATIENCE_MS 5000U /* for a sidecar's explore, beyond its own timeout */

static const char no_end[] = "Python execution was interrupted (no completion signal received)";

/* ---- the end ---- */

static void job_free(struct backend_job *job)
{
	LIST_REMOVE(job, entry);
	transfer_cancel(job->transfer);
	buf_done(&job->wire.rest);
	buf_done(&job->wire.end);
	buf_done(&job->explore);
	drop_fd(&job->members);
	free(job);
}

static void cancel(struct backend_job *job)
{
	job_free(job);
}

static void fail(struct backend_job *job, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void fail(struct backend_job *job, const char *format, ...)
{
	const struct backend_job_calls *calls = job->wire.calls;
	void *user = job->wire.user;
	char text[sizeof(((struct err *)0)->text)];
	struct err why = {0};
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)err_set(&why, ERR_INTERNAL, EREMOTEIO, "%s", text);
	if (job->is_starting) {
		job->start_why = why;
		return;
	}
	job_free(job);
	calls->ended(user, NULL, 0, &why);
}

static void succeed(struct backend_job *job)
{
	const struct backend_job_calls *calls = job->wire.calls;
	void *user = job->wire.user;
	struct buf end = job->wire.end;

	job->wire.end = (struct buf){0};
	job_free(job);
	calls->ended(user, (const char *)end.data, end.size, NULL);
	buf_done(&end);
}

/* The start of an answer, for a message: one line, no control characters. */
static const char *excerpt(const struct transfer_end *end, char *text, size_t size)
{
	size_t n = end->body_size < size - 1 ? end->body_size : size - 1;

	for (size_t i = 0; i < n; i++) {
		char byte = end->body[i];

		text[i] = ' ';
		if (byte > ' ' && byte <= '~')
			text[i] = byte;
	}
	text[n] = '\0';
	return text;
}

/* ---- requests ---- */

static void post(struct backend_job *job, struct transfer_ask *ask,
		 const struct transfer_calls *calls, const char *whom)
{
	struct err err = {0};

	ask->method = "POST";
	if (transfer_start(job->remote->transfers, ask, calls, job, &job->transfer, &err) < 0)
		fail(job, "%s: %s", whom, err.text);
}

/* An unreachable remote counts as down for all jobs, until its /health says otherwise. */
static void note_silent(struct backend_job *job, const struct transfer_end *end)
{
	struct err why = {0};

	if (!end->is_unreachable)
		return;
	(void)remote_silent(end, &why);
	remote_found(job->remote, &why);
}

static uint32_t patience(const struct backend_job *job)
{
	return job->timeout_ms + (uint32_t)job->remote->config->remote_timeout_ms;
}

static int stream_bytes(void *user, const char *bytes, size_t size)
{
	struct backend_job *job = user;

	return remote_wire_bytes(&job->wire, job->kind, bytes, size);
}

/* ---- Python on a sidecar ---- */

static void whole_came(void *user, const struct transfer_end *end)
{
	struct backend_job *job = user;
	char text[REMOTE_TEXT_MAX / 2 + 1];
	bool is_good = end->status >= 200 && end->status < 300;

	job->transfer = NULL;
	if (end->status == 0 || end->why.kind != ERR_NONE) {
		note_silent(job, end);
		fail(job, "Python sidecar unreachable at %.100s: %.200s",
		     transfers_origin(job->remote->transfers), end->why.text);
		return;
	}
	if (!json_is_valid(end->body, end->body_size) && is_good) {
		fail(job, "Failed to parse sidecar response: it is not JSON");
		return;
	}
	/* A sidecar that failed itself reports that in the same shape. */
	if (!is_good &&
	    (end->status != 500 || !remote_wire_has_bool(end->body, end->body_size, "success"))) {
		fail(job, "Python sidecar error (HTTP %u): %s", end->status,
		     excerpt(end, text, sizeof(text)));
		return;
	}
	if (remote_wire_python(&job->wire, end->body, end->body_size) < 0)
		fail(job, "Sidecar returned an unexpected response format.");
	else
		succeed(job);
}

static void ask_sidecar(struct backend_job *job);

static void stream_ended(void *user, const struct transfer_end *end)
{
	struct backend_job *job = user;
	bool is_good = end->status >= 200 && end->status < 300;

	job->transfer = NULL;
	if (job->wire.end.size > 0) {
		succeed(job);
	} else if (end->is_unreachable || (end->status != 0 && !is_good)) {
		job->is_again = true;
		ask_sidecar(job);
	} else if (job->wire.rest.size >= REMOTE_LINE_MAX) {
		fail(job, "Streaming Python execution failed: it sent a line of more than %lu MiB",
		     REMOTE_LINE_MAX >> 20);
	} else if (end->why.kind != ERR_NONE &&
		   (end->status == 0 || end->is_late || end->why.num == EPROTO)) {
		fail(job, "Streaming Python execution failed: %.300s", end->why.text);
	} else {
		fail(job, "%s", no_end);
	}
}

static void ask_sidecar(struct backend_job *job)
{
	static const struct transfer_calls stream = {.bytes = stream_bytes, .done = stream_ended};
	static const struct transfer_calls whole = {.done = whole_came};
	char head[64];
	struct transfer_ask ask = {
		.path = job->is_again ? "/exec-python" : "/exec-python-stream",
		.accept = job->is_again ? "application/json" : NDJSON,
		.head = head,
		.tail = "}",
		.fd = job->members,
		.size = job->core_size,
		.timeout_ms = patience(job),
		.answer_max = job->is_again ? REMOTE_WHOLE_MAX : REMOTE_ANSWER_MAX,
	};

	(void)snprintf(head, sizeof(head), "{\"timeout\":%u,", job->timeout_ms);
	if (job->use != BACKEND_PYTHON)
		fail(job, "a sidecar runs Python and explore, not commands in a sandbox");
	else if (job->beyond[0] != '\0')
		fail(job, "a sidecar takes code and data, not %s", job->beyond);
	else
		post(job, &ask, job->is_again ? &whole : &stream,
		     "Streaming Python execution failed");
}

/* ---- a run on another Vivarium ---- */

/* Reports the remote's own reason for its refusal. */
static void fail_refused(struct backend_job *job, const struct transfer_end *end)
{
	char text[REMOTE_TEXT_MAX / 2 + 1];
	struct span message = {0};

	if (json_is_valid(end->body, end->body_size))
		message = span_member(
			span_member((struct span){end->body, end->body_size}, "error"), "message");
	if (message.size > 2) {
		const struct transfer_end inner = {.body = message.at + 1,
						   .body_size = message.size - 2};

		fail(job, "the remote refused (HTTP %u): %s", end->status,
		     excerpt(&inner, text, sizeof(text)));
		return;
	}
	fail(job, "the remote refused (HTTP %u): %s", end->status,
	     excerpt(end, text, sizeof(text)));
}

static void events_ended(void *user, const struct transfer_end *end)
{
	struct backend_job *job = user;
	bool is_good = end->status >= 200 && end->status < 300;

	job->transfer = NULL;
	if (job->wire.end.size > 0) {
		succeed(job);
	} else if (end->is_unreachable) {
		note_silent(job, end);
		fail(job, "the remote at %.100s cannot be reached: %.200s",
		     transfers_origin(job->remote->transfers), end->why.text);
	} else if (end->status != 0 && !is_good) {
		fail_refused(job, end);
	} else if (job->wire.rest.size >= REMOTE_LINE_MAX) {
		fail(job, "the remote sent a line of more than %lu MiB", REMOTE_LINE_MAX >> 20);
	} else if (end->why.kind != ERR_NONE) {
		fail(job, "the remote broke off before the run's end: %.300s", end->why.text);
	} else {
		fail(job, "the remote ended its answer before the run's end");
	}
}

static void ask_vivarium(struct backend_job *job)
{
	static const struct transfer_calls calls = {.bytes = stream_bytes, .done = events_ended};
	const char *policy = job->remote->config->remote_policy;
	char head[200];
	struct transfer_ask ask = {
		.path = "/v1/run?on_disconnect=cancel",
		.accept = NDJSON,
		.head = head,
		.tail = "}",
		.fd = job->members,
		.size = job->members_size,
		.timeout_ms = patience(job),
		.answer_max = REMOTE_ANSWER_MAX,
	};

	/* Policy names contain no character that JSON would escape. */
	(void)snprintf(head, sizeof(head), "{%s%s%s\"timeout_ms\":%u,",
		       policy[0] != '\0' ? "\"policy\":\"" : "", policy,
		       policy[0] != '\0' ? "\"," : "", job->timeout_ms);
	post(job, &ask, &calls, "the remote");
}

/* ---- explore ---- */

static void explore_came(void *user, const struct transfer_end *end)
{
	struct backend_job *job = user;
	char text[REMOTE_TEXT_MAX / 2 + 1];
	bool is_good = end->status >= 200 && end->status < 300;
	bool is_sidecar = job->remote->kind == CONFIG_REMOTE_SIDECAR;

	job->transfer = NULL;
	if (end->is_late) {
		fail(job, "Command timed out after %ums", job->timeout_ms);
	} else if (end->status == 0 || end->why.kind != ERR_NONE) {
		note_silent(job, end);
		fail(job, "Sidecar unreachable at %.100s: %.200s",
		     transfers_origin(job->remote->transfers), end->why.text);
	} else if (!is_good && !is_sidecar) {
		fail_refused(job, end);
	} else if ((is_good || end->status == 500) &&
		   remote_wire_explore(&job->wire, job->remote->kind, end->body, end->body_size) ==
			   0) {
		succeed(job);
	} else if (is_good) {
		fail(job, "Sidecar returned an unexpected response format.");
	} else {
		fail(job, "Sidecar error (HTTP %u): %s", end->status,
		     excerpt(end, text, sizeof(text)));
	}
}

static void ask_explore(struct backend_job *job)
{
	static const struct transfer_calls calls = {.done = explore_came};
	bool is_sidecar = job->remote->kind == CONFIG_REMOTE_SIDECAR;
	AUTO_BUF struct buf head = {.max = job->explore.size + KIB};
	struct transfer_ask ask = {
		.path = is_sidecar ? "/exec" : "/v1/explore",
		.accept = "application/json",
		.fd = -1,
		.timeout_ms = job->timeout_ms + EXPLORE_PATIENCE_MS,
		.answer_max = REMOTE_WHOLE_MAX,
	};

	if (is_sidecar && job->beyond[0] != '\0') {
		fail(job, "a sidecar has one folder, not %s", job->beyond);
	} else if (buf_format(&head, "{\"%s\":%u", is_sidecar ? "timeout" : "timeout_ms",
			      job->timeout_ms) == 0 &&
		   buf_append(&head, job->explore.data, job->explore.size) == 0 &&
		   buf_text(&head, "}") == 0) {
		ask.head = buf_string(&head);
		post(job, &ask, &calls, "the remote");
	} else {
		fail(job, "no memory for a request");
	}
}

/* ---- the beginning ---- */

void remote_job_go(struct backend_job *job, const struct err *why)
{
	/* A Vivarium also serves a sidecar's clients, where its config says so. */
	job->kind = job->is_sidecar ? CONFIG_REMOTE_SIDECAR : job->remote->kind;
	if (job->remote->kind == CONFIG_REMOTE_AUTO)
		fail(job, "the remote at %.100s: %.300s", transfers_origin(job->remote->transfers),
		     why->text);
	else if (job->use == BACKEND_EXPLORE_AWAY)
		ask_explore(job);
	else if (job->kind == CONFIG_REMOTE_SIDECAR)
		ask_sidecar(job);
	else
		ask_vivarium(job);
}

/* Only a Vivarium accepts a root other than the default: job->beyond says so. */
static int put_explore(struct buf *buf, const struct backend_ask *ask)
{
	json_put(buf, ",'command':%s", ask->command);
	if (ask->cwd[0] != '\0')
		json_put(buf, ",'cwd':%s", ask->cwd);
	if (ask->root != NULL)
		json_put(buf, ",'root':%s", ask->root);
	return buf->failed;
}

static int copy_ask(struct backend_job *job, const struct backend_ask *ask, struct err *err)
{
	job->use = ask->use;
	job->is_sidecar = ask->is_sidecar && ask->use == BACKEND_PYTHON;
	job->timeout_ms = ask->timeout_ms;
	job->core_size = ask->core_size;
	job->members_size = ask->members_size;
	(void)snprintf(job->beyond, sizeof(job->beyond), "%s",
		       ask->beyond != NULL ? ask->beyond : "");
	buf_init(&job->explore, EXPLORE_MAX);
	buf_init(&job->wire.rest, REMOTE_LINE_MAX);
	buf_init(&job->wire.end, REMOTE_LINE_MAX);
	if (ask->command != NULL && put_explore(&job->explore, ask) < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for a request");
	if (ask->members < 0)
		return 0;
	job->members = fcntl(ask->members, F_DUPFD_CLOEXEC, 0);
	return job->members < 0 ? err_sys(err, "keep a request") : 0;
}

static int start(const struct backend_host *host, uv_loop_t *loop, const struct backend_ask *ask,
		 const struct backend_job_calls *calls, void *user, struct backend_job **ret_job,
		 struct err *err)
{
	struct backend_job *job = xnew(struct backend_job);
	int r;

	(void)loop;
	job->remote = host->remote;
	job->members = -1;
	job->wire.calls = calls;
	job->wire.user = user;
	LIST_INSERT_HEAD(&host->remote->jobs, job, entry);
	r = copy_ask(job, ask, err);
	if (r < 0) {
		job_free(job);
		return r;
	}
	if (host->remote->kind == CONFIG_REMOTE_AUTO) {
		job->is_waiting = true;
		remote_look(host->remote);
	} else {
		job->is_starting = true;
		remote_job_go(job, &job->start_why);
		job->is_starting = false;
	}
	if (job->start_why.kind != ERR_NONE) {
		*err = job->start_why;
		job_free(job);
		return -err->num;
	}
	*ret_job = job;
	return 0;
}

static uint32_t patience_ms(const struct backend_host *host)
{
	return (uint32_t)host->config->remote_timeout_ms;
}

static int probe(const struct backend_host *host, struct err *err)
{
	if (host->config == NULL || host->config->remote_url[0] == '\0')
		return err_set(err, ERR_UNSUPPORTED, ENOTCONN, "no address is configured");
	if (host->remote == NULL)
		return err_set(err, ERR_UNSUPPORTED, ENOTCONN,
			       "there is no HTTP client: libcurl.so.4 is missing");
	return remote_why(host->remote, err);
}

static const struct backend_jobs jobs = {
	.is_claimed = true,
	.start = start,
	.cancel = cancel,
	.patience_ms = patience_ms,
};

#define USES (1U << BACKEND_PYTHON | 1U << BACKEND_COMMAND | 1U << BACKEND_EXPLORE_AWAY)

const struct backend backend_remote = {
	.name = "remote",
	.priority = 50,
	.isolation = "another machine's, if its word can be trusted",
	.uses = USES,
	.by_order = USES, /* whoever sets an address has asked for it */
	.not_for = "it takes single runs and looks at its own folders; sessions, and folders of "
		   "this host, "
		   "are not for it",
	.remedy = "set backends.remote.url (and token) to another Vivarium or a "
		  "sidecar that runs",
	.probe = probe,
	.jobs = &jobs,
};

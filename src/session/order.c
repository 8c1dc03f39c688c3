// SPDX-License-Identifier: Apache-2.0
#include "session/order.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/sendfile.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "session/run_state.h"

#define SMALL_MAX (16UL << 20) /* what is put together in memory: code, names, settings */
#define PIECE (48U << 10)      /* of a file: a multiple of three */

/* An order in the making. */
struct maker {
	struct order order;
	struct buf text; /* not written yet */
	bool is_first;
	int r; /* the first failure; later steps do nothing */
	struct err *err;
};

/* ---- pieces ---- */

static void flush(struct maker *maker)
{
	if (maker->r == 0)
		maker->r = io_write_all(maker->order.members, maker->text.data, maker->text.size,
					maker->err);
	maker->order.members_size += maker->text.size;
	buf_cut(&maker->text, 0);
}

static void put(struct maker *maker, const char *text)
{
	if (maker->r == 0 && buf_text(&maker->text, text) < 0)
		maker->r = err_set(maker->err, ERR_TOO_LARGE, EMSGSIZE,
				   "the names and settings of the request take more than %lu MiB",
				   SMALL_MAX >> 20);
}

static void put_string(struct maker *maker, const void *bytes, size_t size)
{
	if (maker->r == 0 && json_put_string(&maker->text, bytes, size) < 0)
		maker->r = err_set(maker->err, ERR_TOO_LARGE, EMSGSIZE,
				   "code, stdin and names of the request take more than %lu MiB",
				   SMALL_MAX >> 20);
}

static void put_name(struct maker *maker, const char *name)
{
	put(maker, maker->is_first ? "\"" : ",\"");
	put(maker, name);
	put(maker, "\":");
	maker->is_first = false;
}

/* A name that no sidecar knows. */
static void put_beyond(struct maker *maker, const char *name)
{
	put_name(maker, name);
	if (maker->order.beyond == NULL)
		maker->order.beyond = name;
}

/* JSON text as it is. Our own doors have checked what comes by HTTP; a file of the command line
 * nobody has. */
static void put_json(struct maker *maker, const char *name, const struct run_bytes *bytes,
		     bool is_checked)
{
	uint64_t end = bytes->at + bytes->size;
	off_t at = (off_t)bytes->at;

	if (!is_checked && (bytes->data == NULL || !json_is_valid(bytes->data, bytes->size))) {
		maker->r = maker->r < 0 ? maker->r
					: err_set(maker->err, ERR_UNSUPPORTED, EOPNOTSUPP,
						  "backend: %s that is no JSON in memory can only "
						  "be read on this host",
						  name);
		return;
	}
	flush(maker);
	if (maker->r == 0 && bytes->data != NULL)
		maker->r = io_write_all(maker->order.members, bytes->data, bytes->size, maker->err);
	while (maker->r == 0 && bytes->data == NULL && (uint64_t)at < end) {
		ssize_t n = sendfile(maker->order.members, bytes->fd, &at, end - (uint64_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			maker->r = n < 0 ? err_sys(maker->err, "copy %s", name)
					 : err_set(maker->err, ERR_BAD_REQUEST, EIO,
						   "%s became shorter while it was read", name);
	}
	maker->order.members_size += bytes->size;
}

/* ---- members ---- */

static void put_texts(struct maker *maker, const char *name, const char *const *texts)
{
	if (texts == NULL || texts[0] == NULL)
		return;
	put_beyond(maker, name);
	for (size_t i = 0; texts[i] != NULL; i++) {
		put(maker, i == 0 ? "[" : ",");
		put_string(maker, texts[i], strlen(texts[i]));
	}
	put(maker, "]");
}

static void put_env(struct maker *maker, const char *const *env)
{
	if (env == NULL || env[0] == NULL)
		return;
	put_beyond(maker, "env");
	for (size_t i = 0; env[i] != NULL; i++) {
		const char *equals = strchr(env[i], '=');
		size_t size = equals != NULL ? (size_t)(equals - env[i]) : strlen(env[i]);

		put(maker, i == 0 ? "{" : ",");
		put_string(maker, env[i], size);
		put(maker, ":");
		put_string(maker, equals != NULL ? equals + 1 : "",
			   equals != NULL ? strlen(equals + 1) : 0);
	}
	put(maker, "}");
}

static void put_bytes_base64(struct maker *maker, const struct run_bytes *bytes)
{
	uint8_t piece[PIECE];

	for (uint64_t at = 0; maker->r == 0 && at < bytes->size; at += sizeof(piece)) {
		uint64_t left = bytes->size - at;
		size_t size = left < sizeof(piece) ? (size_t)left : sizeof(piece);

		if (bytes->data != NULL)
			memcpy(piece, (const uint8_t *)bytes->data + at, size);
		else if (pread(bytes->fd, piece, size, (off_t)(bytes->at + at)) != (ssize_t)size)
			maker->r = err_set(maker->err, ERR_BAD_REQUEST, EIO,
					   "a file became shorter while it was read");
		if (maker->r == 0)
			maker->r = run_put_base64(&maker->text, piece, size);
		flush(maker);
	}
}

static void put_files(struct maker *maker, const struct run_request *request)
{
	if (request->files_json.size > 0) {
		put_beyond(maker, "files");
		put_json(maker, "files", &request->files_json, request->log != NULL);
		return;
	}
	if (request->file_count == 0)
		return;
	put_beyond(maker, "files");
	for (size_t i = 0; i < request->file_count; i++) {
		put(maker, i == 0 ? "[{\"path\":" : ",{\"path\":");
		put_string(maker, request->files[i].path, strlen(request->files[i].path));
		put(maker, ",\"base64\":\"");
		put_bytes_base64(maker, &request->files[i].bytes);
		put(maker, "\"}");
	}
	put(maker, "]");
}

/* Elsewhere there is one text: what a door puts around the code stands on lines of its own. */
static void put_code(struct maker *maker, const struct run_request *request)
{
	const struct run_bytes *parts[] = {&request->lead, &request->code, &request->tail};
	struct buf text;
	int r = 0;

	if (request->lead.size == 0 && request->tail.size == 0) {
		put_string(maker, request->code.data, request->code.size);
		return;
	}
	buf_init(&text, SMALL_MAX);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (r == 0 && parts[i]->size > 0)
			r = buf_append(&text, parts[i]->data, parts[i]->size);
		if (r == 0 && parts[i]->size > 0)
			r = buf_text(&text, "\n");
	}
	if (r == 0)
		put_string(maker, text.data, text.size);
	else if (maker->r == 0)
		maker->r = err_set(maker->err, ERR_TOO_LARGE, EMSGSIZE,
				   "code: it takes more than %lu MiB", SMALL_MAX >> 20);
	buf_done(&text);
}

static void put_core(struct maker *maker, const struct run_request *request)
{
	put_name(maker, request->is_command ? "command" : "code");
	put_code(maker, request);
	if (request->data_format == RUN_DATA_JSON) {
		put_name(maker, "data");
		put_json(maker, "data", &request->data, request->log != NULL);
	}
	flush(maker);
	maker->order.core_size = maker->order.members_size;
}

/* What our policy grants is asked for over there: never more. */
static void put_limits(struct maker *maker, const struct run_request *request)
{
	const struct plan *plan = &request->kind.plan;

	put_name(maker, "limits");
	if (maker->r == 0)
		maker->r = buf_format(&maker->text,
				      "{\"memory\":%llu,\"cpus\":%u.%03u,\"pids\":%u,"
				      "\"disk\":%llu,\"output\":%llu}",
				      (unsigned long long)plan->memory, plan->cpus_milli / 1000,
				      plan->cpus_milli % 1000, plan->pids,
				      (unsigned long long)plan->disk,
				      (unsigned long long)request->output_max);
}

static void put_rest(struct maker *maker, const struct run_request *request)
{
	put_limits(maker, request);
	if (request->runtime != NULL && strcmp(request->runtime, "auto") != 0) {
		put_beyond(maker, "runtime");
		put_string(maker, request->runtime, strlen(request->runtime));
	}
	if (request->args.size > 0) {
		put_beyond(maker, "args");
		put_json(maker, "args", &request->args, request->log != NULL);
	}
	if (request->stdin_kind == RUN_STDIN_BYTES) {
		put_beyond(maker, "stdin");
		put_string(maker, request->stdin_bytes.data, request->stdin_bytes.size);
	}
	put_files(maker, request);
	if (!request->is_sidecar) /* a sidecar has its own */
		put_env(maker, request->env);
	put_texts(maker, "expect_files", request->expect);
	if (request->cwd != NULL) {
		put_beyond(maker, "cwd");
		put_string(maker, request->cwd, strlen(request->cwd));
	}
	if (request->want_files || request->returns_files) {
		put_name(maker, "return_files");
		put(maker, "true");
	}
	flush(maker);
}

/* ---- public ---- */

int order_check(const struct run_request *request, struct err *err)
{
	const char *why = NULL;

	if (request->is_forwarded)
		why = "it was passed on to this host already";
	else if (request->kind.runtime->is_shell)
		return 0;
	else if (request->kind.data != NULL)
		why = "the policy's folder for /data is on this host";
	else if (request->kind.plan.limits == LIMITS_CGROUP)
		why = "the policy wants limits by cgroup, which can be seen on this host alone";
	else if (request->tool.size > 0)
		why = "a tool of this host does it";
	else if (request->argv != NULL)
		why = "it is a script with arguments";
	else if ((request->stand_ins != NULL && !request->is_sidecar) || request->saved.size > 0 ||
		 request->saved_max > 0)
		why = "its variables are loaded or saved";
	else if (request->stdin_kind == RUN_STDIN_LIVE || request->stdin_kind == RUN_STDIN_PIPE)
		why = "its stdin is live";
	else if (request->data_format != RUN_DATA_NONE && request->data_format != RUN_DATA_JSON)
		why = "its data are in a file that is read in the sandbox";
	else if (request->code.data == NULL ||
		 (request->stdin_bytes.size > 0 && request->stdin_bytes.data == NULL))
		why = "its code or stdin is not in memory";
	if (why == NULL)
		return 0;
	return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP,
		       "backend: this run cannot be done elsewhere: %s", why);
}

static int make_explore(const struct run_request *request, struct order *ret_order, struct err *err)
{
	struct order order = {.members = -1};

	/* As it is seen inside: /data/..., or /semantic/... by its other name. */
	const char *cwd = request->args.size > 1 ? memchr((const char *)request->args.data + 1, '/',
							  request->args.size - 1)
						 : NULL;
	const char *end = (const char *)request->args.data + request->args.size;

	order.command = strndup(request->code.data, request->code.size);
	order.cwd = cwd != NULL ? strndup(cwd + 1, (size_t)(end - cwd - 1)) : strdup("");
	if (request->kind.data != NULL)
		order.folder = strdup(request->kind.data);
	if (request->root != NULL)
		order.root = strdup(request->root);
	order.beyond = request->root != NULL ? "root" : NULL;
	if (order.command == NULL || order.cwd == NULL ||
	    (request->kind.data != NULL && order.folder == NULL) ||
	    (request->root != NULL && order.root == NULL)) {
		order_done(&order);
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the request");
	}
	*ret_order = order;
	return 0;
}

int order_make(const struct run_request *request, struct order *ret_order, struct err *err)
{
	struct maker maker = {.is_first = true, .err = err, .order.members = -1};

	if (request->kind.runtime->is_shell)
		return make_explore(request, ret_order, err);
	maker.r = order_check(request, err);
	if (maker.r < 0)
		return maker.r;
	maker.order.members = memfd_create("order", MFD_CLOEXEC);
	if (maker.order.members < 0)
		return err_sys(err, "memfd");
	maker.order.is_sidecar = request->is_sidecar;
	buf_init(&maker.text, SMALL_MAX);
	put_core(&maker, request);
	put_rest(&maker, request);
	buf_done(&maker.text);
	if (maker.r < 0) {
		order_done(&maker.order);
		return maker.r;
	}
	*ret_order = maker.order;
	return 0;
}

void order_done(struct order *order)
{
	if (order == NULL)
		return;
	drop_fd(&order->members);
	free(STEAL(order->command));
	free(STEAL(order->folder));
	free(STEAL(order->cwd));
	free(STEAL(order->root));
}

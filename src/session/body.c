// SPDX-License-Identifier: Apache-2.0
#include "session/body.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/sendfile.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "session/request.h"

#define SMALL_MAX (16UL << 20) /* bytes put together in memory for another machine */
#define LARGE_MAX (1UL << 30)  /* ... for a daemon: code of 64 MiB, escaped */
#define PIECE (48U << 10)      /* of a file in one step: a multiple of three, for base64 */

/* The body being made. */
struct maker {
	struct body body;
	struct buf text; /* not written yet */
	bool is_first;
	bool is_checked; /* a door or the command line has checked the request's JSON */
	int r;           /* the first failure; later steps do nothing */
	struct err *err;
};

/* ---- pieces ---- */

static void flush(struct maker *maker)
{
	if (maker->r == 0)
		maker->r = io_write_all(maker->body.fd, maker->text.data, maker->text.size,
					maker->err);
	maker->body.size += maker->text.size;
	buf_cut(&maker->text, 0);
}

static void put(struct maker *maker, const char *text)
{
	(void)buf_text(&maker->text, text);
	if (maker->r == 0 && maker->text.failed < 0)
		maker->r = err_set(maker->err, ERR_TOO_LARGE, EMSGSIZE,
				   "the names and settings of the request take more than %zu MiB",
				   maker->text.max >> 20);
}

static void put_string(struct maker *maker, const void *bytes, size_t size)
{
	if (maker->r == 0 && json_put_string(&maker->text, bytes, size) < 0)
		maker->r = err_set(maker->err, ERR_TOO_LARGE, EMSGSIZE,
				   "code, stdin and names of the request take more than %zu MiB",
				   maker->text.max >> 20);
}

static void put_name(struct maker *maker, const char *name)
{
	put(maker, maker->is_first ? "\"" : ",\"");
	put(maker, name);
	put(maker, "\":");
	maker->is_first = false;
}

/* Writes a name that no sidecar knows. */
static void put_beyond(struct maker *maker, const char *name)
{
	put_name(maker, name);
	if (maker->body.beyond == NULL)
		maker->body.beyond = name;
}

/* Writes JSON text unchanged. */
static void put_json(struct maker *maker, const char *name, const struct run_bytes *bytes)
{
	uint64_t end = bytes->at + bytes->size;
	off_t at = (off_t)bytes->at;

	if (!maker->is_checked &&
	    (bytes->data == NULL || !json_is_valid(bytes->data, bytes->size))) {
		maker->r = maker->r < 0
				   ? maker->r
				   : err_field(maker->err, ERR_UNSUPPORTED, EOPNOTSUPP, "backend",
					       "%s that is not JSON in memory can only "
					       "be read on this host",
					       name);
		return;
	}
	flush(maker);
	if (maker->r == 0 && bytes->data != NULL)
		maker->r = io_write_all(maker->body.fd, bytes->data, bytes->size, maker->err);
	while (maker->r == 0 && bytes->data == NULL && (uint64_t)at < end) {
		ssize_t n = sendfile(maker->body.fd, bytes->fd, &at, end - (uint64_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			maker->r = n < 0 ? err_sys(maker->err, "copy %s", name)
					 : err_set(maker->err, ERR_BAD_REQUEST, EIO,
						   "%s became shorter while it was read", name);
	}
	maker->body.size += bytes->size;
}

/* ---- members written without their row ---- */

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
			maker->r = buf_base64(&maker->text, piece, size);
		flush(maker);
	}
}

static void put_files(struct maker *maker, const struct run_request *request)
{
	if (request->files_json.size > 0) {
		put_beyond(maker, "files");
		put_json(maker, "files", &request->files_json);
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

/* The body has one text: a door's lines before and after the code are joined to it. */
static void put_code(struct maker *maker, const struct run_request *request)
{
	const struct run_bytes *given =
		request->command.data != NULL ? &request->command : &request->code;
	const struct run_bytes *parts[] = {&request->lead, given, &request->tail};
	struct buf text;
	int r = 0;

	if (request->lead.size == 0 && request->tail.size == 0) {
		put_string(maker, given->data, given->size);
		return;
	}
	buf_init(&text, maker->text.max);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (r == 0 && parts[i]->size > 0)
			r = buf_append(&text, parts[i]->data, parts[i]->size);
		if (r == 0 && parts[i]->size > 0)
			r = buf_text(&text, "\n");
	}
	if (r == 0)
		put_string(maker, text.data, text.size);
	else if (maker->r == 0)
		maker->r = err_field(maker->err, ERR_TOO_LARGE, EMSGSIZE, "code",
				     "the code takes more than %zu MiB", maker->text.max >> 20);
	buf_done(&text);
}

static void put_core(struct maker *maker, const struct run_request *request)
{
	bool is_command = request->is_command || request->command.data != NULL;

	put_name(maker, is_command ? "command" : "code");
	put_code(maker, request);
	if (request->data_format == RUN_DATA_JSON) {
		put_name(maker, "data");
		put_json(maker, "data", &request->data);
	}
	flush(maker);
	maker->body.core_size = maker->body.size;
}

static void put_own(struct maker *maker, const struct run_request *request)
{
	if (request->stdin_kind == RUN_STDIN_BYTES) {
		put_beyond(maker, "stdin");
		put_string(maker, request->stdin_bytes.data, request->stdin_bytes.size);
	} else if (request->stdin_kind == RUN_STDIN_LIVE) {
		put_beyond(maker, "stdin");
		put(maker, "\"live\"");
	}
	put_files(maker, request);
	if (request->want_files || request->return_files == OP_YES) {
		put_name(maker, "return_files");
		put(maker, "true");
	}
}

/* ---- members by their rows ---- */

static bool goes(const struct op_param *param, enum body_for whom)
{
	return param->in == OP_IN_BODY && !param->is_own &&
	       !(param->is_here && whom == BODY_REMOTE);
}

static void put_value(struct maker *maker, const struct run_request *request,
		      const struct op_param *param)
{
	const struct run_bytes *bytes = request_bytes(request, param);

	if (bytes != NULL && param->type == OP_BYTES)
		put_string(maker, bytes->data, bytes->size);
	else if (bytes != NULL)
		put_json(maker, param->name, bytes);
	else if (maker->r == 0 && request_put(request, param, &maker->text) < 0)
		put(maker, ""); /* sets the error */
}

/* `limits` is one object, wherever its rows are in the table. */
static void put_limits(struct maker *maker, const struct run_request *request, enum body_for whom,
		       size_t count)
{
	static const char group[] = "limits.";
	bool is_open = false;

	for (size_t i = 0; i < count; i++) {
		const struct op_param *param = &run_params[i];

		if (!goes(param, whom) || strncmp(param->name, group, strlen(group)) != 0 ||
		    !request_has(request, param))
			continue;
		if (!is_open)
			put_name(maker, "limits");
		put(maker, is_open ? ",\"" : "{\"");
		put(maker, param->name + strlen(group));
		put(maker, "\":");
		put_value(maker, request, param);
		is_open = true;
	}
	if (is_open)
		put(maker, "}");
}

static void put_rows(struct maker *maker, const struct run_request *request, enum body_for whom)
{
	size_t count = whom == BODY_SESSION ? RUN_PARAMS_SESSION : RUN_PARAMS;

	put_limits(maker, request, whom, count);
	for (size_t i = 0; i < count; i++) {
		const struct op_param *param = &run_params[i];

		if (!goes(param, whom) || strchr(param->name, '.') != NULL ||
		    !request_has(request, param))
			continue;
		put_beyond(maker, param->name);
		put_value(maker, request, param);
	}
}

int body_make(const struct run_request *request, enum body_for whom, struct body *ret_body,
	      struct err *err)
{
	AUTO_CLOSE int fd = memfd_create("request", MFD_CLOEXEC);
	struct maker maker = {
		.is_first = true,
		.is_checked = whom != BODY_REMOTE || request->log != NULL,
		.err = err,
		.body.fd = fd,
	};

	if (fd < 0)
		return err_sys(err, "memfd");
	buf_init(&maker.text, whom == BODY_REMOTE ? SMALL_MAX : LARGE_MAX);
	put(&maker, whom == BODY_REMOTE ? "" : "{");
	put_core(&maker, request);
	put_rows(&maker, request, whom);
	put_own(&maker, request);
	put(&maker, whom == BODY_REMOTE ? "" : "}");
	flush(&maker);
	buf_done(&maker.text);
	if (maker.r < 0)
		return maker.r;
	(void)lseek(fd, 0, SEEK_SET);
	*ret_body = maker.body;
	ret_body->fd = steal_fd(&fd);
	return 0;
}

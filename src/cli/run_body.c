// SPDX-License-Identifier: Apache-2.0
#include "cli/run_body.h"

#include <errno.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include "base/c.h"
#include "base/json.h"

#define BODY_MAX (224ULL * MIB) /* a daemon takes 256 MiB unless its config says otherwise */
#define PIECE 49152U            /* divisible by three: base64 of pieces is the base64 of all */

static bool is_text(const struct run_bytes *bytes)
{
	json_auto_t *text = NULL;

	if (bytes->data == NULL)
		return true;
	text = json_stringn(bytes->data, bytes->size); /* NULL when it is not UTF-8 */
	return text != NULL;
}

static bool are_texts(const char *const *items)
{
	for (size_t i = 0; items != NULL && items[i] != NULL; i++) {
		const struct run_bytes bytes = {.data = items[i], .size = strlen(items[i])};

		if (!is_text(&bytes))
			return false;
	}
	return true;
}

/* Anything else could end the member it stands in, and bring others. */
static bool is_json(const struct run_bytes *bytes)
{
	void *map = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE, bytes->fd, 0);
	bool is_valid;

	if (map == MAP_FAILED)
		return false;
	is_valid = json_is_valid(map, bytes->size);
	(void)munmap(map, bytes->size);
	return is_valid;
}

bool run_body_is_possible(const struct run_inputs *inputs)
{
	const struct op_run_args *op = &inputs->op;
	uint64_t size = op->data.size;

	for (size_t i = 0; i < op->file_count; i++) {
		const struct run_bytes path = {.data = op->files[i].path,
					       .size = strlen(op->files[i].path)};

		size += op->files[i].bytes.size / 3 * 4;
		if (!is_text(&path))
			return false;
	}
	return size < BODY_MAX &&
	       (op->data_format == RUN_DATA_NONE ||
		(op->data_format == RUN_DATA_JSON && is_json(&op->data))) &&
	       is_text(&op->code) && is_text(&op->command) && are_texts(op->env) &&
	       are_texts(op->expect);
}

static void set_text(json_t *object, const char *name, const char *text)
{
	if (text != NULL)
		(void)json_object_set_new(object, name, json_string(text));
}

static void set_number(json_t *object, const char *name, uint64_t number)
{
	if (number > 0)
		(void)json_object_set_new(object, name, json_integer((json_int_t)number));
}

static void set_texts(json_t *object, const char *name, const char *const *items)
{
	json_t *list = json_array();

	for (size_t i = 0; items != NULL && items[i] != NULL; i++)
		(void)json_array_append_new(list, json_string(items[i]));
	if (json_array_size(list) > 0)
		(void)json_object_set(object, name, list);
	json_decref(list);
}

static void set_env(json_t *object, const char *const *items)
{
	json_t *env = json_object();

	for (size_t i = 0; items != NULL && items[i] != NULL; i++) {
		size_t size = strcspn(items[i], "=");

		(void)json_object_setn_new(env, items[i], size, json_string(items[i] + size + 1));
	}
	if (json_object_size(env) > 0)
		(void)json_object_set(object, "env", env);
	json_decref(env);
}

static void set_limits(json_t *object, const struct policy_ask *ask)
{
	json_t *limits = json_object();

	set_number(limits, "memory", ask->memory);
	set_number(limits, "pids", ask->pids);
	if (ask->cpus_milli > 0)
		(void)json_object_set_new(limits, "cpus",
					  json_real((double)ask->cpus_milli / 1000));
	if (json_object_size(limits) > 0)
		(void)json_object_set(object, "limits", limits);
	json_decref(limits);
}

/* Everything but args, data and files. */
static json_t *make_object(const struct op_run_args *op, bool is_session)
{
	const struct run_bytes *code = op->command.data != NULL ? &op->command : &op->code;
	json_t *object = json_object();

	(void)json_object_set_new(object, op->command.data != NULL ? "command" : "code",
				  json_stringn(code->data, code->size));
	if (!is_session) {
		set_text(object, "policy", op->policy);
		set_text(object, "runtime", op->runtime);
		set_text(object, "backend", op->backend);
		set_limits(object, &op->limits);
	}
	set_number(object, "timeout_ms", op->limits.timeout_ms);
	set_texts(object, "expect_files", op->expect);
	set_env(object, op->env);
	if (op->stdin_kind == RUN_STDIN_LIVE)
		set_text(object, "stdin", "live");
	if (op->want_files)
		(void)json_object_set_new(object, "return_files", json_true());
	return object;
}

/* A regular file, from its start, as it is or as base64. */
static int put_file(FILE *body, int fd, bool is_base64, struct err *err)
{
	unsigned char piece[PIECE];
	char text[PIECE / 3 * 4 + 8];
	off_t at = 0;

	for (;;) {
		size_t size = 0;

		while (size < sizeof(piece)) {
			ssize_t n = pread(fd, piece + size, sizeof(piece) - size, at);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return err_sys(err, "read an input");
			if (n == 0)
				break;
			size += (size_t)n;
			at += n;
		}
		if (is_base64) {
			(void)sodium_bin2base64(text, sizeof(text), piece, size,
						sodium_base64_VARIANT_ORIGINAL);
			(void)fputs(text, body);
		} else {
			(void)fwrite(piece, 1, size, body);
		}
		if (size < sizeof(piece))
			return 0;
	}
}

static int put_files(FILE *body, const struct op_run_args *op, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < op->file_count && r == 0; i++) {
		json_auto_t *path = json_string(op->files[i].path);

		(void)fputs(i == 0 ? ",\"files\":[{\"path\":" : ",{\"path\":", body);
		(void)json_dumpf(path, body, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
		(void)fputs(",\"base64\":\"", body);
		r = put_file(body, op->files[i].bytes.fd, true, err);
		(void)fputs("\"}", body);
	}
	if (op->file_count > 0)
		(void)fputs("]", body);
	return r;
}

static int put_body(FILE *body, const struct op_run_args *op, bool is_session, struct err *err)
{
	json_auto_t *object = make_object(op, is_session);
	AUTO_FREE char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
	int r = 0;

	if (text == NULL)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the request");
	(void)fwrite(text, 1, strlen(text) - 1, body); /* its brace comes last */
	if (op->args.size > 0) {
		(void)fputs(",\"args\":", body);
		(void)fwrite(op->args.data, 1, op->args.size, body);
	}
	if (op->data_format == RUN_DATA_JSON) {
		(void)fputs(",\"data\":", body);
		r = put_file(body, op->data.fd, false, err);
	}
	if (r == 0)
		r = put_files(body, op, err);
	(void)fputs("}", body);
	return r;
}

int run_body_make(const struct run_inputs *inputs, bool is_session, int *ret_fd, struct err *err)
{
	AUTO_CLOSE int fd = memfd_create("request", MFD_CLOEXEC);
	int copy = fd >= 0 ? dup(fd) : -1;
	FILE *body = copy >= 0 ? fdopen(copy, "w") : NULL;
	int r;

	if (body == NULL)
		return err_sys(err, "make a request");
	r = put_body(body, &inputs->op, is_session, err);
	if (fclose(body) != 0 && r == 0)
		r = err_sys(err, "write a request");
	if (r < 0)
		return r;
	(void)lseek(fd, 0, SEEK_SET);
	*ret_fd = steal_fd(&fd);
	return 0;
}

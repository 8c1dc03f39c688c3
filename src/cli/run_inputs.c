// SPDX-License-Identifier: Apache-2.0
#include "cli/run_inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"

#define CODE_MAX (64U << 20)
#define ARGS_MAX (64U << 20)

int run_inputs_open(const char *path, struct run_bytes *ret_bytes, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;

	if (fd < 0) {
		int number = errno;

		return err_set(err, ERR_BAD_REQUEST, number, "%s: %s", path, strerror(number));
	}
	if (fstat(fd, &info) < 0)
		return err_sys(err, "%s", path);
	if (!S_ISREG(info.st_mode))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s is not a regular file", path);
	*ret_bytes = (struct run_bytes){.size = (uint64_t)info.st_size, .fd = steal_fd(&fd)};
	return 0;
}

static int read_code(const struct run_options *options, const struct operands *operands,
		     struct run_inputs *inputs, struct err *err)
{
	const char *text = options->code != NULL ? options->code : options->command;
	size_t sources = operands->count + (options->code != NULL ? 1 : 0) +
			 (options->command != NULL ? 1 : 0);
	const char *path = NULL;
	int r;

	if (sources != 1)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       sources == 0
				       ? "what should run? Give a FILE, - for stdin, or -c CODE"
				       : "give one of FILE, -c CODE and --command");
	if (text != NULL) {
		struct run_bytes bytes = {.data = text, .size = strlen(text), .fd = -1};

		*(options->command != NULL ? &inputs->op.command : &inputs->op.code) = bytes;
		return 0;
	}
	path = operands->items[0];
	if (strcmp(path, "-") != 0)
		r = io_read_file(AT_FDCWD, path, &inputs->code, err);
	else if (options->wants_stdin)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "--stdin: stdin cannot be both the code and the code's input");
	else
		r = io_read_all(STDIN_FILENO, &inputs->code, err);
	if (r < 0) {
		err->kind = ERR_BAD_REQUEST;
		return r;
	}
	inputs->op.code = (struct run_bytes){
		.data = inputs->code.size > 0 ? (const void *)inputs->code.data : "",
		.size = inputs->code.size,
		.fd = -1,
	};
	return 0;
}

static int read_limits(const struct run_options *options, struct policy_ask *ask, struct err *err)
{
	const struct {
		const char *field, *text, *label;
	} rows[] = {
		{"timeout", options->timeout, "--timeout"},
		{"memory", options->memory, "--memory"},
		{"cpus", options->cpus, "--cpus"},
		{"pids", options->pids, "--pids"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int r = 0;

		if (rows[i].text != NULL)
			r = policy_ask_set(ask, rows[i].field, rows[i].text, rows[i].label, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_args(const char *text, struct run_inputs *inputs, struct err *err)
{
	int r;

	if (text == NULL)
		return 0;
	if (text[0] == '@')
		r = io_read_file(AT_FDCWD, text + 1, &inputs->args, err);
	else
		r = buf_text(&inputs->args, text);
	if (r < 0) {
		err->kind = ERR_BAD_REQUEST;
		return err_wrap(err, "--args");
	}
	if (!json_is_valid(inputs->args.data, inputs->args.size))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "--args: not valid JSON");
	inputs->op.args =
		(struct run_bytes){.data = inputs->args.data, .size = inputs->args.size, .fd = -1};
	return 0;
}

/* "sqlite:FILE:QUERY": the file is what stands before the first colon that leaves one. */
static int split_sqlite(const char *text, struct run_inputs *inputs, struct err *err)
{
	const char *file = text + strlen("sqlite:");
	const char *colon = strchr(file, ':');

	if (colon == NULL || colon == file || colon[1] == '\0')
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "--data: use sqlite:FILE:QUERY");
	inputs->data_path = strndup(file, (size_t)(colon - file));
	if (inputs->data_path == NULL)
		abort();
	inputs->op.data_format = RUN_DATA_SQLITE;
	inputs->op.data_query = colon + 1;
	return 0;
}

static int choose_format(const char *path, enum run_data_format *ret_format, struct err *err)
{
	static const struct {
		const char *end;
		enum run_data_format format;
	} rows[] = {
		{".json", RUN_DATA_JSON},
		{".csv", RUN_DATA_CSV},
		{".tsv", RUN_DATA_TSV},
		{".parquet", RUN_DATA_PARQUET},
	};
	size_t size = strlen(path);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t end = strlen(rows[i].end);

		if (size > end && strcmp(path + size - end, rows[i].end) == 0) {
			*ret_format = rows[i].format;
			return 0;
		}
	}
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "--data: %s ends in none of .json .csv .tsv .parquet; a database is "
		       "sqlite:FILE:QUERY",
		       path);
}

static int read_data(const char *text, struct run_inputs *inputs, struct err *err)
{
	int r = 0;

	if (text == NULL)
		return 0;
	if (strncmp(text, "sqlite:", strlen("sqlite:")) == 0)
		r = split_sqlite(text, inputs, err);
	else
		r = choose_format(text, &inputs->op.data_format, err);
	if (r < 0)
		return r;

	r = run_inputs_open(inputs->data_path != NULL ? inputs->data_path : text, &inputs->op.data,
			    err);
	if (r < 0)
		return err_wrap(err, "--data");
	inputs->data_fd = inputs->op.data.fd;
	return 0;
}

/* HOST or HOST:DEST. A colon may be part of a name, so a file of the whole name comes first. */
static int read_file(const char *text, struct run_file *file, struct err *err)
{
	const char *slash = strrchr(text, '/');
	const char *colon = strrchr(text, ':');
	const char *dest = slash != NULL ? slash + 1 : text;
	size_t host_size = strlen(text);
	char *host = NULL;
	int r;

	if (colon != NULL && access(text, F_OK) != 0) {
		host_size = (size_t)(colon - text);
		dest = colon + 1;
	}
	host = strndup(text, host_size);
	if (host == NULL)
		abort();
	r = run_inputs_open(host, &file->bytes, err);
	free(host);
	if (r < 0)
		return err_wrap(err, "--file");
	file->path = xstrdup(dest);
	return 0;
}

static int read_lists(const struct run_options *options, struct run_inputs *inputs, struct err *err)
{
	for (size_t i = 0; i < options->files.count; i++) {
		int r = read_file(options->files.items[i], &inputs->files[i], err);

		if (r < 0)
			return r;
		inputs->op.file_count = i + 1;
	}
	for (size_t i = 0; i < options->env.count; i++) {
		const char *equals = strchr(options->env.items[i], '=');

		if (equals == NULL || equals == options->env.items[i])
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "--env: '%s' is not NAME=VALUE", options->env.items[i]);
		inputs->env[i] = options->env.items[i];
	}
	for (size_t i = 0; i < options->expect.count; i++)
		inputs->expect[i] = options->expect.items[i];
	inputs->op.files = inputs->files;
	inputs->op.env = inputs->env;
	inputs->op.expect = inputs->expect;
	return 0;
}

int run_inputs_read(const struct run_options *options, const struct operands *operands,
		    struct run_inputs *inputs, struct err *err)
{
	int r;

	*inputs = (struct run_inputs){.data_fd = -1};
	buf_init(&inputs->code, CODE_MAX);
	buf_init(&inputs->args, ARGS_MAX);
	inputs->op.policy = options->policy;
	inputs->op.runtime = options->runtime;
	inputs->op.backend = options->backend;
	inputs->op.stdin_kind = options->wants_stdin ? RUN_STDIN_LIVE : RUN_STDIN_NONE;
	inputs->op.stdin_fd = STDIN_FILENO;
	inputs->op.want_files = options->out != NULL;
	inputs->op.keep_events = options->is_events;
	inputs->op.is_cold = true;

	if (options->is_json && options->is_events)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "--json and --events: use one of them");
	r = read_code(options, operands, inputs, err);
	if (r == 0)
		r = read_limits(options, &inputs->op.limits, err);
	if (r == 0)
		r = read_args(options->args, inputs, err);
	if (r == 0)
		r = read_data(options->data, inputs, err);
	if (r == 0)
		r = read_lists(options, inputs, err);
	return r;
}

void run_inputs_done(struct run_inputs *inputs)
{
	buf_done(&inputs->code);
	buf_done(&inputs->args);
	drop_fd(&inputs->data_fd);
	free(STEAL(inputs->data_path));
	for (size_t i = 0; i < inputs->op.file_count; i++) {
		drop_fd(&inputs->files[i].bytes.fd);
		free((void *)(uintptr_t)inputs->files[i].path);
	}
	inputs->op.file_count = 0;
}

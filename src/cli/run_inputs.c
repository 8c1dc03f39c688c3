// SPDX-License-Identifier: Apache-2.0
#include "cli/run_inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "policy/number.h"

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
	size_t given = (inputs->op.code.data != NULL ? 1U : 0U) +
		       (inputs->op.command.data != NULL ? 1U : 0U);
	const char *path = NULL;
	int r;

	if (operands->count + given != 1)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       operands->count + given == 0
				       ? "what should run? Give a FILE, - for stdin, or -c CODE"
				       : "give only one of FILE, -c CODE and --command");
	if (given > 0)
		return 0;
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

/* Python would take the last of two values of one name without a word. */
static int check_names(const struct buf *args, struct err *err)
{
	json_error_t error = {0};
	json_auto_t *json = json_loadb((const char *)args->data, args->size,
				       JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES |
					       JSON_DECODE_INT_AS_REAL,
				       &error);

	/* Any other failure is a limit of this parser, since the text is valid. */
	if (json != NULL || json_error_code(&error) != json_error_duplicate_key)
		return 0;
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "--args: a name is given twice in one object, at line %d, column %d",
		       error.line, error.column);
}

static int read_args(const char *text, struct run_inputs *inputs, struct err *err)
{
	int r;

	buf_cut(&inputs->args, 0); /* the last one counts */
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
	r = check_names(&inputs->args, err);
	if (r < 0)
		return r;
	inputs->op.args =
		(struct run_bytes){.data = inputs->args.data, .size = inputs->args.size, .fd = -1};
	return 0;
}

/* "sqlite:FILE:QUERY": FILE ends at its first colon. */
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
	inputs->data_text = text;
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

/* HOST or HOST:DEST. A colon may be part of a name, so an existing file of the whole name wins. */
static int read_file(const char *text, struct run_inputs *inputs, struct err *err)
{
	struct run_file *file = &inputs->files[inputs->op.file_count];
	const char *slash = strrchr(text, '/');
	const char *colon = strrchr(text, ':');
	const char *dest = slash != NULL ? slash + 1 : text;
	size_t host_size = strlen(text);
	char *host = NULL;
	int r;

	if (inputs->op.file_count == FLAG_LIST_MAX)
		return err_set(err, ERR_BAD_REQUEST, E2BIG, "--file: may be given at most %d times",
			       FLAG_LIST_MAX);
	if (colon != NULL && access(text, F_OK) != 0) {
		host_size = (size_t)(colon - text);
		dest = colon + 1;
	}
	for (size_t i = 0; i < inputs->op.file_count; i++) {
		if (strcmp(inputs->files[i].path, dest) == 0)
			return err_set(err, ERR_BAD_REQUEST, EEXIST,
				       "--file: two files would be called %s in the sandbox; "
				       "HOST:DEST gives one another name",
				       dest);
	}
	host = strndup(text, host_size);
	if (host == NULL)
		abort();
	r = run_inputs_open(host, &file->bytes, err);
	free(host);
	if (r < 0)
		return err_wrap(err, "--file");
	file->path = xstrdup(dest);
	inputs->op.file_count++;
	return 0;
}

static bool has_name(const char *const *pairs, const char *pair)
{
	size_t size = strcspn(pair, "=") + 1;

	while (pairs != NULL && *pairs != NULL && strncmp(*pairs, pair, size) != 0)
		pairs++;
	return pairs != NULL && *pairs != NULL;
}

/* Appends to a NULL-terminated list of the request; run_inputs_done frees the list. */
static void add_text(const char ***list, const char *text)
{
	size_t count = 0;

	while (*list != NULL && (*list)[count] != NULL)
		count++;
	*list = reallocarray(*list, count + 2, sizeof(**list));
	if (*list == NULL)
		abort();
	(*list)[count] = text;
	(*list)[count + 1] = NULL;
}

static int set_number(const struct op_param *param, enum number_type type, const char *text,
		      uint64_t *ret_number, struct err *err)
{
	uint64_t number = 0;

	if (number_parse(type, text, &number) < 0 || number < param->min ||
	    (param->max > 0 && number > param->max))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "--%s: '%s' is not a value like %s, or out of range", param->flag,
			       text, param->value);
	*ret_number = number;
	return 0;
}

/* Limits have rows of their own, which know their units and ranges. */
static bool is_limit(const struct op_param *param)
{
	size_t start = offsetof(struct run_request, limits);

	return param->offset >= start && param->offset < start + sizeof(struct policy_ask);
}

static int read_param(const struct op_param *param, const char *text, struct run_inputs *inputs,
		      struct err *err)
{
	void *at = (char *)&inputs->op + param->offset;
	char label[64];

	(void)snprintf(label, sizeof(label), "--%s", param->flag);
	if (is_limit(param))
		return policy_ask_set(&inputs->op.limits, param->flag, text, label, err);
	switch (param->type) {
	case OP_TEXT:
		*(const char **)at = text;
		return 0;
	case OP_BOOL:
		*(enum op_bool *)at = OP_YES;
		return 0;
	case OP_PAIRS:
		if (text[strcspn(text, "=")] != '=' || text[0] == '=')
			return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s: '%s' is not NAME=VALUE",
				       label, text);
		if (has_name(request_texts(&inputs->op, param), text))
			return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s: %.*s is given twice",
				       label, (int)strcspn(text, "="), text);
		add_text(at, text);
		return 0;
	case OP_TEXTS:
		add_text(at, text);
		return 0;
	case OP_MS:
		return set_number(param, NUMBER_MS, text, at, err);
	case OP_SIZE:
		return set_number(param, NUMBER_BYTES, text, at, err);
	case OP_COUNT:
		return set_number(param, NUMBER_COUNT, text, at, err);
	case OP_CPUS:
		return set_number(param, NUMBER_CPUS, text, at, err);
	case OP_BYTES:
		*(struct run_bytes *)at =
			(struct run_bytes){.data = text, .size = strlen(text), .fd = -1};
		return 0;
	case OP_JSON:
		return read_args(text, inputs, err);
	case OP_FILES:
		return read_file(text, inputs, err);
	case OP_TABLE:
		break;
	}
	return err_set(err, ERR_INTERNAL, EINVAL, "%s: cannot be read from a flag", label);
}

int run_inputs_read(const struct run_options *options, const struct operands *operands,
		    struct run_inputs *inputs, struct err *err)
{
	int r = 0;

	*inputs = (struct run_inputs){.data_fd = -1};
	inputs->op.files = inputs->files;
	buf_init(&inputs->code, CODE_MAX);
	buf_init(&inputs->args, ARGS_MAX);
	inputs->op.stdin_kind = options->wants_stdin ? RUN_STDIN_LIVE : RUN_STDIN_NONE;
	inputs->op.stdin_fd = STDIN_FILENO;
	inputs->op.want_files = options->out != NULL;
	inputs->op.keep_events = options->is_events;
	inputs->op.is_cold = true;

	if (options->is_json && options->is_events)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "--json and --events: use one of them");
	for (size_t i = 0; i < options->given.count && r == 0; i++)
		r = read_param(options->given.items[i].param, options->given.items[i].text, inputs,
			       err);
	if (r == 0)
		r = read_code(options, operands, inputs, err);
	if (r == 0)
		r = read_data(options->data, inputs, err);
	return r;
}

void run_inputs_blame(const struct run_inputs *inputs, struct err *err)
{
	const struct err told = *err;
	unsigned index = 0;
	int size = 0;

	if (sscanf(told.text, "--file: [%u].path: %n", &index, &size) == 1 && size > 0 &&
	    index < inputs->op.file_count)
		(void)err_set(err, told.kind, told.num, "--file: %s: %s", inputs->files[index].path,
			      told.text + size);
	else if (inputs->data_text != NULL && strncmp(told.text, "--data: ", 8) == 0)
		(void)err_set(err, told.kind, told.num, "--data: %s: %s", inputs->data_text,
			      told.text + 8);
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
	for (size_t i = 0; i < RUN_PARAMS; i++) {
		if (run_params[i].type == OP_TEXTS || run_params[i].type == OP_PAIRS)
			free((void *)(uintptr_t)request_texts(&inputs->op, &run_params[i]));
	}
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/trial.h"
#include "door/elitea/elitea.h"
#include "policy/config.h"

#define CODE_MAX (16UL << 20)
#define ANSWER_MAX (256UL << 20)

struct options {
	const char *code, *file, *bytes, *metadata, *config;
	bool from_stdin, is_stateful, wants_version;
};

static const struct flag flags[] = {
	FLAG_ROW(struct options, code, "code", 'c', FLAG_TEXT, "CODE", "Python to run"),
	FLAG_ROW(struct options, file, "file", 'f', FLAG_TEXT, "FILE", "Python file to run"),
	FLAG_ROW(struct options, from_stdin, "stdin", 0, FLAG_SWITCH, NULL,
		 "read the Python to run from stdin"),
	FLAG_ROW(struct options, is_stateful, "stateful", 's', FLAG_SWITCH, NULL,
		 "print the session too, to continue it later"),
	FLAG_ROW(struct options, bytes, "session-bytes", 'b', FLAG_TEXT, "[1,2,...]",
		 "session to continue, as it was printed"),
	FLAG_ROW(struct options, metadata, "session-metadata", 'm', FLAG_TEXT, "JSON",
		 "metadata that was printed with the session"),
	FLAG_ROW(struct options, wants_version, "version", 'V', FLAG_SWITCH, NULL,
		 "print the version"),
	FLAG_ROW(struct options, config, "config", 0, FLAG_TEXT, "FILE", "vivarium.yaml to use"),
};

/* ---- input ---- */

static int read_code(const struct options *options, struct buf *code, struct err *err)
{
	if (options->code != NULL)
		return buf_text(code, options->code) < 0
			       ? err_set(err, ERR_TOO_LARGE, EMSGSIZE, "the code is too long")
			       : 0;
	if (options->file != NULL)
		return io_read_file(AT_FDCWD, options->file, code, err);
	return io_read_all(STDIN_FILENO, code, err);
}

/* Reads "[1, 2, 255]" into bytes. */
static int read_numbers(const char *text, struct buf *bytes, struct err *err)
{
	static const char blanks[] = " \t\r\n";
	char separator = '[';
	bool is_list = true;

	text += strspn(text, blanks);
	while (is_list && *text == separator) {
		unsigned long number;
		char *end = NULL;

		text += 1 + strspn(text + 1, blanks);
		if (separator == '[' && *text == ']')
			break;
		number = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 256;
		is_list = number < 256;
		if (!is_list)
			break;
		if (buf_append(bytes, &(uint8_t){(uint8_t)number}, 1) < 0)
			return err_set(err, ERR_TOO_LARGE, EMSGSIZE, "--session-bytes: too many");
		text = end + strspn(end, blanks);
		separator = ',';
	}
	if (!is_list || *text != ']' || text[1 + strspn(text + 1, blanks)] != '\0')
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "--session-bytes: must be a JSON list of numbers from 0 to 255");
	return 0;
}

/* Reads the session's flags; the bytes become base64, as a run takes them. */
static int read_session(const struct options *options, struct buf *text, struct elitea_run *run,
			struct err *err)
{
	AUTO_BUF struct buf bytes = {.max = RUN_SAVED_MAX};
	int r;

	if (options->metadata != NULL) {
		run->metadata = json_loads(options->metadata, 0, NULL);
		if (!json_is_object(run->metadata))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "--session-metadata: must be a JSON object");
	}
	if (options->bytes == NULL)
		return 0;
	r = read_numbers(options->bytes, &bytes, err);
	if (r == 0 && buf_base64(text, bytes.data, bytes.size) < 0)
		r = err_set(err, ERR_TOO_LARGE, EMSGSIZE, "--session-bytes: too many");
	if (r == 0)
		run->args.saved = (struct run_bytes){.data = text->data, .size = text->size};
	return r;
}

/* ---- output ---- */

static void put_numbers(const char *value, size_t size, struct buf *out)
{
	AUTO_BUF struct buf bytes = {.max = size + 3};

	/* `value` is a JSON string that we wrote: base64, so nothing in it is escaped. */
	if (size >= 2)
		(void)buf_unbase64(&bytes, value + 1, size - 2, "");
	(void)buf_text(out, "[");
	for (size_t i = 0; i < bytes.size; i++)
		(void)buf_format(out, "%s%u", i > 0 ? "," : "", bytes.data[i]);
	(void)buf_text(out, "]");
}

/* Prints ELITEA's HTTP answer under the names that its command line uses. */
static void print_answer(const struct buf *answer, bool is_stateful)
{
	static const char *const members[][2] = {
		{"stdout", "{\"stdout\":"},
		{"stderr", ",\"stderr\":"},
		{"result", ",\"result\":"},
		{"success", ",\"success\":"},
		{"session_bytes", ",\"sessionBytes\":"},
		{"session_metadata", ",\"sessionMetadata\":"},
	};
	AUTO_BUF struct buf out = {.max = ANSWER_MAX};

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const char *value = "null";
		size_t size = 4;

		(void)json_find(answer->data, answer->size, members[i][0], &value, &size);
		if (i >= 4 && (!is_stateful || value[0] == 'n'))
			continue;
		(void)buf_text(&out, members[i][1]);
		if (i == 4)
			put_numbers(value, size, &out);
		else
			(void)buf_append(&out, value, size);
	}
	(void)buf_text(&out, "}\n");
	(void)fwrite(out.data, 1, out.size, stdout);
}

/* ---- the run ---- */

static int run_code(const struct options *options, struct elitea_run *run, struct buf *answer,
		    bool *ret_ok, struct err *err)
{
	const struct run_calls calls = {0};
	struct elitea_limits limits;
	struct config *config = NULL;
	struct trial trial = {0};
	struct run *made = NULL;
	struct ending ending = {0};
	struct result result;
	AUTO_BUF struct buf text = {.max = ANSWER_MAX};
	int r = config_load(options->config, &config, err);

	if (r == 0)
		r = trial_open(&trial, err);
	if (r == 0) {
		elitea_limits_read(config, &limits);
		elitea_prepare(&limits, config, NULL, run);
		run->args.is_cold = true;
		run->args.stdin_fd = -1;
		r = op_run_start(config, trial.pool, &run->args, &calls, NULL, &made, err);
	}
	if (r == 0) {
		run_wait(made);
		r = run_result(made, &text, &result, err);
	}
	if (r == 0) {
		(void)ending_read(&result, &ending);
		r = elitea_put_answer(run, &ending, answer);
	}
	*ret_ok = r == 0 && ending_is(&ending, "ok");
	run_free(made);
	trial_close(&trial);
	config_free(config);
	return r;
}

static int execute(const struct options *options, struct buf *answer, bool *ret_ok, struct err *err)
{
	struct elitea_run run = {.is_stateful = options->is_stateful};
	AUTO_BUF struct buf code = {.max = CODE_MAX};
	AUTO_BUF struct buf session = {.max = 2UL * RUN_SAVED_MAX};
	int r;

	r = read_code(options, &code, err);
	if (r == 0)
		r = read_session(options, &session, &run, err);
	run.args.code = (struct run_bytes){.data = buf_string(&code), .size = code.size};
	if (r == 0 && options->bytes != NULL && run.metadata == NULL)
		r = elitea_put_refusal(&run, ELITEA_NEEDS_METADATA, answer);
	else if (r == 0)
		r = run_code(options, &run, answer, ret_ok, err);
	json_decref(run.metadata);
	return r;
}

static int run_compat(const struct cmd *cmd, const void *raw_options,
		      const struct operands *operands)
{
	const struct options *options = raw_options;
	struct err err = {0};
	AUTO_BUF struct buf answer = {.max = ANSWER_MAX};
	bool is_ok = false;

	if (operands->count != 1 || strcmp(operands->items[0], "elitea") != 0) {
		(void)err_set(&err, ERR_BAD_REQUEST, EINVAL,
			      "name the system to stand in for: elitea");
		return cmd_fail(cmd, &err);
	}
	if (options->wants_version) {
		(void)printf("viv %s\n", VIV_VERSION);
		return CMD_OK;
	}
	if (options->code == NULL && options->file == NULL && !options->from_stdin) {
		(void)fprintf(stderr, "viv compat elitea: give the code with -c, -f or --stdin\n");
		return CMD_FAILED_CHECK;
	}
	if (execute(options, &answer, &is_ok, &err) < 0 && err.kind != ERR_NONE)
		return cmd_fail(cmd, &err);
	print_answer(&answer, options->is_stateful);
	return fflush(stdout) != 0 ? CMD_INTERNAL : is_ok ? CMD_OK : CMD_FAILED_CHECK;
}

const struct cmd cmd_compat = {
	.name = "compat",
	.operands = "elitea",
	.summary = "stand in for another system's command line",
	.about = "elitea: takes the flags of the Deno program that ELITEA and langchain-sandbox\n"
		 "start, runs the code in one fresh sandbox, and prints one JSON object: stdout,\n"
		 "stderr, result, success, and with -s the session as sessionBytes and\n"
		 "sessionMetadata. It reads the environment variables "
		 "SANDBOX_TIMEOUT_SECONDS,\n"
		 "SANDBOX_WASM_MAX_MEM_MB.\n"
		 "\n"
		 "The exit status is 0 if the code succeeded, else 1; 2 for bad usage, 125 if\n"
		 "viv itself fails.",
	.examples = "  viv compat elitea -c 'print(6 * 7)'\n"
		    "  viv compat elitea --stdin -s < script.py",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run_compat,
};

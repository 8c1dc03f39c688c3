// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "door/atlas/atlas.h"
#include "door/ending.h"

#define TIMEOUT_DEFAULT_MS 10000U
#define TIMEOUT_MIN_MS 1000U
#define TIMEOUT_MAX_MS 60000U
#define INSIDE "/semantic"
#define KILLED 137 /* a shell's exit status for SIGKILL */

/* One /exec. */
struct atlas_exec {
	struct atlas_place *place;
	struct op_explore_args args;
};

static void fail(struct exchange *call, const char *why)
{
	char text[sizeof(((struct err *)0)->text) + 32];

	(void)snprintf(text, sizeof(text), "Execution failed: %s", why);
	exchange_answer_tree(call, 500,
			     json_pack("{s:s,s:s,s:s,s:i}", "error", text, "stdout", "", "stderr",
				       why, "exitCode", 1));
}

static void fail_by(struct exchange *call, const struct err *err)
{
	if (err_is_busy(err))
		atlas_say(call, 429, "Too many concurrent executions");
	else if (err->kind == ERR_BAD_REQUEST && strncmp(err->text, "cwd: ", 5) == 0)
		atlas_say(call, 400, "cwd must be under SEMANTIC_DIR");
	else
		fail(call, err->text);
}

/* Atlas's own sidecar ends these runs with SIGKILL and has no other way to say so. */
static bool is_killed(const struct ending *ending)
{
	return ending_is(ending, "timeout") || ending_is(ending, "memory") ||
	       ending_is(ending, "cancelled") || ending_is(ending, "output");
}

static int put_answer(struct buf *buf, const struct ending *ending)
{
	/* stdout is passed on byte for byte; stderr says if something of it is missing. */
	bool is_cut = ending->is_out_cut || ending->is_err_cut;
	const struct escaped err[] = {ending->err, escaped_plain(is_cut ? ATLAS_CUT : "")};

	buf_text(buf, "{\"stdout\":");
	escaped_put(buf, &ending->out, 1, SIZE_MAX);
	buf_text(buf, ",\"stderr\":");
	escaped_put(buf, err, ARRAY_LEN(err), SIZE_MAX);
	if (is_killed(ending))
		buf_format(buf, ",\"exitCode\":%d}", KILLED);
	else
		buf_format(buf, ",\"exitCode\":%.*s}", (int)ending->code.size, ending->code.at);
	return buf->failed;
}

static void answer(struct exchange *call, const struct ask_result *result)
{
	struct ending ending;
	AUTO_BUF struct buf body = {.max = EXCHANGE_QUEUE_MAX};
	int r;

	(void)ending_read(result->value, &ending);
	if (ending_is(&ending, "backend") || ending_is(&ending, "denied")) {
		(void)escaped_decode(&body, ending.message);
		fail(call, buf_string(&body));
		return;
	}
	r = put_answer(&body, &ending);
	if (r < 0)
		buf_consume(&body, body.size);
	exchange_answer(call, r < 0 ? 500 : 200, &body);
}

static void exec_is_done(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct atlas_exec *exec = call->user;

	atlas_leave(exec->place);
	if (result->err != NULL)
		fail_by(call, result->err);
	else
		answer(call, result);
}

static void ended(struct exchange *call)
{
	struct atlas_exec *exec = call->user;

	atlas_leave(exec->place);
}

/* The command, NUL-terminated; NULL: missing, empty, or with a NUL inside. */
static const char *command_of(struct exchange *call)
{
	struct run_bytes bytes = {0};
	char *text;

	if (!exchange_large(call, "command", true, &bytes) || bytes.size == 0 ||
	    memchr(bytes.data, '\0', (size_t)bytes.size) != NULL)
		return NULL;
	text = exchange_memory(call, (size_t)bytes.size + 1);
	memcpy(text, bytes.data, (size_t)bytes.size);
	return text;
}

/* The working directory as a path inside the sandbox; the folder's path on the host is accepted
 * too. */
static const char *cwd_of(struct exchange *call, const char *asked, const char *folder)
{
	size_t size = strlen(folder);
	const char *rest = "";
	const char *between = "";
	char *path;

	while (size > 1 && folder[size - 1] == '/')
		size--;
	if (asked != NULL && strncmp(asked, folder, size) == 0 &&
	    (asked[size] == '/' || asked[size] == '\0')) {
		rest = asked + size;
	} else if (asked != NULL && asked[0] == '/') {
		return asked;
	} else if (asked != NULL && asked[0] != '\0' && strcmp(asked, ".") != 0) {
		between = "/";
		rest = asked;
	}
	path = exchange_memory(call, strlen(INSIDE) + strlen(rest) + 2);
	(void)stpcpy(stpcpy(stpcpy(path, INSIDE), between), rest);
	return path;
}

void atlas_run_command(struct exchange *call)
{
	static const struct ask_calls calls = {.done = exec_is_done};
	const struct atlas *atlas = call->state;
	struct atlas_exec *exec = exchange_memory(call, sizeof(*exec));
	const json_t *cwd = exchange_member(call, "cwd");

	exec->place = call->user;
	call->user = exec;
	call->left = exchange_cancel;
	call->ended = ended;
	exec->args.command = command_of(call);
	if (exec->args.command == NULL) {
		atlas_say(call, 400, "Missing or invalid 'command' field");
		return;
	}
	/* A path with a NUL inside cannot name a folder. */
	if (cwd != NULL && !json_is_null(cwd) &&
	    (!json_is_string(cwd) || strlen(json_string_value(cwd)) != json_string_length(cwd))) {
		atlas_say(call, 400, "cwd must be under SEMANTIC_DIR");
		return;
	}
	exec->args.cwd = cwd_of(call, json_string_value(cwd), atlas->semantic_dir);
	exec->args.folder = atlas->folder;
	exec->args.timeout_ms =
		atlas_timeout(call, TIMEOUT_DEFAULT_MS, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS);
	exchange_ask(call, &op_explore, &exec->args, &calls);
}

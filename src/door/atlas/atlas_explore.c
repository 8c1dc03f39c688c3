// SPDX-License-Identifier: Apache-2.0
/*
 * Atlas's own API has one route that its agents use instead of the sidecar's: a command, and its
 * output or failure as one text. Here both call the same op.
 */
#include <string.h>

#include "base/c.h"
#include "base/id.h"
#include "base/json.h"
#include "base/utf8.h"
#include "door/atlas/atlas.h"
#include "door/ending.h"

#define TIMEOUT_MS 10000U
#define COMMAND_MAX 4000U /* UTF-16 units, as JavaScript counts */
#define INSIDE "/semantic"
#define UNAVAILABLE "Error: Explore tool is unavailable \\u2014 "

/* One command. */
struct atlas_explore {
	struct atlas_place *place;
	struct op_explore_args args;
};

static void say(struct exchange *call, unsigned status, const char *error, const char *message)
{
	exchange_answer_tree(call, status,
			     json_pack("{s:s,s:s}", "error", error, "message", message));
}

static void fail(struct exchange *call)
{
	char id[ID_SIZE];

	id_new("req_", id);
	exchange_answer_tree(call, 500,
			     json_pack("{s:s,s:s,s:s}", "error", "internal_error", "message",
				       "The command could not be run.", "requestId", id));
}

void atlas_explore_refuse(struct exchange *call, unsigned status, const struct err *err)
{
	if (status == 400)
		say(call, 400, "invalid_request", "Invalid JSON body.");
	else if (status == 401)
		say(call, 401, "unauthorized", "A valid API key is required.");
	else if (status == 403)
		say(call, 403, "forbidden", err->text);
	else if (status == 404 || status == 405)
		say(call, 404, "not_found", "Not found.");
	else if (status == 429 || status == 503)
		say(call, 429, "rate_limited", "Too many requests. Please wait a moment.");
	else
		say(call, status, "invalid_request", err->text);
}

static void refuse_command(struct exchange *call, const char *message)
{
	exchange_answer_tree(call, 422,
			     json_pack("{s:s,s:s,s:[{s:[s],s:s}]}", "error", "validation_error",
				       "message", "Invalid request body.", "details", "path",
				       "command", "message", message));
}

/* ---- the answer ---- */

static int put_escaped(struct buf *buf, struct escaped text, const char *absent)
{
	return text.size > 0 ? buf_append(buf, text.text, text.size) : buf_text(buf, absent);
}

static int put_failure(struct buf *buf, const struct ending *ending)
{
	if (ending_is(ending, "backend") || ending_is(ending, "denied")) {
		buf_text(buf, UNAVAILABLE);
		put_escaped(buf, ending->message, "the sandbox could not be made");
		return buf->failed;
	}
	buf_format(buf, "Error (exit %.*s):\\n", (int)ending->code.size, ending->code.at);
	if (ending_is(ending, "timeout")) {
		buf_format(buf, "Command timed out after %ums", TIMEOUT_MS);
		return buf->failed;
	}
	put_escaped(buf, ending->err, "");
	/* The command was ended from outside: its stderr does not say why. */
	if (!ending_is(ending, "exit"))
		buf_append(buf, ending->message.text, ending->message.size);
	if (ending->is_err_cut)
		buf_text(buf, ATLAS_CUT);
	return buf->failed;
}

static int put_output(struct buf *buf, const struct result *result)
{
	struct ending ending;

	buf_text(buf, "{\"output\":\"");
	(void)ending_read(result, &ending);
	/* A command that was ended for too much output has already shown all that is kept. */
	if (buf->failed == 0 &&
	    (ending_is(&ending, "ok") || (ending_is(&ending, "output") && ending.is_out_cut))) {
		put_escaped(buf, ending.out, "(no output)");
		if (ending.is_out_cut)
			buf_text(buf, ATLAS_CUT);
	} else {
		put_failure(buf, &ending);
	}
	buf_text(buf, "\"}");
	return buf->failed;
}

static void answer_error(struct exchange *call, const struct err *err)
{
	AUTO_BUF struct buf body = {.max = EXCHANGE_QUEUE_MAX};

	if (err_is_busy(err)) {
		atlas_explore_refuse(call, 429, err);
		return;
	}
	if (err->kind == ERR_FORBIDDEN) {
		atlas_explore_refuse(call, 403, err);
		return;
	}
	if (err->kind != ERR_NOT_FOUND) {
		fail(call);
		return;
	}
	/* A missing folder gets status 200 with a text, as Atlas does for a backend that is
	 * down. */
	(void)buf_text(&body, "{\"output\":\"" UNAVAILABLE "the folder does not exist\"}");
	exchange_answer(call, 200, &body);
}

static void is_done(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct atlas_explore *explore = call->user;
	AUTO_BUF struct buf body = {.max = EXCHANGE_QUEUE_MAX};

	atlas_leave(explore->place);
	if (result->err != NULL) {
		answer_error(call, result->err);
		return;
	}
	if (put_output(&body, result->value) == 0) {
		exchange_answer(call, 200, &body);
	} else {
		fail(call);
	}
}

static void ended(struct exchange *call)
{
	struct atlas_explore *explore = call->user;

	atlas_leave(explore->place);
}

/* ---- the request ---- */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Counts UTF-16 units: characters of four UTF-8 bytes take two. */
static size_t count_units(const char *text, size_t size)
{
	size_t count = utf8_count(text, size);

	for (size_t i = 0; i < size; i++)
		count += (unsigned char)text[i] >= 0xf0U ? 1U : 0U;
	return count;
}

/* The command, trimmed and NUL-terminated; NULL: refused, and answered. */
static const char *take_command(struct exchange *call)
{
	struct run_bytes bytes = {0};
	const char *text = NULL;
	char *copy = NULL;
	size_t size;

	if (!exchange_large(call, "command", true, &bytes)) {
		refuse_command(call, "Expected string");
		return NULL;
	}
	text = bytes.data;
	size = (size_t)bytes.size;
	while (size > 0 && is_space(text[size - 1]))
		size--;
	while (size > 0 && is_space(*text)) {
		text++;
		size--;
	}
	if (size == 0 || memchr(text, '\0', size) != NULL) {
		refuse_command(call, "command must not be empty");
		return NULL;
	}
	if (count_units(text, size) > COMMAND_MAX) {
		refuse_command(call, "command must be at most 4000 characters");
		return NULL;
	}
	copy = exchange_memory(call, size + 1);
	memcpy(copy, text, size);
	return copy;
}

void atlas_explore(struct exchange *call)
{
	static const struct ask_calls calls = {.done = is_done};
	const struct atlas *atlas = call->state;
	struct atlas_explore *explore = exchange_memory(call, sizeof(*explore));

	explore->place = call->user;
	call->user = explore;
	call->left = exchange_cancel;
	call->ended = ended;
	if (exchange_body_size(call) == 0) {
		atlas_explore_refuse(call, 400, NULL);
		return;
	}
	explore->args.command = take_command(call);
	if (explore->args.command == NULL)
		return;
	explore->args.cwd = INSIDE;
	explore->args.folder = atlas->folder;
	explore->args.timeout_ms = TIMEOUT_MS;
	exchange_ask(call, &op_explore, &explore->args, &calls);
}

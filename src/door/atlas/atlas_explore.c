// SPDX-License-Identifier: Apache-2.0
/*
 * Atlas's own API has one route that its agents use over the sidecar: a command, and its output as
 * one text, failures and all. Here both are the same op.
 */
#include <string.h>

#include "base/c.h"
#include "base/id.h"
#include "base/json.h"
#include "door/atlas/atlas.h"
#include "door/ending.h"

#define TIMEOUT_MS 10000U
#define COMMAND_MAX 4000U /* characters, as JavaScript counts them */
#define INSIDE "/semantic"
#define UNAVAILABLE "Error: Explore tool is unavailable \\u2014 "

/* One command. */
struct atlas_explore {
	struct atlas_place *place;
	struct ask *ask; /* borrowed: until done; NULL: over */
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

static int put_failure(struct buf *buf, const struct ending *ending, struct span code)
{
	if (ending_is(ending, "backend") || ending_is(ending, "denied")) {
		buf_text(buf, UNAVAILABLE);
		put_escaped(buf, ending->message, "the sandbox could not be made");
		return buf->failed;
	}
	buf_format(buf, "Error (exit %.*s):\\n", code.size > 0 ? (int)code.size : 1,
		   code.size > 0 ? code.at : "1");
	if (ending_is(ending, "timeout")) {
		buf_format(buf, "Command timed out after %ums", TIMEOUT_MS);
		return buf->failed;
	}
	put_escaped(buf, ending->err, "");
	/* Ended from outside: its own words do not say why. */
	if (!ending_is(ending, "exit"))
		buf_append(buf, ending->message.text, ending->message.size);
	if (ending->is_err_cut)
		buf_text(buf, ATLAS_CUT);
	return buf->failed;
}

static int put_output(struct buf *buf, const char *answer, size_t size)
{
	struct ending ending;

	buf_text(buf, "{\"output\":\"");
	(void)ending_read(answer, size, &ending);
	/* One that was ended for its output has shown all of it that anybody gets. */
	if (buf->failed == 0 &&
	    (ending_is(&ending, "ok") || (ending_is(&ending, "output") && ending.is_out_cut))) {
		put_escaped(buf, ending.out, "(no output)");
		if (ending.is_out_cut)
			buf_text(buf, ATLAS_CUT);
	} else {
		put_failure(buf, &ending, span_member((struct span){answer, size}, "exit_code"));
	}
	buf_text(buf, "\"}");
	return buf->failed;
}

static void answer_error(struct exchange *call, const struct err *err)
{
	struct buf body;

	if (err->kind == ERR_BUSY) {
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
	/* The folder is not there: an answer, as for any backend of theirs that is down. */
	buf_init(&body, EXCHANGE_QUEUE_MAX);
	(void)buf_text(&body, "{\"output\":\"" UNAVAILABLE "the folder is not there\"}");
	exchange_answer(call, 200, &body);
}

static void is_done(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct atlas_explore *explore = call->user;
	struct buf body;

	explore->ask = NULL;
	atlas_leave(explore->place);
	if (result->err != NULL) {
		answer_error(call, result->err);
		return;
	}
	buf_init(&body, EXCHANGE_QUEUE_MAX);
	if (put_output(&body, result->bytes, result->size) == 0) {
		exchange_answer(call, 200, &body);
	} else {
		buf_done(&body);
		fail(call);
	}
}

static void client_left(struct exchange *call)
{
	struct atlas_explore *explore = call->user;

	if (explore->ask != NULL)
		ask_cancel(explore->ask);
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

/* Of UTF-8: two for what JavaScript needs two units for. */
static size_t count_units(const char *text, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += ((unsigned char)text[i] & 0xc0U) != 0x80U ? 1U : 0U;
	for (size_t i = 0; i < size; i++)
		count += (unsigned char)text[i] >= 0xf0U ? 1U : 0U;
	return count;
}

/* Trimmed, with a NUL behind it; NULL when that was answered already. */
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
	call->left = client_left;
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
	explore->ask = exchange_ask(call, &op_explore, &explore->args, &calls);
}

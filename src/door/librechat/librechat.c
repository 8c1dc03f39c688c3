// SPDX-License-Identifier: Apache-2.0
#include "door/librechat/librechat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "base/utf8.h"
#include "door/config_table.h"
#include "door/escaped.h"
#include "door/librechat/multipart.h"

#define REFS_MAX 100U
#define ARGS_MAX 1000U
#define HELD_MAX (256ULL << 20) /* bytes of files that go into one run */
#define ANSWER_MAX (4ULL << 30)
#define GONE_MAX (1U << 20)
#define CODE_EMPTY "pass"

void chat_say(struct exchange *call, unsigned status, const char *text)
{
	if (status == 429)
		exchange_answer_tree(
			call, 429,
			json_pack("{s:s,s:i}", "error", "rate_limited", "retry_after_seconds",
				  call->retry_after_s > 0 ? (int)call->retry_after_s : 1));
	else
		exchange_answer_text(call, status, "error", text);
}

void chat_fail(struct chat *chat, const struct ask_result *result)
{
	if (result->err == NULL)
		chat_say(chat->call, 503, "no memory for the answer");
	else if (err_is_busy(result->err))
		chat_say(chat->call, 429, result->err->text);
	else
		chat_say(chat->call, exchange_status(result->err), result->err->text);
}

static void refuse(struct exchange *call, unsigned status, const struct err *err)
{
	chat_say(call, status == 405 ? 404 : status,
		 status == 400 ? "the body is not a JSON object" : err->text);
}

/* ---- the life of a call ---- */

static void leave(struct exchange *call)
{
	struct chat *chat = call->user;

	chat->is_left = true;
	exchange_cancel(call);
}

static void forget(struct exchange *call)
{
	struct chat *chat = call->user;

	decoded_done(&chat->decoded);
	buf_done(&chat->gone);
	script_done(&chat->script);
}

struct chat *chat_new(struct exchange *call)
{
	struct chat *chat = exchange_memory(call, sizeof(*chat));

	chat->call = call;
	buf_init(&chat->gone, GONE_MAX);
	script_init(&chat->script);
	call->user = chat;
	call->left = leave;
	call->ended = forget;
	return chat;
}

static void is_dropped(void *user, const struct ask_result *result)
{
	(void)user;
	(void)result; /* the session may have ended by itself */
}

/* Ends the session, after the call was answered. */
static void chat_drop_session(struct chat *chat)
{
	static const struct ask_calls calls = {.done = is_dropped};

	if (chat->session[0] != '\0')
		chat_ask(chat, &op_session_delete, NULL, &calls);
}

/* ---- a run in a session of its own ---- */

static bool take_event(void *user, const char *line, size_t size)
{
	struct chat *chat = ((struct exchange *)user)->user;

	script_take(&chat->script, line, size);
	return true;
}

static void finish_run(void *user, const struct ask_result *result)
{
	struct chat *chat = ((struct exchange *)user)->user;

	if (result->err != NULL || chat->script.kind[0] == '\0' ||
	    script_is(&chat->script, "backend")) {
		if (result->err != NULL)
			chat_fail(chat, result);
		else
			chat_say(chat->call, 503, "the run was lost");
		chat_drop_session(chat);
	} else {
		chat->ran(chat);
	}
}

static void take_created(void *user, const struct ask_result *result)
{
	static const struct ask_calls calls = {.event = take_event, .done = finish_run};
	struct chat *chat = ((struct exchange *)user)->user;

	if (result->err != NULL) {
		chat_fail(chat, result);
		return;
	}
	(void)snprintf(chat->session, sizeof(chat->session), "%s", result->session);
	if (chat->is_left) {
		chat_say(chat->call, 503, "the client has left");
		chat_drop_session(chat);
		return;
	}
	chat->run.session = chat->session;
	exchange_ask(chat->call, &op_session_run, &chat->run, &calls);
}

/* Makes a new session and runs in it; then calls chat->ran. On failure the call is answered. */
static void chat_run(struct chat *chat)
{
	static const struct ask_calls calls = {.done = take_created};

	chat->session[0] = '\0';
	chat->create.transactional = OP_NO;
	chat->run.files = chat->files;
	exchange_ask(chat->call, &op_session_create, &chat->create, &calls);
}

/* ---- files of earlier runs ---- */

static void next_ref(struct chat *chat);

/* Notes on stderr that a file is gone, since the code will not find it. */
static void note_gone(struct chat *chat)
{
	(void)buf_text(&chat->gone, chat->gone.size > 0 ? ", " : "no longer there: ");
	(void)buf_text(&chat->gone, chat->refs[chat->at].name);
}

static void take_bytes(void *user, const struct ask_result *result)
{
	struct chat *chat = ((struct exchange *)user)->user;
	struct run_file *file = &chat->files[chat->run.file_count];
	char *copy;

	if (result->err != NULL) {
		note_gone(chat);
	} else if (result->size > HELD_MAX - chat->held) {
		chat_say(chat->call, 413, "the files together are too large");
		return;
	} else if (!exchange_keep(chat->call, result->size)) {
		chat_say(chat->call, 503, "too many files are being read; try again later");
		return;
	} else {
		copy = exchange_memory(chat->call, result->size + 1);
		memcpy(copy, result->bytes, result->size);
		file->path = chat->refs[chat->at].name;
		file->bytes = (struct run_bytes){.data = copy, .size = result->size, .fd = -1};
		chat->held += result->size;
		chat->run.file_count++;
	}
	chat->at++;
	next_ref(chat);
}

static void read_path(struct chat *chat, const char *path)
{
	static const struct ask_calls calls = {.done = take_bytes};

	if (path != NULL) {
		chat_ask(chat, &op_files_read, path, &calls);
		return;
	}
	note_gone(chat);
	chat->at++;
	next_ref(chat);
}

static void next_ref(struct chat *chat)
{
	if (chat->is_left)
		chat_say(chat->call, 503, "the client has left");
	else if (chat->at < chat->ref_count)
		chat_find_path(chat);
	else
		chat_run(chat);
}

/* Each item is {"id","name","storage_session_id" or "session_id"}. */
static bool take_refs(struct chat *chat, const json_t *list)
{
	size_t count = json_array_size(list);

	if (list != NULL && !json_is_null(list) && !json_is_array(list))
		return false;
	if (count > REFS_MAX)
		return false;
	chat->refs = exchange_memory(chat->call, (count + 1) * sizeof(*chat->refs));
	chat->files = exchange_memory(chat->call, (count + 1) * sizeof(*chat->files));
	for (size_t i = 0; i < count; i++) {
		const json_t *given = json_array_get(list, i);
		const json_t *session = json_object_get(given, "storage_session_id");
		struct chat_ref *ref = &chat->refs[i];

		if (!json_is_string(session))
			session = json_object_get(given, "session_id");
		ref->session = json_string_value(session);
		ref->id = json_string_value(json_object_get(given, "id"));
		ref->name = json_string_value(json_object_get(given, "name"));
		if (ref->session == NULL || ref->id == NULL || ref->name == NULL ||
		    !script_is_path(ref->name))
			return false;
	}
	chat->ref_count = count;
	return true;
}

/* ---- /exec ---- */

/* Appended without quotes, since a string is already open. */
static void put_gone(struct buf *buf, const struct buf *gone)
{
	AUTO_BUF struct buf quoted = {.max = 8UL * GONE_MAX};

	if (json_put_string(&quoted, gone->data, gone->size) == 0)
		buf_append(buf, quoted.data + 1, quoted.size - 2);
	else
		buf->failed = quoted.failed;
}

/* Ends the last line of stderr, so that the next text starts a line. stderr is the inside of a JSON
 * string, from `begin` on: a newline is written as \n there, and a backslash as two. */
static void begin_line(struct buf *buf, size_t begin)
{
	size_t size = buf->size - begin;
	size_t slashes = 0;

	while (slashes + 1 < size && buf->data[buf->size - 2 - slashes] == '\\')
		slashes++;
	if (size > 0 && (buf->data[buf->size - 1] != 'n' || slashes % 2 == 0))
		buf_text(buf, "\\n");
}

static void put_streams(struct buf *buf, const struct chat *chat)
{
	const struct script *script = &chat->script;
	bool has_failed = !script_is(script, "ok") && !script_is(script, "exit") &&
			  !script_is(script, "exception");
	size_t begin;

	buf_text(buf, "\"stdout\":\"");
	buf_append(buf, script->out.data, script->out.size);
	buf_text(buf, "\",\"stderr\":\"");
	begin = buf->size;
	buf_append(buf, script->err.data, script->err.size);
	if (has_failed || script->is_out_cut || script->is_err_cut)
		begin_line(buf, begin);
	/* Failures that the code itself did not report on stderr. */
	if (has_failed)
		buf_append(buf, script->message.data, script->message.size);
	else if (script->is_out_cut || script->is_err_cut)
		buf_text(buf, SCRIPT_CUT);
	if (chat->gone.size > 0) {
		begin_line(buf, begin);
		put_gone(buf, &chat->gone);
	}
	buf_text(buf, "\",\"files\":");
}

static void answer_exec(struct chat *chat)
{
	json_auto_t *files = chat_files_of(chat);
	AUTO_FREE char *text = json_dumps(files, JSON_COMPACT | JSON_ENSURE_ASCII);
	bool is_kept = json_array_size(files) > 0 && !chat->is_left;
	char id[CHAT_ID_SIZE];
	AUTO_BUF struct buf buf = {.max = ANSWER_MAX};

	chat_short_session(chat->session, id);
	buf_format(&buf, "{\"session_id\":\"%s\",", id);
	put_streams(&buf, chat);
	buf_format(&buf, "%s}", text != NULL ? text : "");
	if (text == NULL || buf.failed < 0)
		chat_say(chat->call, 503, "no memory for the answer");
	else
		exchange_answer(chat->call, 200, &buf);
	if (!is_kept)
		chat_drop_session(chat);
}

static bool take_arguments(struct chat *chat, const json_t *list)
{
	size_t count = json_array_size(list);
	const char **argv = exchange_memory(chat->call, (count + 2) * sizeof(*argv));

	argv[0] = "main.py";
	if ((list != NULL && !json_is_null(list) && !json_is_array(list)) || count > ARGS_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		argv[i + 1] = json_string_value(json_array_get(list, i));
		if (argv[i + 1] == NULL)
			return false;
	}
	chat->run.argv = argv;
	return true;
}

static void exec(struct exchange *call)
{
	const char *language = json_string_value(exchange_member(call, "lang"));
	struct chat *chat = chat_new(call);
	struct run_bytes code;

	if (language == NULL) {
		chat_say(call, 400, "lang: must be a string");
	} else if (strcmp(language, "py") != 0 && strcmp(language, "python") != 0 &&
		   strcmp(language, "bash") != 0) {
		chat_say(call, 400, "lang: only py and bash run here");
	} else if (!exchange_large(call, "code", true, &code) || code.size == 0) {
		chat_say(call, 400, "code: must be a string that is not empty");
	} else if (!take_arguments(chat, exchange_member(call, "args"))) {
		chat_say(call, 400, "args: must be a list of strings");
	} else if (!take_refs(chat, exchange_member(call, "files"))) {
		chat_say(call, 400,
			 "files: must be a list of at most 100 {id, name, storage_session_id}");
	} else {
		if (strcmp(language, "bash") == 0)
			chat->run.command = code;
		else
			chat->run.code = code;
		chat->found = read_path;
		chat->ran = answer_exec;
		next_ref(chat);
	}
}

/* ---- /upload ---- */

static void answer_upload(struct chat *chat)
{
	json_t *files = json_array();
	char id[CHAT_ID_SIZE];

	for (size_t i = 0; i < chat->run.file_count; i++) {
		const char *path = chat->files[i].path;

		chat_file_id(path, strlen(path), id);
		(void)json_array_append_new(files,
					    json_pack("{s:s,s:s}", "fileId", id, "filename", path));
	}
	chat_short_session(chat->session, id);
	exchange_answer_tree(
		chat->call, 200,
		json_pack("{s:s,s:s,s:o}", "message", "success", "session_id", id, "files", files));
	if (chat->is_left)
		chat_drop_session(chat);
}

/* Takes a file of the form; other parts are skipped. */
static bool take_part(struct chat *chat, const struct multipart_part *part)
{
	struct run_file *file = &chat->files[chat->run.file_count];
	char *name;

	if (part->filename.text == NULL)
		return true;
	if (chat->run.file_count >= REFS_MAX)
		return false;
	name = exchange_memory(chat->call, part->filename.size + 1);
	memcpy(name, part->filename.text, part->filename.size);
	if (strlen(name) != part->filename.size || !script_is_path(name) ||
	    !utf8_is_valid(name, part->filename.size))
		return false;
	file->path = name;
	file->bytes = (struct run_bytes){
		.data = part->bytes.text,
		.size = part->bytes.size,
		.fd = -1,
	};
	chat->run.file_count++;
	return true;
}

static void upload(struct exchange *call)
{
	struct chat *chat = chat_new(call);
	struct multipart_part part;
	struct run_bytes body;
	struct multipart parts;
	struct err err = {0};
	int r = -1;

	chat->files = exchange_memory(call, REFS_MAX * sizeof(*chat->files));
	if (exchange_body(call, true, &body, &err) < 0) {
		chat_say(call, exchange_status(&err), err.text);
		return;
	}
	if (multipart_open(&parts, exchange_header(call, "Content-Type"), body.data, body.size)) {
		do {
			r = multipart_next(&parts, &part);
		} while (r == 1 && take_part(chat, &part));
	}
	if (r != 0 || chat->run.file_count == 0) {
		chat_say(call, 400,
			 "the body must be a form with at least one file; each file needs a name");
		return;
	}
	chat->run.code = (struct run_bytes){.data = CODE_EMPTY, .size = 4, .fd = -1};
	chat->ran = answer_upload;
	chat_run(chat);
}

/* ---- routes ---- */

static const struct op_param exec_members[] = {
	{.name = "lang", .type = OP_TEXT},
	{.name = "code", .type = OP_BYTES},
	{.name = "args", .type = OP_TEXTS},
	{.name = "files", .type = OP_TEXTS},
};

/* Each route also with /v1, for clients whose base URL ends with it. */
#define BOTH(method_, path_, ...)                                                                  \
	{.method = (method_), .path = (path_), __VA_ARGS__},                                       \
	{                                                                                          \
		.method = (method_), .path = "/v1" path_, __VA_ARGS__                              \
	}

static const struct door_route routes[] = {
	BOTH("POST", "/exec", DOOR_MEMBERS(exec_members), .run = exec),
	BOTH("POST", "/upload", .run = upload),
	BOTH("GET", "/download/{session}/{file}", .run = chat_download),
	BOTH("GET", "/files/{session}", .run = chat_list),
};

const struct door door_librechat = {
	.name = "librechat",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	.config = &librechat_config,
	.token_header = "X-Api-Key",
	.refuse = refuse,
};

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "base/json.h"
#include "door/librechat/librechat.h"
#include "op/op_session.h"

#define ID_PREFIX "ses_"
#define WORKSPACE "/workspace/"

/* ---- ids ---- */

void chat_short_session(const char *session, char ret_id[CHAT_ID_SIZE])
{
	(void)snprintf(ret_id, CHAT_ID_SIZE, "%s", session + strlen(ID_PREFIX));
}

void chat_file_id(const char *path, size_t size, char ret_id[CHAT_ID_SIZE])
{
	unsigned char hash[16];
	char text[sodium_base64_ENCODED_LEN(16, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];

	(void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)path, size, NULL, 0);
	(void)sodium_bin2base64(text, sizeof(text), hash, sizeof(hash),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	(void)snprintf(ret_id, CHAT_ID_SIZE, "%.*s", CHAT_ID_SIZE - 1, text);
}

static bool is_id(const char *id)
{
	return id != NULL && strlen(id) == CHAT_ID_SIZE - 1 &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       CHAT_ID_SIZE - 1;
}

/* Finds the caller's session whose id begins with `id`. */
static bool find_session(struct chat *chat, const char *id)
{
	AUTO_FREE struct session **sessions = NULL;

	chat->session[0] = '\0';
	if (!is_id(id))
		return false;
	sessions = op_sessions_seen(chat->call->engine, &chat->call->caller);
	for (size_t i = 0; sessions[i] != NULL && chat->session[0] == '\0'; i++) {
		const char *found = session_id(sessions[i]);

		if (strncmp(found + strlen(ID_PREFIX), id, strlen(id)) == 0)
			(void)snprintf(chat->session, sizeof(chat->session), "%s", found);
	}
	return chat->session[0] != '\0';
}

/* ---- asking ---- */

void chat_ask(struct chat *chat, const struct op *op, const char *path,
	      const struct ask_calls *calls)
{
	const struct decode_pair pairs[] = {{"id", chat->session}, {"path", path}};
	const struct decode_pair deep = {"recursive", "true"};
	const struct decode_source source = {
		.path = pairs,
		.path_count = path != NULL ? 2 : 1,
		.query = &deep,
		.query_count = op == &op_files_list,
	};
	struct err err = {0};

	decoded_done(&chat->decoded);
	chat->decoded = (struct decoded){0};
	if (decode_args(op, &source, &chat->decoded, &err) < 0) {
		chat_say(chat->call, 400, err.text);
		return;
	}
	exchange_ask(chat->call, op, chat->decoded.args, calls);
}

/* The list of files in an answer; NULL: there is none, or it is too large to parse. */
static json_t *files_of(const char *json, size_t size)
{
	const char *list = NULL;
	size_t n = 0;

	if (!json_find(json, size, "files", &list, &n) || n > EXCHANGE_JSON_MAX)
		return NULL;
	return json_loadb(list, n, 0, NULL);
}

static const char *path_of(const json_t *file)
{
	const char *path = json_string_value(json_object_get(file, "path"));

	return path != NULL && strncmp(path, WORKSPACE, strlen(WORKSPACE)) == 0
		       ? path + strlen(WORKSPACE)
		       : NULL;
}

static void take_listing(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct chat *chat = call->user;
	json_auto_t *files = NULL;
	const json_t *file;
	size_t i;

	if (result->err == NULL)
		files = files_of(result->bytes, result->size);
	json_array_foreach(files, i, file) {
		const char *path = path_of(file);
		char id[CHAT_ID_SIZE];

		if (path == NULL)
			continue;
		chat_file_id(path, strlen(path), id);
		if (strcmp(id, chat->refs[chat->at].id) == 0) {
			chat->found(chat, path);
			return;
		}
	}
	chat->found(chat, NULL);
}

void chat_find_path(struct chat *chat)
{
	static const struct ask_calls calls = {.done = take_listing};

	if (find_session(chat, chat->refs[chat->at].session))
		chat_ask(chat, &op_files_list, NULL, &calls);
	else
		chat->found(chat, NULL);
}

/* ---- descriptions of files ---- */

static json_t *describe(const struct chat *chat, const char *path)
{
	char session[CHAT_ID_SIZE];
	char id[CHAT_ID_SIZE];

	chat_short_session(chat->session, session);
	chat_file_id(path, strlen(path), id);
	return json_pack("{s:s,s:s,s:s,s:s}", "id", id, "name", path, "session_id", session,
			 "storage_session_id", session);
}

json_t *chat_files_of(const struct chat *chat)
{
	json_t *told = json_array();
	json_auto_t *files = NULL;
	const json_t *file;
	size_t i;

	if (chat->script.files.size > 0 && chat->script.files.size <= EXCHANGE_JSON_MAX)
		files = json_loadb((const char *)chat->script.files.data, chat->script.files.size,
				   0, NULL);
	json_array_foreach(files, i, file) {
		const char *path = path_of(file);

		if (path != NULL)
			(void)json_array_append_new(told, describe(chat, path));
	}
	return told;
}

/* As /files lists it: clients take the id from `name`, and the name from the metadata. */
static json_t *describe_fully(const struct chat *chat, const json_t *file, const char *path)
{
	const char *mime = json_string_value(json_object_get(file, "mime"));
	time_t seconds = (time_t)(json_integer_value(json_object_get(file, "mtime_ms")) / 1000);
	json_t *told = describe(chat, path);
	char name[2 * CHAT_ID_SIZE];
	char when[32] = "";
	struct tm parts;

	(void)snprintf(name, sizeof(name), "%s/%s",
		       json_string_value(json_object_get(told, "session_id")),
		       json_string_value(json_object_get(told, "id")));
	if (gmtime_r(&seconds, &parts) != NULL)
		(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &parts);
	(void)json_object_set_new(told, "name", json_string(name));
	(void)json_object_set_new(told, "lastModified", json_string(when));
	(void)json_object_set_new(told, "size",
				  json_integer(json_integer_value(json_object_get(file, "size"))));
	(void)json_object_set_new(told, "contentType",
				  json_string(mime != NULL ? mime : "application/octet-stream"));
	(void)json_object_set_new(told, "metadata", json_pack("{s:s}", "original-filename", path));
	return told;
}

/* ---- routes ---- */

static void take_file(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct chat *chat = call->user;
	AUTO_BUF struct buf body = {.max = result->size};

	if (result->err != NULL) {
		chat_fail(chat, result);
		return;
	}
	if (buf_append(&body, result->bytes, result->size) < 0) {
		chat_say(call, 503, "no memory for the file");
	} else {
		exchange_set_header(call, "Content-Disposition", "attachment");
		exchange_answer_as(call, 200, "application/octet-stream", &body);
	}
}

static void download_path(struct chat *chat, const char *path)
{
	static const struct ask_calls calls = {.done = take_file};

	if (path == NULL)
		chat_say(chat->call, 404, "there is no such file, or it is gone");
	else
		chat_ask(chat, &op_files_read, path, &calls);
}

/* The state of a call whose path has a session and maybe a file. */
static struct chat *chat_of_path(struct exchange *call)
{
	struct chat *chat = chat_new(call);

	chat->refs = exchange_memory(call, sizeof(*chat->refs));
	chat->refs[0] = (struct chat_ref){
		.session = exchange_var(call, "session"),
		.id = exchange_var(call, "file"),
	};
	chat->ref_count = 1;
	return chat;
}

void chat_download(struct exchange *call)
{
	struct chat *chat = chat_of_path(call);

	chat->found = download_path;
	if (is_id(chat->refs[0].id))
		chat_find_path(chat);
	else
		download_path(chat, NULL);
}

static void tell_listing(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct chat *chat = call->user;
	json_auto_t *files = NULL;
	json_t *told = json_array();
	const json_t *file;
	size_t i;

	if (result->err == NULL)
		files = files_of(result->bytes, result->size);
	json_array_foreach(files, i, file) {
		const char *path = path_of(file);

		if (path != NULL)
			(void)json_array_append_new(told, describe_fully(chat, file, path));
	}
	if (result->err != NULL) {
		json_decref(told);
		chat_fail(chat, result);
	} else {
		exchange_answer_tree(call, 200, told);
	}
}

void chat_list(struct exchange *call)
{
	static const struct ask_calls calls = {.done = tell_listing};
	struct chat *chat = chat_of_path(call);

	if (find_session(chat, chat->refs[0].session))
		chat_ask(chat, &op_files_list, NULL, &calls);
	else
		chat_say(call, 404, "there is no such session, or it has ended");
}

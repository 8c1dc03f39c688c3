// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"

#define SCHEME "sandbox://"
#define READ_MAX (32U << 20)
#define PATH_SIZE 4096

static void not_found(struct mcp_request *request, const char *why)
{
	const char *uri = mcp_text(request->message.params, "uri");
	struct buf data;

	buf_init(&data, 16 * KIB);
	if (buf_text(&data, "{\"uri\":") == 0 &&
	    json_put_string(&data, uri, strnlen(uri, 2048)) == 0)
		(void)buf_text(&data, "}");
	mcp_refuse(request, 0, request->is_modern ? MCP_INVALID_PARAMS : MCP_NO_RESOURCE,
		   buf_string(&data), "Resource not found%s%s", why != NULL ? ": " : "",
		   why != NULL ? why : "");
	buf_done(&data);
}

static void ask(struct mcp_request *request, const struct op *op, const char *const *pairs,
		mcp_op_end *end)
{
	struct decoded decoded = {0};
	struct err err = {0};

	if (mcp_op_decode(op, pairs, &decoded, &err) < 0)
		not_found(request, err.text);
	else
		request->op = mcp_op_start(request->mcp, &request->caller, op, &decoded, NULL, NULL,
					   end, request);
}

/* ---- list: every session is one, and names its files ---- */

static void put_session(struct buf *buf, const struct mcp_item *session, const char *joint)
{
	const char *id = NULL, *name = NULL;
	size_t id_size = 0, name_size = 0;

	if (!json_find(session->value, session->value_size, "id", &id, &id_size) || id_size < 3)
		return;
	(void)buf_format(buf, "%s{\"uri\":\"" SCHEME "%.*s/\",\"name\":", joint, (int)id_size - 2,
			 id + 1);
	if (json_find(session->value, session->value_size, "name", &name, &name_size) &&
	    name_size > 2 && name[0] == '"')
		(void)buf_append(buf, name, name_size);
	else
		(void)buf_append(buf, id, id_size);
	(void)buf_text(buf, ",\"description\":\"the files of this session\","
			    "\"mimeType\":\"application/json\"}");
}

static void listed(void *user, const struct ask_result *result)
{
	struct mcp_request *request = user;
	const char *sessions = NULL;
	size_t size = 0;
	struct mcp_item item = {0};
	struct buf members;

	request->op = NULL;
	if (result->err != NULL) {
		mcp_refuse(request, 0, MCP_INTERNAL, NULL, "%s", result->err->text);
		return;
	}
	buf_init(&members, 8 * MIB);
	(void)buf_text(&members, "\"resources\":[");
	if (mcp_extra != NULL)
		mcp_extra->put_resources(&members);
	if (json_find(result->bytes, result->size, "sessions", &sessions, &size)) {
		while (mcp_next_item(sessions, size, &item))
			put_session(&members, &item,
				    members.data[members.size - 1] == '[' ? "" : ",");
	}
	(void)buf_text(&members, "]");
	mcp_reply_buf(request, NULL, &members);
}

void mcp_resources_list(struct mcp_request *request)
{
	if (json_object_get(request->message.params, "cursor") != NULL)
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
			   "cursor: there is one page, and no cursor was given");
	else
		ask(request, &op_session_list, NULL, listed);
}

void mcp_resources_templates(struct mcp_request *request)
{
	struct buf members;

	buf_init(&members, 16 * KIB);
	(void)buf_text(&members,
		       "\"resourceTemplates\":[{\"uriTemplate\":\"" SCHEME
		       "{id}/{+path}\",\"name\":\"file\",\"title\":\"A file of a session "
		       "or a run\",\"description\":\"id: a session_id, or the id of a run; "
		       "path: below /workspace; without one, the list of files\"}");
	if (mcp_extra != NULL)
		mcp_extra->put_templates(&members);
	(void)buf_text(&members, "]");
	mcp_reply_buf(request, NULL, &members);
}

/* ---- read ---- */

static void begin_contents(const struct mcp_request *request, struct buf *buf, const char *mime)
{
	(void)buf_text(buf, "\"contents\":[{\"uri\":");
	(void)json_put_text(buf, mcp_text(request->message.params, "uri"));
	(void)buf_text(buf, ",\"mimeType\":");
	(void)json_put_text(buf, mime);
	(void)buf_text(buf, ",");
}

static void answer_bytes(struct mcp_request *request, const void *bytes, size_t size,
			 const char *mime)
{
	bool is_text = strncmp(mime, "text/", 5) == 0 || strcmp(mime, "application/json") == 0;
	struct buf members;
	int r;

	buf_init(&members, MCP_ANSWER_MAX);
	begin_contents(request, &members, mime);
	r = buf_text(&members, is_text ? "\"text\":" : "\"blob\":");
	if (r == 0)
		r = is_text ? json_put_string(&members, bytes, size)
			    : mcp_put_base64(&members, bytes, size);
	if (r == 0)
		r = buf_text(&members, "}]");
	if (r == 0) {
		mcp_reply_buf(request, NULL, &members);
		return;
	}
	buf_done(&members);
	mcp_refuse(request, 0, MCP_INTERNAL, NULL, "no memory for the resource");
}

static void read_file(void *user, const struct ask_result *result)
{
	struct mcp_request *request = user;

	request->op = NULL;
	if (result->err != NULL)
		not_found(request, result->err->text);
	else if (result->size > READ_MAX)
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
			   "the file is larger than 32 MiB; GET /v1/sessions/{id}/files/{path} "
			   "gives it whole");
	else
		answer_bytes(request, result->bytes, result->size,
			     mcp_mime(result->bytes, result->size));
}

static void read_list(void *user, const struct ask_result *result)
{
	struct mcp_request *request = user;

	request->op = NULL;
	if (result->err != NULL)
		not_found(request, result->err->text);
	else
		answer_bytes(request, result->bytes, result->size, "application/json");
}

/* What the URI says behind the id, decoded. "": nothing. False: it cannot be. */
static bool take_path(const struct mcp_request *request, char ret_path[PATH_SIZE])
{
	const char *uri = mcp_text(request->message.params, "uri");
	const char *slash = strchr(uri + strlen(SCHEME), '/');

	ret_path[0] = '\0';
	return slash == NULL || (strlen(slash + 1) < PATH_SIZE &&
				 decode_percent(slash + 1, strlen(slash + 1), ret_path) == 0);
}

static bool is_path(const struct mcp_item *file, const char *path)
{
	char full[PATH_SIZE + 16];
	const char *value = NULL;
	size_t size = 0;
	json_auto_t *json = NULL;

	if (!json_find(file->value, file->value_size, "path", &value, &size))
		return false;
	json = json_loadb(value, size, JSON_DECODE_ANY, NULL);
	(void)snprintf(full, sizeof(full), "/workspace/%s", path);
	return json_is_string(json) && strcmp(json_string_value(json), full) == 0;
}

static void answer_base64(struct mcp_request *request, const struct mcp_item *file,
			  const char *base64, size_t size)
{
	const char *mime = NULL;
	size_t mime_size = 0;
	json_auto_t *said = NULL;
	struct buf bytes;

	if (mcp_take_base64(base64 + 1, size - 2, &bytes) < 0) {
		not_found(request, "the file cannot be read");
		return;
	}
	if (json_find(file->value, file->value_size, "mime", &mime, &mime_size))
		said = json_loadb(mime, mime_size, JSON_DECODE_ANY, NULL);
	/* Only what is text is sent as text, whatever its name says. */
	if (json_is_string(said) && strcmp(mcp_mime(bytes.data, bytes.size), "text/plain") == 0 &&
	    strncmp(json_string_value(said), "text/", 5) == 0)
		answer_bytes(request, bytes.data, bytes.size, json_string_value(said));
	else
		answer_bytes(request, bytes.data, bytes.size, mcp_mime(bytes.data, bytes.size));
	buf_done(&bytes);
}

/* A file of a run that had a sandbox of its own: its bytes came with the result. */
static void read_from_run(void *user, const struct ask_result *result)
{
	struct mcp_request *request = user;
	const char *files = NULL, *data = NULL;
	size_t size = 0, data_size = 0;
	char path[PATH_SIZE];
	struct mcp_item item = {0};

	request->op = NULL;
	if (result->err != NULL || !take_path(request, path) ||
	    !json_find(result->bytes, result->size, "files", &files, &size)) {
		not_found(request, result->err != NULL ? result->err->text : NULL);
		return;
	}
	while (mcp_next_item(files, size, &item)) {
		if (is_path(&item, path) &&
		    json_find(item.value, item.value_size, "base64", &data, &data_size) &&
		    data[0] == '"' && data_size >= 2) {
			answer_base64(request, &item, data, data_size);
			return;
		}
	}
	not_found(request, "the run has no such file, or it was too large to be kept");
}

void mcp_resources_read(struct mcp_request *request)
{
	const char *uri = mcp_text(request->message.params, "uri");
	char id[ID_SIZE] = "", path[PATH_SIZE];
	const char *const pairs[] = {"id", id, "path", path, NULL};
	const char *const only_id[] = {"id", id, NULL};
	const char *const all[] = {"id", id, "recursive", "true", NULL};

	if (uri == NULL) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL, "uri: is required, a text");
		return;
	}
	if (mcp_extra != NULL && mcp_extra->read(request, uri))
		return;
	if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0 || !take_path(request, path)) {
		not_found(request, NULL);
		return;
	}
	(void)snprintf(id, sizeof(id), "%.*s", (int)strcspn(uri + strlen(SCHEME), "/"),
		       uri + strlen(SCHEME));
	if (strncmp(id, "run_", 4) == 0)
		ask(request, &op_run_get, only_id, read_from_run);
	else if (path[0] == '\0')
		ask(request, &op_files_list, all, read_list);
	else
		ask(request, &op_files_read, pairs, read_file);
}

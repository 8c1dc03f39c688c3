// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"
#include "op/op_session.h"

#define SCHEME "sandbox://"
#define READ_MAX (32U << 20)
#define PATH_SIZE 4096

static void not_found(struct mcp_request *request, const char *why)
{
	const char *uri = mcp_text(request->message.params, "uri");
	AUTO_BUF struct buf data = {.max = 16 * KIB};

	json_put(&data, "{'uri':%.*s}", (int)strnlen(uri, 2048), uri);
	mcp_refuse(request, 0, request->is_modern ? MCP_INVALID_PARAMS : MCP_NO_RESOURCE,
		   buf_string(&data), "Resource not found%s%s", why != NULL ? ": " : "",
		   why != NULL ? why : "");
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

/* ---- list: each session is a resource, the list of its files ---- */

static void put_session(struct buf *buf, const struct session *session)
{
	const char *name = session_name(session);

	buf_format(buf, "%s{\"uri\":\"" SCHEME "%s/\",\"name\":",
		   buf->data[buf->size - 1] == '[' ? "" : ",", session_id(session));
	json_put_text(buf, name[0] != '\0' ? name : session_id(session));
	buf_text(buf, ",\"description\":\"the files of this session\","
		      "\"mimeType\":\"application/json\"}");
}

void mcp_resources_list(struct mcp_request *request)
{
	AUTO_FREE struct session **sessions = NULL;
	AUTO_BUF struct buf members = {.max = 8 * MIB};

	if (json_object_get(request->message.params, "cursor") != NULL) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
			   "cursor: is not valid; the list has only one page");
		return;
	}
	sessions = op_sessions_seen(request->mcp->engine, &request->caller);
	buf_text(&members, "\"resources\":[");
	if (mcp_extra != NULL)
		mcp_extra->put_resources(&members);
	for (size_t i = 0; sessions[i] != NULL; i++)
		put_session(&members, sessions[i]);
	buf_text(&members, "]");
	mcp_reply_buf(request, NULL, &members);
}

void mcp_resources_templates(struct mcp_request *request)
{
	AUTO_BUF struct buf members = {.max = 16 * KIB};

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

static void answer_bytes(struct mcp_request *request, const void *bytes, size_t size,
			 const char *mime)
{
	bool is_text = strncmp(mime, "text/", 5) == 0 || strcmp(mime, "application/json") == 0;
	AUTO_BUF struct buf members = {.max = MCP_ANSWER_MAX};

	json_put(&members, "'contents':[{'uri':%s,'mimeType':%s,%s:",
		 mcp_text(request->message.params, "uri"), mime, is_text ? "text" : "blob");
	if (is_text)
		json_put_string(&members, bytes, size);
	else
		mcp_put_base64(&members, bytes, size);
	if (json_put(&members, "}]") == 0)
		mcp_reply_buf(request, NULL, &members);
	else
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
			   "the file is larger than 32 MiB; read it with "
			   "GET /v1/sessions/{id}/files/{path}");
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

/* The path after the id in the URI, decoded; "": none. False: too long, or badly encoded. */
static bool take_path(const struct mcp_request *request, char ret_path[PATH_SIZE])
{
	const char *uri = mcp_text(request->message.params, "uri");
	const char *slash = strchr(uri + strlen(SCHEME), '/');

	ret_path[0] = '\0';
	return slash == NULL || (strlen(slash + 1) < PATH_SIZE &&
				 decode_percent(slash + 1, strlen(slash + 1), ret_path) == 0);
}

static bool is_path(struct span file, const char *path)
{
	char full[PATH_SIZE + 16], told[PATH_SIZE + 16];

	(void)snprintf(full, sizeof(full), "/workspace/%s", path);
	span_text(span_member(file, "path"), told, sizeof(told));
	return strcmp(told, full) == 0;
}

static void answer_base64(struct mcp_request *request, struct span file, struct span base64)
{
	char told[256];
	AUTO_BUF struct buf bytes = {.max = base64.size + 1};

	if (buf_unbase64(&bytes, base64.at + 1, base64.size - 2, "\r\n") < 0) {
		not_found(request, "the file cannot be read");
		return;
	}
	span_text(span_member(file, "mime"), told, sizeof(told));
	/* Bytes are sent as text only if they are text, whatever the file's type says. */
	if (strcmp(mcp_mime(bytes.data, bytes.size), "text/plain") == 0 &&
	    strncmp(told, "text/", 5) == 0)
		answer_bytes(request, bytes.data, bytes.size, told);
	else
		answer_bytes(request, bytes.data, bytes.size, mcp_mime(bytes.data, bytes.size));
}

/* Reads a file of a run without a session: its bytes came with the result. */
static void read_from_run(void *user, const struct ask_result *result)
{
	struct mcp_request *request = user;
	struct json_member item = {0};
	char path[PATH_SIZE];
	struct span files;

	request->op = NULL;
	if (result->err != NULL || !take_path(request, path)) {
		not_found(request, result->err != NULL ? result->err->text : NULL);
		return;
	}
	files = result->value->members[RESULT_FILES];
	while (json_item(files.at, files.size, &item)) {
		struct span file = {item.value, item.size};
		struct span data = span_member(file, "base64");

		if (data.size >= 2 && data.at[0] == '"' && is_path(file, path)) {
			answer_base64(request, file, data);
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
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL, "uri: a text is required");
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

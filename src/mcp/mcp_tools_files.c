// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "api/walk.h"
#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"

#define READ_MAX (8U << 20) /* bytes of a file that are put into an answer */

const struct mcp_tool mcp_tool_files = {
	.name = "list_files",
	.title = "List files",
	.help = "List the files of a session below /workspace.",
	.op = &op_files_list,
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
};

struct file_args {
	const char *id, *path;
	struct run_bytes text, base64;
};

#define FILE_ROWS                                                                                  \
	{OP_PARAM(struct file_args, id, .name = "session_id", .type = OP_TEXT,                     \
		  .is_required = true, .help = "id of the session")},                              \
	{                                                                                          \
		OP_PARAM(struct file_args, path, .name = "path", .type = OP_TEXT,                  \
			 .is_required = true, .help = "the file, relative to /workspace")          \
	}

static const struct op_param read_params[] = {FILE_ROWS};
static const struct op_param write_params[] = {
	FILE_ROWS,
	{OP_PARAM(struct file_args, text, .name = "text", .type = OP_BYTES,
		  .help = "what the file is to hold, as text")},
	{OP_PARAM(struct file_args, base64, .name = "base64", .type = OP_BYTES,
		  .help = "what the file is to hold, as base64 of its bytes")},
};

/* "/workspace/a" and "a" are the same file. */
static const char *below_workspace(const char *path)
{
	static const char folder[] = "/workspace/";

	return strncmp(path, folder, strlen(folder)) == 0 ? path + strlen(folder) : path;
}

static void write_done(struct mcp_call *call, const char *json, size_t size, const struct err *err)
{
	if (err != NULL)
		mcp_answer_err(call, err);
	else
		mcp_answer_json(call, false, NULL, json, size);
}

static void call_write(struct mcp_call *call)
{
	const struct file_args *args = mcp_call_args(call);
	const char *const pairs[] = {"id", args->id, "path", below_workspace(args->path), NULL};
	const char *base64 = args->base64.data;
	struct buf bytes;
	struct err err = {0};

	if ((args->text.data == NULL) == (base64 == NULL)) {
		(void)err_set(&err, ERR_BAD_REQUEST, EINVAL,
			      "text: give exactly one of text and base64");
		mcp_answer_err(call, &err);
		return;
	}
	if (base64 == NULL) {
		mcp_call_op(call, &op_files_write, pairs, args->text.data, (size_t)args->text.size,
			    write_done);
		return;
	}
	if (mcp_take_base64(base64, (size_t)args->base64.size, &bytes) < 0) {
		(void)err_set(&err, ERR_BAD_REQUEST, EINVAL, "base64: is not base64");
		mcp_answer_err(call, &err);
		return;
	}
	mcp_call_op(call, &op_files_write, pairs, buf_string(&bytes), bytes.size, write_done);
	buf_done(&bytes);
}

const char *mcp_mime(const void *bytes, size_t size)
{
	static const struct {
		const char *magic;
		size_t size;
		const char *mime;
	} kinds[] = {
		{"\x89PNG\r\n\x1a\n", 8, "image/png"},
		{"\xff\xd8\xff", 3, "image/jpeg"},
		{"GIF8", 4, "image/gif"},
		{"%PDF-", 5, "application/pdf"},
		{"PK\x03\x04", 4, "application/zip"},
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (size >= kinds[i].size && memcmp(bytes, kinds[i].magic, kinds[i].size) == 0)
			return kinds[i].mime;
	}
	return walk_is_utf8(bytes, size) && memchr(bytes, 0, size) == NULL
		       ? "text/plain"
		       : "application/octet-stream";
}

int mcp_take_base64(const char *text, size_t size, struct buf *ret_bytes)
{
	struct buf bytes;
	int r;

	buf_init(&bytes, size + 1);
	r = buf_reserve(&bytes, size + 1);
	if (r == 0 && sodium_base642bin(bytes.data, size, text, size, "\r\n", &bytes.size, NULL,
					sodium_base64_VARIANT_ORIGINAL) < 0)
		r = -EINVAL;
	if (r < 0) {
		buf_done(&bytes);
		return r;
	}
	*ret_bytes = bytes;
	return 0;
}

int mcp_put_base64(struct buf *buf, const void *bytes, size_t size)
{
	size_t room = sodium_base64_encoded_len(size, sodium_base64_VARIANT_ORIGINAL);
	int r = buf_text(buf, "\"");

	if (r == 0)
		r = buf_reserve(buf, room);
	if (r < 0)
		return r;
	(void)sodium_bin2base64((char *)buf->data + buf->size, room, bytes, size,
				sodium_base64_VARIANT_ORIGINAL);
	buf->size += room - 1;
	return buf_text(buf, "\"");
}

static int put_content(struct buf *buf, const char *mime, const char *path, const char *bytes,
		       size_t size)
{
	int r;

	if (strcmp(mime, "text/plain") == 0) {
		r = buf_text(buf, "\"content\":[{\"type\":\"text\",\"text\":");
		r = r < 0 ? r : json_put_string(buf, bytes, size);
		return r < 0 ? r : buf_text(buf, "}]");
	}
	if (strncmp(mime, "image/", 6) == 0) {
		r = buf_format(
			buf,
			"\"content\":[{\"type\":\"image\",\"mimeType\":\"%s\",\"data\":", mime);
		r = r < 0 ? r : mcp_put_base64(buf, bytes, size);
		return r < 0 ? r : buf_text(buf, "}]");
	}
	r = buf_format(buf,
		       "\"content\":[{\"type\":\"text\",\"text\":\"%zu bytes of %s, in base64\"}]",
		       size, mime);
	(void)path;
	return r;
}

static int put_structured(struct buf *buf, const char *mime, const char *path, const char *bytes,
			  size_t size)
{
	bool is_text = strcmp(mime, "text/plain") == 0;
	int r = buf_text(buf, ",\"structuredContent\":{\"path\":");

	r = r < 0 ? r : json_put_text(buf, path);
	r = r < 0 ? r
		  : buf_format(buf, ",\"size\":%zu,\"mime\":\"%s\",\"%s\":", size, mime,
			       is_text ? "text" : "base64");
	if (r == 0)
		r = is_text ? json_put_string(buf, bytes, size) : mcp_put_base64(buf, bytes, size);
	return r < 0 ? r : buf_text(buf, "}");
}

static void read_done(struct mcp_call *call, const char *bytes, size_t size, const struct err *err)
{
	const struct file_args *args = mcp_call_args(call);
	struct err large = {0};
	struct buf out;
	int r;

	if (err == NULL && size > READ_MAX) {
		(void)err_set(&large, ERR_TOO_LARGE, EFBIG,
			      "path: the file has %zu bytes, more than fit an answer (%u); read "
			      "part of it with run_python",
			      size, READ_MAX);
		err = &large;
	}
	if (err != NULL) {
		mcp_answer_err(call, err);
		return;
	}
	buf_init(&out, MCP_ANSWER_MAX);
	r = put_content(&out, mcp_mime(bytes, size), args->path, bytes, size);
	r = r < 0 ? r : put_structured(&out, mcp_mime(bytes, size), args->path, bytes, size);
	if (r == 0) {
		mcp_answer_members(call, &out);
		return;
	}
	buf_done(&out);
	mcp_answer_refusal(call, MCP_INTERNAL, "no memory for the file");
}

static void call_read(struct mcp_call *call)
{
	const struct file_args *args = mcp_call_args(call);
	const char *const pairs[] = {"id", args->id, "path", below_workspace(args->path), NULL};

	mcp_call_op(call, &op_files_read, pairs, NULL, 0, read_done);
}

const struct mcp_tool mcp_tool_write = {
	.name = "write_file",
	.title = "Write a file",
	.help = "Write a file of a session below /workspace, whole; what was there is replaced.",
	.params = write_params,
	.param_count = ARRAY_LEN(write_params),
	.args_size = sizeof(struct file_args),
	.answer = "File",
	.hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
	.call = call_write,
};

const struct mcp_tool mcp_tool_read = {
	.name = "read_file",
	.title = "Read a file",
	.help = "Read a file of a session below /workspace: text as text, images as images, all "
		"else as base64.",
	.params = read_params,
	.param_count = ARRAY_LEN(read_params),
	.args_size = sizeof(struct file_args),
	.answer = "FileContent",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.call = call_read,
};

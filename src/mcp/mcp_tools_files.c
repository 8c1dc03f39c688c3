// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "base/utf8.h"
#include "mcp/mcp_inside.h"

#define READ_MAX (8U << 20) /* largest file that is put into an answer */

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
		  .help = "the content of the file, as text")},
	{OP_PARAM(struct file_args, base64, .name = "base64", .type = OP_BYTES,
		  .help = "the content of the file, as base64")},
};

/* "/workspace/a" and "a" are the same file. */
static const char *below_workspace(const char *path)
{
	static const char folder[] = "/workspace/";

	return strncmp(path, folder, strlen(folder)) == 0 ? path + strlen(folder) : path;
}

static void call_write(struct mcp_call *call)
{
	const struct file_args *args = mcp_call_args(call);
	const char *const pairs[] = {"id", args->id, "path", below_workspace(args->path), NULL};
	const char *base64 = args->base64.data;
	AUTO_BUF struct buf bytes = {.max = args->base64.size + 3};
	struct err err = {0};

	if ((args->text.data == NULL) == (base64 == NULL)) {
		(void)err_field(&err, ERR_BAD_REQUEST, EINVAL, "text",
				"give exactly one of text and base64");
		mcp_answer_err(call, &err);
		return;
	}
	if (base64 == NULL) {
		mcp_call_op(call, &op_files_write, pairs, args->text.data, (size_t)args->text.size,
			    mcp_op_passed);
		return;
	}
	if (buf_unbase64(&bytes, base64, args->base64.size, "\r\n") < 0) {
		(void)err_field(&err, ERR_BAD_REQUEST, EINVAL, "base64", "is not base64");
		mcp_answer_err(call, &err);
		return;
	}
	mcp_call_op(call, &op_files_write, pairs, buf_string(&bytes), bytes.size, mcp_op_passed);
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
	return utf8_is_valid(bytes, size) && memchr(bytes, 0, size) == NULL
		       ? "text/plain"
		       : "application/octet-stream";
}

int mcp_put_base64(struct buf *buf, const void *bytes, size_t size)
{
	buf_text(buf, "\"");
	buf_base64(buf, bytes, size);
	return buf_text(buf, "\"");
}

static int put_content(struct buf *buf, const char *mime, const char *path, const char *bytes,
		       size_t size)
{
	bool is_text = strcmp(mime, "text/plain") == 0;

	if (is_text) {
		buf_text(buf, "\"content\":[{\"type\":\"text\",\"text\":");
		json_put_string(buf, bytes, size);
	} else if (strncmp(mime, "image/", 6) == 0) {
		json_put(buf, "'content':[{'type':'image','mimeType':%s,'data':", mime);
		mcp_put_base64(buf, bytes, size);
	} else {
		buf_format(
			buf,
			"\"content\":[{\"type\":\"text\",\"text\":\"%zu bytes of %s, in base64\"",
			size, mime);
	}
	json_put(buf, "}],'structuredContent':{'path':%s,'size':%zu,'mime':%s,%s:", path, size,
		 mime, is_text ? "text" : "base64");
	if (is_text)
		json_put_string(buf, bytes, size);
	else
		mcp_put_base64(buf, bytes, size);
	return json_put(buf, "}");
}

static void read_done(struct mcp_call *call, const struct ask_result *result)
{
	const struct file_args *args = mcp_call_args(call);
	const char *mime = mcp_mime(result->bytes, result->size);
	struct err large = {0};
	AUTO_BUF struct buf out = {.max = MCP_ANSWER_MAX};

	if (result->size > READ_MAX) {
		(void)err_field(&large, ERR_TOO_LARGE, EFBIG, "path",
				"the file has %zu bytes; an answer can hold %u; read "
				"part of it with run_python",
				result->size, READ_MAX);
		mcp_answer_err(call, &large);
	} else if (put_content(&out, mime, args->path, result->bytes, result->size) == 0) {
		mcp_answer_members(call, &out);
	} else {
		mcp_answer_refusal(call, MCP_INTERNAL, "no memory for the file");
	}
}

static void call_read(struct mcp_call *call)
{
	const struct file_args *args = mcp_call_args(call);
	const char *const pairs[] = {"id", args->id, "path", below_workspace(args->path), NULL};

	mcp_call_op(call, &op_files_read, pairs, NULL, 0, mcp_op_passed);
}

const struct mcp_tool mcp_tool_write = {
	.name = "write_file",
	.title = "Write a file",
	.help = "Write a whole file of a session below /workspace; an existing file is replaced.",
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
	.done = read_done,
};

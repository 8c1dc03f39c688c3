// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include <sys/random.h>

#include "base/c.h"
#include "base/json.h"
#include "base/utf8.h"
#include "document/vault_text.h"
#include "door/synapse/synapse_tools.h"
#include "session/engine.h"

#define ANSWER_MAX (64U << 20)
#define OUTSIDE "Invalid path or path escapes the vault"

struct vault_args {
	struct run_bytes content, merge, find, replace;
	const char *path, *filename, *format, *directory, *extension;
};

/* A call on one file, or folder, of the vault. */
struct work {
	struct mcp_call *call;
	const struct vault_args *args;
	struct vault vault;
	char path[VAULT_PATH_SIZE];
	char text[2 * VAULT_PATH_SIZE]; /* absolute, or a message */
	struct buf body;
	struct err err;
};

static void say_error(struct work *work, const char *lead, const char *tail)
{
	char text[3 * VAULT_PATH_SIZE];

	(void)snprintf(text, sizeof(text), "%s%s%s", lead, work->text, tail);
	synapse_tool_fail(work->call, text);
}

/* Opens the vault and resolves the path; on failure the call is answered. */
static int begin(struct work *work, struct mcp_call *call, const char *asked, const char *outside)
{
	int r;

	*work = (struct work){.call = call, .args = mcp_call_args(call)};
	buf_init(&work->body, ANSWER_MAX);
	r = synapse_vault_open(mcp_call_engine(call)->config, mcp_call_caller(call), &work->vault,
			       &work->err);
	if (r < 0) {
		synapse_tool_fail(call, work->err.text);
		return r;
	}
	r = vault_path(&work->vault, asked, true, work->path, &work->err);
	if (r == 0) {
		(void)snprintf(work->text, sizeof(work->text), "%s%s%s", work->vault.root,
			       work->path[0] != '\0' ? "/" : "", work->path);
		return 0;
	}
	synapse_tool_fail(call, r == -EPERM ? outside : work->err.text);
	vault_close(&work->vault);
	return r;
}

static void finish(struct work *work)
{
	vault_close(&work->vault);
	buf_done(&work->body);
}

static void fail(struct work *work)
{
	switch (work->err.num) {
	case EPERM:
		synapse_tool_fail(work->call, OUTSIDE);
		break;
	case ENOENT:
		say_error(work, "File not found: ", "");
		break;
	case EEXIST:
		say_error(work, "File already exists: ", ". Use vault_write to overwrite.");
		break;
	case EISDIR:
		synapse_tool_fail(work->call, "Path is a directory. Use vault_list instead.");
		break;
	default:
		synapse_tool_fail(work->call, work->err.text);
	}
}

/* Answers {"path": ..., followed by `more`, which ends the object. */
static void succeed(struct work *work, const char *more)
{
	json_put(&work->body, "{'path':%s", work->text);
	buf_text(&work->body, more);
	if (work->body.failed == 0)
		synapse_tool_answer(work->call, &work->body);
	else
		synapse_tool_fail(work->call, "the answer is too large");
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t size = strlen(name);

	return size > strlen(suffix) && strcmp(name + size - strlen(suffix), suffix) == 0;
}

/* JSON is stored indented, anything else as it came. */
static void suit_content(const struct work *work, const struct run_bytes *content, struct buf *buf)
{
	if (!has_suffix(work->path, ".json") || vault_indent(content->data, content->size, buf) < 0)
		(void)buf_append(buf, content->data, content->size);
}

static void put(struct work *work, enum vault_put how, const char *word)
{
	const struct run_bytes *content = &work->args->content;
	char more[80];
	struct buf text;
	int r;

	buf_init(&text, content->size > VAULT_FILE_MAX ? content->size : VAULT_FILE_MAX);
	suit_content(work, content, &text);
	r = vault_put(&work->vault, work->path, how, text.data, text.size, &work->err);
	(void)snprintf(more, sizeof(more), ",\"size\":%llu,\"%s\":true}",
		       (unsigned long long)utf8_count(text.data, text.size), word);
	buf_done(&text);
	if (r < 0)
		fail(work);
	else
		succeed(work, more);
}

/* ---- the tools ---- */

/* <UTC stamp>_<6 hex><extension> */
static void make_name(const char *format, char *name, size_t size)
{
	static const char *const kinds[][2] = {
		{"json", ".json"}, {"text", ".txt"},    {"csv", ".csv"},
		{"python", ".py"}, {"markdown", ".md"},
	};
	const char *extension = ".json";
	time_t now = time(NULL);
	struct tm utc = {0};
	char stamp[32] = "";
	uint8_t random[3];

	for (size_t i = 0; format != NULL && i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i][0], format) == 0)
			extension = kinds[i][1];
	}
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		abort();
	(void)gmtime_r(&now, &utc);
	(void)strftime(stamp, sizeof(stamp), "%Y%m%d_%H%M%S", &utc);
	(void)snprintf(name, size, "%s_%02x%02x%02x%s", stamp, random[0], random[1], random[2],
		       extension);
}

static void call_create(struct mcp_call *call)
{
	const struct vault_args *args = mcp_call_args(call);
	const char *asked = args->filename;
	char name[80];
	struct work work;

	if (asked == NULL || asked[0] == '\0') {
		make_name(args->format, name, sizeof(name));
		asked = name;
	}
	if (begin(&work, call, asked, "Path escapes the vault directory") < 0)
		return;
	put(&work, VAULT_CREATE, "created");
	finish(&work);
}

static void call_write(struct mcp_call *call)
{
	const struct vault_args *args = mcp_call_args(call);
	struct work work;

	if (begin(&work, call, args->path, OUTSIDE) < 0)
		return;
	put(&work, VAULT_WRITE, "written");
	finish(&work);
}

static void call_read(struct mcp_call *call)
{
	const struct vault_args *args = mcp_call_args(call);
	struct work work;
	AUTO_BUF struct buf content = {.max = VAULT_FILE_MAX};
	AUTO_BUF struct buf more = {.max = ANSWER_MAX};
	int r;

	if (begin(&work, call, args->path, OUTSIDE) < 0)
		return;
	r = vault_read(&work.vault, work.path, &content, &work.err);
	if (r < 0) {
		fail(&work);
	} else if (buf_text(&more, ",\"content\":") == 0 &&
		   json_put_string(&more, content.data, content.size) == 0 &&
		   buf_format(&more, ",\"size\":%zu}", content.size) == 0) {
		succeed(&work, buf_string(&more));
	} else {
		synapse_tool_fail(call, "the file does not fit in an answer");
	}
	finish(&work);
}

/* Makes the new content of the file; on failure the error says why. */
static int patch(struct work *work, const struct buf *old, struct buf *new)
{
	const struct vault_args *args = work->args;
	int r;

	if (args->merge.data != NULL)
		return vault_merge(old->data, old->size, args->merge.data, args->merge.size, new,
				   &work->err);
	if (args->find.data == NULL)
		return err_set(&work->err, ERR_BAD_REQUEST, EINVAL,
			       "Provide either 'merge' (for JSON) or 'find'+'replace' (for text)");
	r = vault_replace(old->data, old->size, args->find.data, args->find.size,
			  args->replace.data, args->replace.size, new, &work->err);
	if (r == -ENOENT)
		return err_set(&work->err, ERR_BAD_REQUEST, EINVAL, "Text '%.*s' not found in file",
			       (int)(args->find.size < 80 ? args->find.size : 80),
			       (const char *)args->find.data);
	return r;
}

static void call_patch(struct mcp_call *call)
{
	const struct vault_args *args = mcp_call_args(call);
	struct work work;
	AUTO_BUF struct buf old = {.max = VAULT_FILE_MAX};
	AUTO_BUF struct buf new = {.max = VAULT_FILE_MAX};
	AUTO_BUF struct buf more = {.max = ANSWER_MAX};
	int r;

	if (begin(&work, call, args->path, OUTSIDE) < 0)
		return;
	r = vault_read(&work.vault, work.path, &old, &work.err);
	if (r == 0)
		r = patch(&work, &old, &new);
	if (r == 0)
		r = vault_put(&work.vault, work.path, VAULT_UPDATE, new.data, new.size, &work.err);
	if (r < 0)
		fail(&work);
	else if (buf_text(&more, ",\"content\":") == 0 &&
		 json_put_string(&more, new.data, new.size) == 0 &&
		 buf_text(&more, ",\"patched\":true}") == 0)
		succeed(&work, buf_string(&more));
	else
		succeed(&work, ",\"patched\":true}");
	finish(&work);
}

static void call_delete(struct mcp_call *call)
{
	const struct vault_args *args = mcp_call_args(call);
	struct work work;
	int r;

	if (begin(&work, call, args->path, OUTSIDE) < 0)
		return;
	r = work.path[0] == '\0' ? -EISDIR : vault_remove(&work.vault, work.path, false, &work.err);
	if (r == -EISDIR)
		synapse_tool_fail(call, "Cannot delete directories. Delete files individually.");
	else if (r < 0)
		fail(&work);
	else
		succeed(&work, ",\"deleted\":true}");
	finish(&work);
}

/* ---- vault_list ---- */

struct listing {
	struct work *work;
	struct buf files;
	const char *extension; /* with its dot; NULL: any */
	size_t count;
};

static int tell(void *user, const struct vault_entry *entry)
{
	struct listing *listing = user;
	struct buf *files = &listing->files;
	char path[2 * VAULT_PATH_SIZE];

	if (entry->kind != VAULT_FILE ||
	    strncmp(entry->name, VAULT_TEMP, strlen(VAULT_TEMP)) == 0 ||
	    (listing->extension != NULL && !has_suffix(entry->name, listing->extension)))
		return 0;
	(void)snprintf(path, sizeof(path), "%s/%s", listing->work->vault.root, entry->path);
	buf_text(files, listing->count++ > 0 ? "," : "");
	return json_put(files, "{'name':%s,'path':%s,'relative':%s,'size':%llu}", entry->name, path,
			entry->path, (unsigned long long)entry->size);
}

static void answer_list(struct work *work, struct listing *listing, bool is_cut)
{
	struct buf *body = &work->body;

	json_put(body, "{'directory':%s,'count':%zu,'files':[", work->text, listing->count);
	buf_append(body, listing->files.data, listing->files.size);
	buf_text(body, is_cut ? "],\"truncated\":true}" : "]}");
	if (body->failed == 0)
		synapse_tool_answer(work->call, body);
	else
		synapse_tool_fail(work->call, "the list is too long for an answer");
}

static void call_list(struct mcp_call *call)
{
	const struct vault_args *args = mcp_call_args(call);
	struct work work;
	struct listing listing = {.work = &work};
	const struct vault_walk walk = {.with_hidden = true, .tell = tell, .user = &listing};
	char extension[64];
	bool is_cut = false;
	int r;

	if (begin(&work, call, args->directory != NULL ? args->directory : "",
		  "Path escapes the vault directory") < 0)
		return;
	if (args->extension != NULL && args->extension[0] != '\0') {
		(void)snprintf(extension, sizeof(extension), "%s%s",
			       args->extension[0] == '.' ? "" : ".", args->extension);
		listing.extension = extension;
	}
	buf_init(&listing.files, ANSWER_MAX);
	r = vault_each(&work.vault, work.path, &walk, &is_cut, &work.err);
	/* A missing folder has no files. */
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		fail(&work);
	else
		answer_list(&work, &listing, is_cut);
	buf_done(&listing.files);
	finish(&work);
}

/* ---- rows ---- */

#define ARG(field, ...)                                                                            \
	{                                                                                          \
		OP_PARAM(struct vault_args, field, .name = #field, __VA_ARGS__)                    \
	}
#define PATH                                                                                       \
	ARG(path, .type = OP_TEXT, .is_required = true,                                            \
	    .help = "the file: relative to the vault, or absolute as another tool returned it")
#define CONTENT(help_) ARG(content, .type = OP_BYTES, .is_required = true, .help = (help_))

static const struct op_param create_rows[] = {
	CONTENT("the whole content of the file; JSON as text"),
	ARG(filename, .type = OP_TEXT,
	    .help = "path in the vault; missing folders are made (default: a new name)"),
	ARG(format, .type = OP_TEXT, .choices = "json|text|csv|python|markdown",
	    .help = "extension of a new name (default: json)"),
};

static const struct op_param path_rows[] = {PATH};

static const struct op_param write_rows[] = {PATH, CONTENT("the whole content of the file")};

static const struct op_param patch_rows[] = {
	PATH,
	ARG(merge, .type = OP_BYTES,
	    .help = "JSON text: an object to merge into the file's, or a list to append to its "
		    "list"),
	ARG(find, .type = OP_BYTES, .help = "text to replace; only its first occurrence"),
	ARG(replace, .type = OP_BYTES, .help = "text to put there (default: nothing)"),
};

static const struct op_param list_rows[] = {
	ARG(directory, .type = OP_TEXT, .help = "folder of the vault (default: all of it)"),
	ARG(extension, .type = OP_TEXT, .help = "only files that end like this: .csv"),
};

#define TOOL(name_, title_, rows_, hints_, help_)                                                  \
	static const struct mcp_tool tool_##name_ = {                                              \
		.name = "vault_" #name_,                                                           \
		.title = (title_),                                                                 \
		.help = (help_),                                                                   \
		.params = (rows_),                                                                 \
		.param_count = ARRAY_LEN(rows_),                                                   \
		.args_size = sizeof(struct vault_args),                                            \
		.answer = "",                                                                      \
		.hints = (hints_),                                                                 \
		.call = call_##name_,                                                              \
	}

TOOL(create, "New file", create_rows, 0,
     "Make a new file in the vault, a folder that runs can read");
TOOL(read, "Read file", path_rows, MCP_READ_ONLY, "A file of the vault, at most 10 MiB");
TOOL(write, "Write file", write_rows, MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
     "Write a file of the vault, whether or not it exists");
TOOL(patch, "Change file", patch_rows, MCP_DESTRUCTIVE,
     "Merge JSON into a file of the vault, or replace a text in it");
TOOL(list, "List files", list_rows, MCP_READ_ONLY, "Every file of the vault, or of a folder of it");
TOOL(delete, "Delete file", path_rows, MCP_DESTRUCTIVE, "Delete a file of the vault");

const struct mcp_tool *const synapse_vault_mcp_tools[] = {
	&tool_create, &tool_read, &tool_write, &tool_patch, &tool_list, &tool_delete, NULL,
};

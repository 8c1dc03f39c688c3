// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/c.h"
#include "base/json.h"
#include "door/synapse/synapse.h"
#include "session/engine.h"

#define SEARCH_MAX 20
#define ANSWER_MAX (64U << 20)

const struct op_param synapse_file_members[3] = {
	{.name = "path", .type = OP_TEXT},
	{.name = "name", .type = OP_TEXT},
	{.name = "content", .type = OP_BYTES},
};

int synapse_vault_open(const struct config *config, const struct op_caller *caller,
		       struct vault *vault, struct err *err)
{
	const struct synapse_config *own = config_part(config, &synapse_config);

	*vault = (struct vault){.dir = -1};
	if (own->vault[0] == '\0')
		return err_set(err, ERR_UNSUPPORTED, ENOTSUP,
			       "there is no vault; set dialects.synapse.vault to a folder");
	/* The vault is the data of that policy: a caller who may not read it in a sandbox may not
	 * read it here either. */
	if (op_policy(config, caller, SYNAPSE_POLICY, err) == NULL)
		return -err->num;
	return vault_open(vault, own->vault, err);
}

/* Answers with Synapse's texts and status codes. */
static void fail(struct exchange *call, const struct err *err, const char *missing,
		 const char *exists)
{
	if (err->num == EPERM && strncmp(err->text, "policy", 6) != 0)
		synapse_detail(call, 403, "Path traversal denied");
	else if (err->kind == ERR_NOT_FOUND && err->num == ENOENT && missing != NULL)
		synapse_detail(call, 404, missing);
	else if (err->kind == ERR_CONFLICT)
		synapse_detail(call, 409, exists);
	else
		synapse_detail(call, exchange_status(err), err->text);
}

/* The extension: from the last dot of the name on, in lower case; none if the name begins with that
 * dot. */
static void put_extension(const char *name, char *ret_text, size_t size)
{
	const char *dot = strrchr(name, '.');

	ret_text[0] = '\0';
	if (dot == NULL || dot == name || dot[1] == '\0' || strlen(dot) >= size)
		return;
	for (size_t i = 0; dot[i] != '\0'; i++)
		ret_text[i] = (char)(dot[i] >= 'A' && dot[i] <= 'Z' ? dot[i] + 32 : dot[i]);
	ret_text[strlen(dot)] = '\0';
}

static bool is_editable(const char *extension)
{
	return strcmp(extension, ".json") == 0 || strcmp(extension, ".md") == 0 ||
	       strcmp(extension, ".txt") == 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* ---- tree and search ---- */

struct listing {
	struct buf body;
	const char *query; /* NULL: list the whole tree */
	int count;
	bool needs_comma;
};

static int put_names(struct buf *buf, const struct vault_entry *entry)
{
	return json_put(buf, "{'name':%s,'path':%s", entry->name, entry->path);
}

static int put_file(struct buf *buf, const struct vault_entry *entry, bool has_type)
{
	char extension[64];

	put_names(buf, entry);
	put_extension(entry->name, extension, sizeof(extension));
	return json_put(buf, has_type ? ",'type':'file','ext':%s}" : ",'ext':%s}", extension);
}

static int tell_tree(void *user, const struct vault_entry *entry)
{
	struct listing *listing = user;

	if (entry->kind == VAULT_FOLDER_OVER) {
		listing->needs_comma = true;
		return buf_text(&listing->body, "]}");
	}
	buf_text(&listing->body, listing->needs_comma ? "," : "");
	listing->needs_comma = entry->kind == VAULT_FILE;
	if (entry->kind == VAULT_FILE)
		return put_file(&listing->body, entry, true);
	put_names(&listing->body, entry);
	return json_put(&listing->body, ",'type':'folder','children':[");
}

static int tell_match(void *user, const struct vault_entry *entry)
{
	struct listing *listing = user;

	if (entry->kind != VAULT_FILE || strcasestr(entry->name, listing->query) == NULL)
		return 0;
	buf_text(&listing->body, listing->count > 0 ? "," : "");
	if (put_file(&listing->body, entry, false) < 0)
		return listing->body.failed;
	return ++listing->count < SEARCH_MAX ? 0 : -ECANCELED;
}

static void answer_walk(struct exchange *call, struct vault_walk *walk, const char *lead,
			const char *tail)
{
	struct listing *listing = walk->user;
	struct vault vault;
	struct err err = {0};
	bool is_cut = false;
	int r = synapse_vault_open(call->engine->config, &call->caller, &vault, &err);

	if (r == 0) {
		buf_init(&listing->body, ANSWER_MAX);
		(void)buf_text(&listing->body, lead);
		r = vault_each(&vault, "", walk, &is_cut, &err);
		if (r == -ECANCELED)
			r = 0;
		if (r == 0)
			r = buf_text(&listing->body, tail);
		vault_close(&vault);
	}
	if (r == 0) {
		exchange_answer(call, 200, &listing->body);
		return;
	}
	buf_done(&listing->body);
	if (err.kind == ERR_NONE)
		(void)err_set(&err, ERR_TOO_LARGE, EMSGSIZE, "the vault has too many files");
	fail(call, &err, NULL, "");
}

void synapse_get_tree(struct exchange *call)
{
	struct listing listing = {0};
	struct vault_walk walk = {
		.order = VAULT_FOLDERS_FIRST, .tell = tell_tree, .user = &listing};

	answer_walk(call, &walk, "{\"tree\":[", "],\"source\":\"local\"}");
}

void synapse_search(struct exchange *call)
{
	const char *query = exchange_query(call, "q");
	struct listing listing = {0};
	struct vault_walk walk = {.tell = tell_match, .user = &listing};
	char *text;

	query = query != NULL ? query + strspn(query, " \t\r\n") : "";
	text = exchange_memory(call, strlen(query) + 1);
	memcpy(text, query, strlen(query));
	while (text[0] != '\0' && strchr(" \t\r\n", text[strlen(text) - 1]) != NULL)
		text[strlen(text) - 1] = '\0';
	listing.query = text;
	answer_walk(call, &walk, "{\"files\":[", "]}");
}

/* ---- files ---- */

static void answer_file(struct exchange *call, const char *path, const void *content, size_t size)
{
	const char *name = base_name(path);
	char extension[64];
	AUTO_BUF struct buf body = {.max = ANSWER_MAX + 256};

	put_extension(name, extension, sizeof(extension));
	json_put(&body, "{'path':%s,'name':%s,'ext':%s,'content':", path, name, extension);
	json_put_string(&body, content, size);
	if (buf_text(&body, "}") < 0 || body.failed < 0)
		synapse_detail(call, 500, "the file does not fit in an answer");
	else
		exchange_answer(call, 200, &body);
}

/* The path of `name` in the folder `parent`; a name is one component. -EINVAL: it is not a name. */
static int child_path(const struct vault *vault, const char *parent, const char *name,
		      char path[VAULT_PATH_SIZE], struct err *err)
{
	char folder[VAULT_PATH_SIZE];
	char asked[2 * VAULT_PATH_SIZE];
	int r = vault_path(vault, parent, false, folder, err);

	if (r < 0)
		return r;
	if (strchr(name, '/') != NULL || strcmp(name, "..") == 0)
		return err_set(err, ERR_FORBIDDEN, EPERM, "the name leads elsewhere");
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strlen(name) >= VAULT_PATH_SIZE)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "the name is empty, \".\" or too long");
	(void)snprintf(asked, sizeof(asked), "%s/%s", folder, name);
	return vault_path(vault, asked, false, path, err);
}

/* Opens the caller's vault and resolves a path in it: `name` in the folder `asked`, or `asked`
 * itself if `name` is NULL. The vault must be closed in any case. */
static int find(struct exchange *call, const char *asked, const char *name, struct vault *vault,
		char path[VAULT_PATH_SIZE], struct err *err)
{
	int r = synapse_vault_open(call->engine->config, &call->caller, vault, err);

	if (r < 0)
		return r;
	return name != NULL ? child_path(vault, asked, name, path, err)
			    : vault_path(vault, asked, false, path, err);
}

void synapse_get_file(struct exchange *call)
{
	const char *asked = exchange_query(call, "path");
	char path[VAULT_PATH_SIZE];
	struct vault vault;
	struct err err = {0};
	AUTO_BUF struct buf content = {.max = VAULT_FILE_MAX};
	int r;

	if (asked == NULL) {
		synapse_invalid(call, "missing", "path", "Field required");
		return;
	}
	r = find(call, asked, NULL, &vault, path, &err);
	if (r == 0)
		r = vault_read(&vault, path, &content, &err);
	vault_close(&vault);
	if (r == 0)
		answer_file(call, path, content.data, content.size);
	else if (r == -EISDIR)
		synapse_detail(call, 404, "File not found");
	else
		fail(call, &err, "File not found", "");
}

/* A string member of the body; NULL: it is missing or not a string, and the call was answered. */
static const char *need_text(struct exchange *call, const char *name)
{
	const json_t *value = exchange_member(call, name);
	const char *text = json_string_value(value);

	if (text != NULL && strlen(text) == json_string_length(value))
		return text;
	if (value == NULL)
		synapse_invalid(call, "missing", name, "Field required");
	else
		synapse_invalid(call, "string_type", name, "Input should be a valid string");
	return NULL;
}

/* The content of a new file for which none was given. */
static void default_content(struct exchange *call, const char *name, const char *extension,
			    struct run_bytes *ret_content)
{
	const char *text = "";
	size_t stem = strlen(name) - strlen(extension);
	char *title;

	if (strcmp(extension, ".json") == 0)
		text = "{}\n";
	if (strcmp(extension, ".md") == 0) {
		title = exchange_memory(call, stem + 8);
		(void)snprintf(title, stem + 8, "# %.*s\n\n", (int)stem, name);
		text = title;
	}
	*ret_content = (struct run_bytes){.data = text, .size = strlen(text)};
}

/* Refuses content that is not a string, which would be lost silently. False: answered. */
static bool may_have_content(struct exchange *call)
{
	if (!exchange_is_wrong(call, "content"))
		return true;
	synapse_invalid(call, "string_type", "content", "Input should be a valid string");
	return false;
}

void synapse_create_file(struct exchange *call)
{
	const char *parent = need_text(call, "path");
	const char *name = parent != NULL ? need_text(call, "name") : NULL;
	struct run_bytes content = {.data = ""};
	char path[VAULT_PATH_SIZE];
	char extension[64];
	struct vault vault;
	struct err err = {0};
	int r;

	if (name == NULL)
		return;
	put_extension(name, extension, sizeof(extension));
	if (!is_editable(extension)) {
		synapse_detail(call, 400, "Only .json, .md, .txt files are allowed");
		return;
	}
	if (!may_have_content(call))
		return;
	if (!exchange_large(call, "content", true, &content) || content.size == 0)
		default_content(call, name, extension, &content);
	r = find(call, parent, name, &vault, path, &err);
	if (r == 0)
		r = vault_put(&vault, path, VAULT_ADD, content.data, content.size, &err);
	vault_close(&vault);
	if (r == 0)
		answer_file(call, path, content.data, content.size);
	else if (r == -ENOENT)
		synapse_detail(call, 400, "Parent path is not a directory");
	else
		fail(call, &err, NULL, "File already exists");
}

/* {"status":"ok","path":...} */
static void answer_ok(struct exchange *call, const char *path)
{
	exchange_answer_tree(call, 200, json_pack("{s:s,s:s}", "status", "ok", "path", path));
}

void synapse_update_file(struct exchange *call)
{
	const char *asked = need_text(call, "path");
	struct run_bytes content = {.data = ""};
	char path[VAULT_PATH_SIZE];
	char extension[64];
	struct vault vault;
	struct err err = {0};
	AUTO_BUF struct buf old = {.max = VAULT_FILE_MAX};
	int r;

	if (asked == NULL)
		return;
	if (!may_have_content(call))
		return;
	if (!exchange_large(call, "content", true, &content)) {
		synapse_invalid(call, "missing", "content", "Field required");
		return;
	}
	put_extension(base_name(asked), extension, sizeof(extension));
	r = find(call, asked, NULL, &vault, path, &err);
	/* A missing file is reported as missing, not as of the wrong type. */
	if (r == 0 && !is_editable(extension)) {
		r = vault_read(&vault, path, &old, &err);
		if (r == 0 || r == -EFBIG)
			r = err_set(&err, ERR_BAD_REQUEST, EINVAL, "Cannot edit this file type");
	}
	if (r == 0)
		r = vault_put(&vault, path, VAULT_UPDATE, content.data, content.size, &err);
	vault_close(&vault);
	if (r == 0)
		answer_ok(call, path);
	else if (r == -EISDIR)
		synapse_detail(call, 404, "File not found");
	else
		fail(call, &err, "File not found", "");
}

void synapse_create_folder(struct exchange *call)
{
	const char *parent = need_text(call, "path");
	const char *name = parent != NULL ? need_text(call, "name") : NULL;
	char path[VAULT_PATH_SIZE];
	struct vault vault;
	struct err err = {0};
	int r;

	if (name == NULL)
		return;
	r = find(call, parent, name, &vault, path, &err);
	if (r == 0)
		r = vault_make_folder(&vault, path, &err);
	vault_close(&vault);
	if (r == 0)
		exchange_answer_tree(
			call, 200,
			json_pack("{s:s,s:s,s:s}", "path", path, "name", name, "type", "folder"));
	else if (r == -ENOENT)
		synapse_detail(call, 400, "Parent path is not a directory");
	else
		fail(call, &err, NULL, "Folder already exists");
}

void synapse_delete_item(struct exchange *call)
{
	const char *asked = need_text(call, "path");
	char path[VAULT_PATH_SIZE];
	struct vault vault;
	struct err err = {0};
	int r;

	if (asked == NULL)
		return;
	r = find(call, asked, NULL, &vault, path, &err);
	if (r == 0)
		r = vault_remove(&vault, path, true, &err);
	vault_close(&vault);
	if (r == 0)
		answer_ok(call, path);
	else
		fail(call, &err, "Path not found", "");
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "cli/fetch.h"
#include "cli/safe.h"
#include "cli/session.h"
#include "cli/table.h"

#define EXPORT_TYPE "application/vnd.vivarium.session"

/* ---- files ---- */

static void print_files(const json_t *answer)
{
	static const struct column columns[] = {
		{"SIZE", "size"},
		{"AGE", "mtime_ms", .kind = COLUMN_AGE},
		{"TYPE", "mime"},
		{"PATH", "path"},
		{0},
	};

	table_print_rows(columns, json_object_get(answer, "files"), 0, stdout);
	if (json_is_string(json_object_get(answer, "next")))
		(void)fprintf(stderr, "viv session: there are more files; name a folder to see "
				      "them\n");
}

/* The path relative to /workspace; users may also write it in full, as code in the sandbox does. */
static const char *in_workspace(const char *path)
{
	size_t size = strlen("/workspace");

	if (strncmp(path, "/workspace", size) == 0 && (path[size] == '/' || path[size] == '\0'))
		path += size;
	return path + strspn(path, "/");
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

int verb_files(const struct session_desk *desk, struct err *err)
{
	json_auto_t *answer = NULL;
	struct buf path;

	session_path(desk, &path, "/files?recursive=%s",
		     desk->options->is_recursive ? "true" : "false");
	if (desk->rest_count > 0 && in_workspace(desk->rest[0])[0] != '\0')
		session_put_query(&path, "path", in_workspace(desk->rest[0]));
	answer = session_get(desk, &path, err);
	if (answer == NULL)
		return -err->num;
	if (!desk->options->run.is_json)
		print_files(answer);
	return CMD_OK;
}

/* Opens a file, or stdin for "-"; the caller closes it. */
static int open_source(const char *file, int *ret_fd, struct err *err)
{
	struct run_bytes bytes = {0};
	int r;

	if (strcmp(file, "-") == 0) {
		*ret_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
		return *ret_fd < 0 ? err_sys(err, "stdin") : 0;
	}
	r = run_inputs_open(file, &bytes, err);
	if (r == 0)
		*ret_fd = bytes.fd;
	return r;
}

static int upload(const struct session_desk *desk, const char *method, const char *path,
		  const char *file, const char *type, json_t **ret_answer, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	struct buf body;
	int r = open_source(file, &fd, err);

	if (r < 0)
		return r;
	buf_init(&body, 0);
	r = client_call(desk->client,
			&(struct client_call){
				.method = method, .path = path, .upload = fd, .upload_type = type},
			&body, err);
	if (r == 0)
		*ret_answer = json_loadb((const char *)body.data, body.size, 0, NULL);
	buf_done(&body);
	return r;
}

int verb_put_file(const struct session_desk *desk, struct err *err)
{
	const char *file = desk->rest[0];
	const char *dest = in_workspace(desk->rest_count > 1 ? desk->rest[1] : last_name(file));
	json_auto_t *answer = NULL;
	struct buf path;
	int r;

	if (dest[0] == '\0' || strcmp(dest, "-") == 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "put: name the file below /workspace");
	session_path(desk, &path, "/files/");
	client_put_escaped(&path, dest, true);
	r = upload(desk, "PUT", buf_string(&path), file, NULL, &answer, err);
	buf_done(&path);
	if (r < 0)
		return r;
	if (desk->options->run.is_json)
		safe_print_json(answer);
	else
		(void)printf("/workspace/%s\n", dest);
	return CMD_OK;
}

int session_fetch(const struct session_desk *desk, struct buf *take_path, const char *file,
		  struct err *err)
{
	uint64_t size = 0;
	int r = fetch_file(desk->client, buf_string(take_path), file,
			   desk->options->run.may_overwrite, &size, err);

	buf_done(take_path);
	if (r < 0)
		return r;
	if (strcmp(file, "-") == 0)
		return CMD_OK;
	if (desk->options->run.is_json) {
		json_auto_t *told = json_pack("{s:s, s:I}", "file", file, "size", (json_int_t)size);

		safe_print_json(told);
	} else {
		(void)printf("%s: %" PRIu64 " bytes\n", file, size);
	}
	return CMD_OK;
}

int verb_get_file(const struct session_desk *desk, struct err *err)
{
	const char *from = in_workspace(desk->rest[0]);
	const char *file = desk->rest_count > 1 ? desk->rest[1] : last_name(from);
	struct buf path;

	if (from[0] == '\0' || file[0] == '\0')
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "get: name a file below /workspace");
	session_path(desk, &path, "/files/");
	client_put_escaped(&path, from, true);
	return session_fetch(desk, &path, file, err);
}

/* ---- whole sessions ---- */

int verb_export(const struct session_desk *desk, struct err *err)
{
	struct buf path;

	session_path(desk, &path, "/export");
	return session_fetch(desk, &path, desk->rest[0], err);
}

int verb_notebook(const struct session_desk *desk, struct err *err)
{
	struct buf path;

	session_path(desk, &path, "/export.ipynb");
	return session_fetch(desk, &path, desk->rest_count > 0 ? desk->rest[0] : "-", err);
}

int verb_import(const struct session_desk *desk, struct err *err)
{
	const struct session_options *options = desk->options;
	json_auto_t *answer = NULL;
	struct buf path;
	size_t index;
	const json_t *lost;
	int r = session_check_name(desk->client, options->name, err);

	if (r < 0)
		return r;
	buf_init(&path, 4 * KIB);
	(void)buf_text(&path, "/v1/sessions/import");
	session_put_query(&path, "policy", options->policy);
	session_put_query(&path, "runtime", options->runtime);
	session_put_query(&path, "name", options->name);
	r = upload(desk, "POST", buf_string(&path), desk->rest[0], EXPORT_TYPE, &answer, err);
	buf_done(&path);
	if (r < 0) /* a bad request most likely has bad bytes, so name the file */
		return err->kind == ERR_BAD_REQUEST ? err_wrap(err, "%s", desk->rest[0]) : r;
	if (options->run.is_json) {
		safe_print_json(answer);
		return CMD_OK;
	}
	(void)printf("%s\n", json_string_value(json_object_get(answer, "id")));
	json_array_foreach(json_object_get(answer, "lost"), index, lost) {
		(void)fprintf(stderr, "viv session: not imported: ");
		safe_print(stderr, json_string_value(json_object_get(lost, "name")));
		(void)fprintf(stderr, ": ");
		safe_print(stderr, session_text(lost, "why"));
		(void)fprintf(stderr, "\n");
	}
	return CMD_OK;
}

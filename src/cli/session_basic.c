// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/c.h"
#include "cli/safe.h"
#include "cli/session.h"
#include "cli/table.h"
#include "policy/number.h"

#define PATH_MAX_SIZE (64U << 10)
#define IDS_SHOWN 8U /* of sessions that match one word */
#define IDS_MAX (4UL * IDS_SHOWN * ID_SIZE)

/* ---- asking ---- */

static void put_path(struct buf *buf, const char *id, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

static void put_path(struct buf *buf, const char *id, const char *format, va_list args)
{
	char rest[512];

	(void)vsnprintf(rest, sizeof(rest), format, args);
	(void)buf_format(buf, "/v1/sessions/%s%s", id, rest);
}

void session_path(const struct session_desk *desk, struct buf *buf, const char *format, ...)
{
	va_list args;

	buf_init(buf, PATH_MAX_SIZE);
	va_start(args, format);
	put_path(buf, desk->id, format, args);
	va_end(args);
}

static json_t *ask_path(const struct session_desk *desk, const char *method, struct buf *take_path,
			json_t *take_body, struct err *err)
{
	json_t *answer = client_json(desk->client, method, buf_string(take_path), take_body, err);

	buf_done(take_path);
	if (answer != NULL && desk->options->run.is_json && !json_is_null(answer))
		safe_print_json(answer);
	return answer;
}

json_t *session_ask(const struct session_desk *desk, const char *method, json_t *take_body,
		    struct err *err, const char *format, ...)
{
	struct buf path;
	va_list args;

	buf_init(&path, PATH_MAX_SIZE);
	va_start(args, format);
	put_path(&path, desk->id, format, args);
	va_end(args);
	return ask_path(desk, method, &path, take_body, err);
}

json_t *session_get(const struct session_desk *desk, struct buf *take_path, struct err *err)
{
	return ask_path(desk, "GET", take_path, NULL, err);
}

void session_put_query(struct buf *path, const char *name, const char *text)
{
	if (text == NULL)
		return;
	(void)buf_format(path, "%c%s=", strchr(buf_string(path), '?') != NULL ? '&' : '?', name);
	client_put_escaped(path, text, false);
}

uint64_t session_number(const json_t *object, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(object, name));
}

const char *session_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text != NULL ? text : "";
}

bool session_begins(const char *id, const char *word)
{
	const char *behind = strchr(id, '_');

	return strncmp(id, word, strlen(word)) == 0 ||
	       (behind != NULL && strncmp(behind + 1, word, strlen(word)) == 0);
}

/* ---- which one ---- */

static int refuse_many(const json_t *sessions, const char *word, bool is_name, struct err *err)
{
	size_t count = 0;
	size_t index;
	const json_t *session;
	struct buf ids;

	buf_init(&ids, IDS_MAX);
	json_array_foreach(sessions, index, session) {
		const char *id = session_text(session, "id");

		if (is_name ? strcmp(session_text(session, "name"), word) != 0
			    : !session_begins(id, word))
			continue;
		if (count++ < IDS_SHOWN)
			(void)buf_format(&ids, " %s", id);
	}
	(void)err_set(err, ERR_BAD_REQUEST, EINVAL, "%zu sessions match '%.100s'; use an id:%s%s",
		      count, word, buf_string(&ids), count > IDS_SHOWN ? " ..." : "");
	buf_done(&ids);
	return -EINVAL;
}

/* A name takes precedence over the beginning of an id. */
static int choose(const json_t *sessions, const char *word, const char **ret_id, struct err *err)
{
	const char *named = NULL;
	const char *begun = NULL;
	size_t named_count = 0;
	size_t begun_count = 0;
	size_t index;
	const json_t *session;

	json_array_foreach(sessions, index, session) {
		const char *id = session_text(session, "id");

		if (strcmp(session_text(session, "name"), word) == 0) {
			named = id;
			named_count++;
		}
		if (session_begins(id, word)) {
			begun = id;
			begun_count++;
		}
	}
	if (named_count == 1 || (named_count == 0 && begun_count == 1)) {
		*ret_id = named_count == 1 ? named : begun;
		return 0;
	}
	if (named_count == 0 && begun_count == 0)
		return err_set(err, ERR_NOT_FOUND, ENOENT,
			       "there is no session '%.100s'; `viv session list` shows them", word);
	return refuse_many(sessions, word, named_count > 0, err);
}

int session_resolve(struct client *client, const char *word, char ret_id[ID_SIZE], struct err *err)
{
	json_auto_t *list = NULL;
	const char *id = NULL;
	int r;

	if (word[0] == '\0')
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "which session? Give an id or a name");
	list = client_json(client, "GET", "/v1/sessions", NULL, err);
	if (list == NULL)
		return -err->num;
	r = choose(json_object_get(list, "sessions"), word, &id, err);
	if (r < 0)
		return r;
	(void)snprintf(ret_id, ID_SIZE, "%s", id);
	return 0;
}

int session_check_name(struct client *client, const char *name, struct err *err)
{
	json_auto_t *list = NULL;
	size_t index;
	const json_t *session;

	if (name == NULL)
		return 0;
	list = client_json(client, "GET", "/v1/sessions", NULL, err);
	if (list == NULL)
		return -err->num;
	json_array_foreach(json_object_get(list, "sessions"), index, session) {
		if (strcmp(session_text(session, "name"), name) == 0)
			return err_set(err, ERR_BAD_REQUEST, EEXIST,
				       "--name: there is a session '%.100s' already: %s; use it, "
				       "choose another name, or end it: viv session rm %s",
				       name, session_text(session, "id"),
				       session_text(session, "id"));
	}
	return 0;
}

/* ---- new, list, rm, interrupt ---- */

static int set_ms(json_t *body, const char *name, const char *flag, const char *text,
		  struct err *err)
{
	uint64_t ms = 0;

	if (text == NULL)
		return 0;
	if (number_parse(NUMBER_MS, text, &ms) < 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "%s: '%.100s' is not a value like 30m or 12h", flag, text);
	(void)json_object_set_new(body, name, json_integer((json_int_t)ms));
	return 0;
}

static json_t *make_wish(const struct session_options *options, struct err *err)
{
	const struct {
		const char *name, *text;
	} rows[] = {
		{"policy", options->policy},
		{"runtime", options->runtime},
		{"backend", options->backend},
		{"name", options->name},
	};
	json_t *body = json_object();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].text != NULL)
			(void)json_object_set_new(body, rows[i].name, json_string(rows[i].text));
	}
	if (options->is_plain)
		(void)json_object_set_new(body, "transactional", json_false());
	if (options->is_kept)
		(void)json_object_set_new(body, "keep", json_true());
	if (set_ms(body, "idle_ms", "--idle", options->idle, err) < 0 ||
	    set_ms(body, "ttl_ms", "--ttl", options->ttl, err) < 0) {
		json_decref(body);
		return NULL;
	}
	return body;
}

int verb_new(const struct session_desk *desk, struct err *err)
{
	json_t *body = make_wish(desk->options, err);
	json_auto_t *session = NULL;
	int r;

	if (body == NULL)
		return -err->num;
	r = session_check_name(desk->client, desk->options->name, err);
	if (r < 0) {
		json_decref(body);
		return r;
	}
	session = client_json(desk->client, "POST", "/v1/sessions", body, err);
	if (session == NULL)
		return -err->num;
	if (desk->options->run.is_json)
		safe_print_json(session);
	else
		(void)printf("%s\n", session_text(session, "id"));
	return CMD_OK;
}

void session_print_list(const json_t *sessions, size_t width, FILE *out)
{
	static const struct column columns[] = {
		{"SESSION", "id"},
		{"NAME", "name"},
		{"STATE", "state"},
		{"POLICY", "policy"},
		{"RUNTIME", "runtime"},
		{"RUNS", "runs"},
		{"MEM", "memory", .kind = COLUMN_SIZE},
		{"UNUSED", "used_ms", .kind = COLUMN_AGE},
		{"RUN", "run"},
		{0},
	};

	table_print_rows(columns, sessions, width, out);
}

int verb_list(const struct session_desk *desk, struct err *err)
{
	json_auto_t *list = client_json(desk->client, "GET", "/v1/sessions", NULL, err);

	if (list == NULL)
		return -err->num;
	if (desk->options->run.is_json)
		safe_print_json(list);
	else
		session_print_list(json_object_get(list, "sessions"), 0, stdout);
	return CMD_OK;
}

/* Every word is resolved before the first session ends: a typo ends none. */
int verb_rm(const struct session_desk *desk, struct err *err)
{
	json_auto_t *removed = json_array();
	json_auto_t *answer = NULL;

	for (size_t i = 0; i < desk->rest_count; i++) {
		char id[ID_SIZE];
		int r = session_resolve(desk->client, desk->rest[i], id, err);

		if (r < 0)
			return r;
		(void)json_array_append_new(removed, json_string(id));
	}
	for (size_t i = 0; i < json_array_size(removed); i++) {
		const char *id = json_string_value(json_array_get(removed, i));
		json_auto_t *gone = NULL;
		char path[128];

		(void)snprintf(path, sizeof(path), "/v1/sessions/%s", id);
		gone = client_json(desk->client, "DELETE", path, NULL, err);
		if (gone == NULL)
			return -err->num;
		if (!desk->options->run.is_json)
			(void)printf("%s\n", id);
	}
	answer = json_pack("{s:O}", "removed", removed);
	if (desk->options->run.is_json)
		safe_print_json(answer);
	return CMD_OK;
}

int verb_interrupt_now(const struct session_desk *desk, struct err *err)
{
	json_auto_t *session = session_ask(desk, "POST", json_object(), err, "/interrupt");

	if (session == NULL)
		return -err->num;
	if (!desk->options->run.is_json)
		(void)printf("%s is %s\n", desk->id, session_text(session, "state"));
	return CMD_OK;
}

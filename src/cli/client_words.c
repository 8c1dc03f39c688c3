// SPDX-License-Identifier: Apache-2.0
#include "cli/client_words.h"

#include <string.h>

#include "base/c.h"

#define SESSIONS "/v1/sessions/"

static const struct {
	const char *field, *flag;
} flags[] = {
	{"timeout_ms", "--timeout"},
	{"limits.memory", "--memory"},
	{"limits.cpus", "--cpus"},
	{"limits.pids", "--pids"},
	{"idle_ms", "--idle"},
	{"ttl_ms", "--ttl"},
	{"expect_files", "--expect"},
	{"files", "--file"},
	{"env", "--env"},
	{"args", "--args"},
	{"data", "--data"},
	{"policy", "--policy"},
	{"runtime", "--runtime"},
	{"backend", "--backend"},
	{"name", "--name"},
	{"n", "N"},
};

/* Messages about a session, and the command that helps. */
static const struct {
	const char *begins, *then;
	bool is_whole; /* `then` replaces the message */
} states[] = {
	{"the session is lost", "remove it: viv session rm %s; make another: viv session new",
	 false},
	{"keep: checkpoints with a name are only on disk", "to drop one: viv session drop %s NAME",
	 false},
	{"the session is asleep", "the session is asleep; wake it: viv session wake %s", true},
};

/* Remedies with one of these words are for clients that send their own requests: left out. */
static const char *const foreign[] = {"header ", "/openapi.json"};

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* If the message begins with a field's name, appends the flag's name instead. Returns the rest of
 * the message. */
static const char *put_flag(struct buf *buf, const char *message)
{
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		size_t size = strlen(flags[i].field);

		if (begins(message, flags[i].field) && strchr(":.[", message[size]) != NULL &&
		    message[size] != '\0') {
			/* "data.rows[1]: ..." is "--data: rows[1]: ...". */
			(void)buf_format(buf, "%s%s", flags[i].flag,
					 message[size] == ':' ? "" : ": ");
			return message + size + (message[size] == '.' ? 1 : 0);
		}
	}
	return message;
}

static bool put_state(struct buf *buf, const char *message, const char *path)
{
	char id[64] = "";

	if (!begins(path, SESSIONS))
		return false;
	(void)snprintf(id, sizeof(id), "%.*s", (int)strcspn(path + strlen(SESSIONS), "/?"),
		       path + strlen(SESSIONS));
	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		const char *mark = strchr(states[i].then, '%');

		if (!begins(message, states[i].begins))
			continue;
		if (!states[i].is_whole)
			(void)buf_format(buf, "%.400s; ", message);
		(void)buf_format(buf, "%.*s%s%s", (int)(mark - states[i].then), states[i].then, id,
				 mark + 2);
		return true;
	}
	return false;
}

void client_put_words(struct buf *buf, const json_t *error, const char *path)
{
	const char *message = json_string_value(json_object_get(error, "message"));
	const char *remedy = json_string_value(json_object_get(error, "remedy"));

	if (message == NULL || put_state(buf, message, path))
		return;
	(void)buf_format(buf, "%.400s", put_flag(buf, message));
	for (size_t i = 0; remedy != NULL && i < ARRAY_LEN(foreign); i++) {
		if (strstr(remedy, foreign[i]) != NULL)
			remedy = NULL;
	}
	if (remedy != NULL)
		(void)buf_format(buf, "; %s", remedy);
}

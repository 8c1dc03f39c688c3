// SPDX-License-Identifier: Apache-2.0
/* A run that was on when a former daemon died, from the head of its log. */
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "op/flight.h"
#include "session/testimony.h"

/* A text of the log's head; "" when there is none. */
static void head_text(const char *head, size_t size, const char *name, char *text, size_t room)
{
	const char *value = NULL;
	size_t value_size = 0;

	text[0] = '\0';
	if (json_find(head, size, name, &value, &value_size) && value[0] == '"')
		testimony_text(value, value_size, text, room);
}

static void take_who(struct flight *flight, const char *head, size_t size)
{
	const char *who = "{}";
	size_t who_size = 2;

	(void)json_find(head, size, "who", &who, &who_size);
	/* A door's name: it becomes a label of metrics, so nothing else is taken for one. */
	head_text(who, who_size, "via", flight->via_kept, sizeof(flight->via_kept));
	flight->via = flight->via_kept;
	if (flight->via[0] == '\0' ||
	    flight->via[strspn(flight->via, "abcdefghijklmnopqrstuvwxyz")] != '\0')
		flight->via = "unknown";
	head_text(who, who_size, "client", flight->client, sizeof(flight->client));
}

static void take_head(struct flight *flight, const char *head, size_t size)
{
	const struct config *config = flight->engine->config;
	const struct config_token *token = NULL;
	struct err err = {0};
	char text[256];

	head_text(head, size, "session", flight->session, sizeof(flight->session));
	head_text(head, size, "sha256", flight->sha256, sizeof(flight->sha256));
	head_text(head, size, "peer", text, sizeof(text));
	flight->peer = xtext(text);
	take_who(flight, head, size);
	head_text(head, size, "token", text, sizeof(text));
	flight->token = xtext(text);
	head_text(head, size, "policy", text, sizeof(text));
	flight->policy = config_policy(config, text, &err);
	flight->op = flight->session[0] != '\0' ? "session.run" : "run";
	for (size_t i = 0; i < config->token_count; i++) {
		if (strcmp(config->tokens[i].name, flight->token) == 0)
			token = &config->tokens[i];
	}
	admission_run_kept(flight->engine->admission, token, &flight->ticket);
}

struct flight *flight_resume(struct engine *engine, struct log *log)
{
	struct flight *flight = flight_new(engine);
	const char *head = "{}";
	size_t size = 2;
	struct err err = {0};

	(void)snprintf(flight->id, sizeof(flight->id), "%s", log_id(log));
	flight->log = log;
	flight->made_ns = flight->admitted_ns = flight->asked_ns;
	(void)log_head(log, &head, &size);
	take_head(flight, head, size);
	if (flight->policy == NULL)
		flight->policy = config_policy(engine->config, "default", &err);
	return flight;
}

enum run_left flight_left(const struct engine *engine, const struct log *log)
{
	const struct session *session = NULL;
	const char *head = NULL;
	const char *value = NULL;
	size_t size = 0;
	size_t value_size = 0;
	char id[ID_SIZE] = "";

	if (!log_head(log, &head, &size) ||
	    !json_find(head, size, "session", &value, &value_size) || value[0] != '"' ||
	    value_size - 2 >= sizeof(id))
		return RUN_LEFT_NONE;
	memcpy(id, value + 1, value_size - 2);
	session = sessions_find(engine->sessions, id);
	if (session == NULL || session_state(session) == SESSION_LOST)
		return RUN_LEFT_LOST;
	/* It had begun, and its head is not there any more: the session is where it was before. */
	return log_last_note(log, &value, &value_size) ? RUN_LEFT_ROLLED_BACK : RUN_LEFT_PRESERVED;
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/watch.h"

#include <string.h>

#include "base/c.h"
#include "cli/table.h"

#define RUNS_PATH "/v1/runs?limit=1000"

int watch_open(struct watch *watch, const struct watch_options *options, struct err *err)
{
	struct client_where where = {.token_file = options->token_file};
	int r;

	*watch = (struct watch){.options = options};
	r = config_load(options->config, &watch->config, err);
	where.config = watch->config;
	return r < 0 ? r : client_open(&where, &watch->client, err);
}

void watch_close(struct watch *watch)
{
	client_close(STEAL(watch->client));
	config_free(STEAL(watch->config));
}

json_t *watch_look(const struct watch *watch, bool is_all, struct err *err)
{
	json_auto_t *sessions = client_json(watch->client, "GET", "/v1/sessions", NULL, err);
	json_auto_t *runs = NULL;
	json_t *shown = NULL;
	size_t index;
	json_t *run;

	if (sessions == NULL)
		return NULL;
	runs = client_json(watch->client, "GET", RUNS_PATH, NULL, err);
	if (runs == NULL)
		return NULL;
	shown = json_array();
	json_array_foreach(json_object_get(runs, "runs"), index, run) {
		if (is_all || json_is_null(json_object_get(run, "verdict")))
			(void)json_array_append(shown, run);
	}
	return json_pack("{s:O, s:o}", "sessions", json_object_get(sessions, "sessions"), "runs",
			 shown);
}

static void add_ms(struct table *table, const json_t *run, const char *name)
{
	const json_t *value = json_object_get(run, name);
	char text[32];

	(void)snprintf(text, sizeof(text), "%.1f ms", json_number_value(value));
	table_add(table, json_is_number(value) ? text : NULL);
}

void watch_print_runs(const json_t *runs, size_t width, FILE *out)
{
	static const char *const titles[] = {"RUN",  "SESSION", "POLICY", "RUNTIME", "AGE",
					     "WALL", "CPU",     "PEAK",   "VERDICT", NULL};
	uint64_t now = wall_ms();
	struct table table;
	size_t index;
	const json_t *run;

	table_init(&table, titles);
	json_array_foreach(runs, index, run) {
		const json_t *begun = json_object_get(run, "begun_ms");
		const json_t *peak = json_object_get(run, "peak_memory");
		const char *verdict = json_string_value(json_object_get(run, "verdict"));

		table_add_member(&table, run, "id");
		table_add_member(&table, run, "session");
		table_add_member(&table, run, "policy");
		table_add_member(&table, run, "runtime");
		table_add_age(&table, (uint64_t)json_integer_value(begun), now);
		add_ms(&table, run, "wall_ms");
		add_ms(&table, run, "cpu_ms");
		table_add_size(&table, (uint64_t)json_integer_value(peak));
		if (verdict != NULL)
			table_add(&table, verdict);
		else
			table_add_member(&table, run, "state");
	}
	table_print(&table, out, width);
	table_done(&table);
}

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

void watch_print_runs(const json_t *runs, size_t width, FILE *out)
{
	static const struct column columns[] = {
		{"RUN", "id"},
		{"SESSION", "session"},
		{"POLICY", "policy"},
		{"RUNTIME", "runtime"},
		{"AGE", "begun_ms", .kind = COLUMN_AGE},
		{"WALL", "wall_ms", .kind = COLUMN_MS},
		{"CPU", "cpu_ms", .kind = COLUMN_MS},
		{"PEAK", "peak_memory", .kind = COLUMN_SIZE},
		{"VERDICT", "verdict", "state"},
		{0},
	};

	table_print_rows(columns, runs, width, out);
}

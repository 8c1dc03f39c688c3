// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "cli/audit.h"
#include "cli/cmd.h"

struct options {
	const char *config;
	bool is_json;
	bool is_list;
};

static const struct flag flags[] = {
	FLAG_ROW(struct options, config, "config", 0, FLAG_TEXT, "FILE",
		 "read this vivarium.yaml instead of the one that would be found"),
	FLAG_ROW(struct options, is_list, "list", 0, FLAG_SWITCH, NULL,
		 "list the attacks and run none; with --json their code too"),
	FLAG_ROW(struct options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "print one JSON object, with every attack and its end"),
};

static const char *wall_verdict(const struct audit *audit, enum wall_id wall)
{
	if (audit->counts[wall][AUDIT_BREACHED] > 0)
		return "BREACHED";
	if (audit->counts[wall][AUDIT_UNCLEAR] > 0)
		return "unclear";
	return audit->counts[wall][AUDIT_HELD] > 0 ? "held" : "not attacked";
}

/* True when the wall is not up here; its attacks met what replaces it. */
static bool is_off(const struct audit *audit, enum wall_id wall)
{
	return wall == WALL_CGROUP && audit->is_measured;
}

static uint32_t total(const struct audit *audit, enum audit_outcome outcome)
{
	uint32_t sum = 0;

	for (enum wall_id wall = 0; wall < WALL_COUNT; wall++)
		sum += audit->counts[wall][outcome];
	return sum;
}

/* Prints the attacks of a wall that did not end as held, one line each. */
static void print_findings(const json_t *rows)
{
	size_t index;
	const json_t *row;

	json_array_foreach(rows, index, row) {
		const char *verdict = json_string_value(json_object_get(row, "verdict"));

		if (strcmp(verdict, "held") == 0)
			continue;
		(void)printf("            %s: %s (%s, %s): %s\n", verdict,
			     json_string_value(json_object_get(row, "name")),
			     json_string_value(json_object_get(row, "tries")),
			     json_string_value(json_object_get(row, "sandbox")),
			     json_string_value(json_object_get(row, "detail")));
	}
}

static void print_table(const struct audit *audit, uint64_t took_ns)
{
	bool is_terminal = isatty(STDOUT_FILENO) == 1;
	uint32_t breaches = total(audit, AUDIT_BREACHED);
	uint32_t unclear = total(audit, AUDIT_UNCLEAR);

	for (enum wall_id wall = 0; wall < WALL_COUNT; wall++) {
		const uint32_t *counts = audit->counts[wall];
		const char *verdict = wall_verdict(audit, wall);
		bool is_held = strcmp(verdict, "held") == 0;
		const char *colour = is_held ? "\033[32m" : "\033[31m";

		if (!(audit->only & (1U << wall)))
			continue;
		(void)printf("%-10s  %s%-8s%s  %u of %u attacks%s\n", wall_name(wall),
			     is_terminal ? colour : "", verdict, is_terminal ? "\033[0m" : "",
			     counts[AUDIT_HELD],
			     counts[AUDIT_HELD] + counts[AUDIT_BREACHED] + counts[AUDIT_UNCLEAR],
			     is_off(audit, wall) ? "; not up here, limits are measured" : "");
		print_findings(json_object_get(audit->findings, wall_name(wall)));
	}
	(void)printf("\n%u attacks in %.1f s: ", total(audit, AUDIT_HELD) + breaches + unclear,
		     (double)took_ns / 1e9);
	if (breaches > 0)
		(void)printf("%u got through.\n", breaches);
	else if (unclear > 0)
		(void)printf("none got through, %u could not be judged.\n", unclear);
	else
		(void)printf("every wall %s\n",
			     audit->is_measured ? "that is up here held; the cgroup is not, so "
						  "memory is measured and cpu has no limit."
						: "held.");
}

static void print_json(const struct audit *audit, uint64_t took_ns)
{
	json_auto_t *object = json_object();
	json_t *walls = json_array();

	for (enum wall_id wall = 0; wall < WALL_COUNT; wall++) {
		const char *name = wall_name(wall);

		if (audit->only & (1U << wall))
			(void)json_array_append_new(
				walls, json_pack("{s:s, s:b, s:s, s:O}", "wall", name, "up",
						 !is_off(audit, wall), "verdict",
						 wall_verdict(audit, wall), "attacks",
						 json_object_get(audit->findings, name)));
	}
	(void)json_object_set_new(object, "ok",
				  json_boolean(total(audit, AUDIT_BREACHED) == 0 &&
					       total(audit, AUDIT_UNCLEAR) == 0));
	(void)json_object_set_new(object, "version", json_string(VIV_VERSION));
	for (enum audit_outcome outcome = 0; outcome < AUDIT_OUTCOMES; outcome++)
		(void)json_object_set_new(object, audit_outcome_name(outcome),
					  json_integer(total(audit, outcome)));
	(void)json_object_set_new(object, "ms", json_integer((json_int_t)(took_ns / 1000000)));
	(void)json_object_set_new(object, "walls", walls);
	(void)json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	(void)printf("\n");
}

static void list_probes(uint32_t only, json_t *rows)
{
	static const char *const controls[] = {"none", "root", "any"};

	for (size_t i = 0; i < audit_probe_count; i++) {
		const struct audit_probe *probe = &audit_probes[i];

		if (!(only & (1U << probe->wall)))
			continue;
		if (rows == NULL)
			(void)printf("%-10s  %-22s  %s\n", wall_name(probe->wall), probe->name,
				     probe->tries);
		else
			(void)json_array_append_new(
				rows,
				json_pack("{s:s, s:s, s:s, s:s++, s:s, s:s}", "wall",
					  wall_name(probe->wall), "name", probe->name, "tries",
					  probe->tries, "code", audit_prelude, probe->code,
					  audit_coda, "ends", probe->ends ? probe->ends : "ok",
					  "control", controls[probe->control]));
	}
}

/* JSON also has the `_args` of the attacks, without what an audit would plant. */
static int list(const struct config *config, uint32_t only, bool is_json, struct err *err)
{
	const struct audit_plant nothing = {0};
	json_auto_t *object = json_object();
	json_t *rows = is_json ? json_array() : NULL;
	struct plan plan;
	int r;

	r = audit_plan(config, &plan, err);
	if (r < 0)
		return r;

	list_probes(only, rows);
	if (!is_json)
		return 0;
	(void)json_object_set_new(object, "args", audit_args(&nothing, &plan));
	(void)json_object_set_new(object, "attacks", rows);
	(void)json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	(void)printf("\n");
	return 0;
}

/* Operands are names of walls; none: all of them. */
static int choose_walls(const struct operands *operands, uint32_t *ret_only, struct err *err)
{
	uint32_t only = 0;

	for (size_t i = 0; i < operands->count; i++) {
		enum wall_id wall = 0;

		while (wall < WALL_COUNT && strcmp(wall_name(wall), operands->items[i]) != 0)
			wall++;
		if (wall == WALL_COUNT)
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "no wall is called %s; `viv doctor` lists them",
				       operands->items[i]);
		only |= 1U << wall;
	}
	*ret_only = only != 0 ? only : WALLS_ALL;
	return 0;
}

static int attack_all(const struct config *config, const struct options *wish, uint32_t only,
		      struct err *err)
{
	struct audit audit = {.only = only, .null = -1};
	uint64_t start = now_ns();
	int r;

	r = attack_open(&audit, config, err);
	if (r == 0)
		r = audit_attack(&audit, false, err);
	if (r == 0)
		r = audit_attack(&audit, true, err);
	if (r == 0 && wish->is_json)
		print_json(&audit, now_ns() - start);
	else if (r == 0)
		print_table(&audit, now_ns() - start);
	if (r == 0 && total(&audit, AUDIT_BREACHED) > 0)
		r = CMD_FAILED_CHECK;
	else if (r == 0 && total(&audit, AUDIT_UNCLEAR) > 0)
		r = CMD_INTERNAL;
	attack_close(&audit);
	return r;
}

static int run(const struct cmd *cmd, const void *options, const struct operands *operands)
{
	const struct options *wish = options;
	struct config *config = NULL;
	struct err err = {0};
	uint32_t only = 0;
	int r;

	if (choose_walls(operands, &only, &err) < 0)
		return cmd_fail(cmd, &err);
	if (config_load(wish->config, &config, &err) < 0)
		return cmd_fail(cmd, &err);

	r = wish->is_list ? list(config, only, wish->is_json, &err)
			  : attack_all(config, wish, only, &err);
	config_free(config);
	if (r < 0) {
		(void)cmd_fail(cmd, &err);
		return CMD_INTERNAL;
	}
	return r;
}

const struct cmd cmd_audit = {
	.name = "audit",
	.operands = "[WALL...]",
	.summary = "attack this host's own sandboxes, wall by wall, and say what held",
	.about =
		"Makes sandboxes like those of every run, from the pool and cold, and runs "
		"hostile\n"
		"code in each. Whether an attack got through is judged from outside: by planted\n"
		"files, sockets, memory and descriptors, by the run's verdict, and by looking at\n"
		"the live sandbox through /proc. Nothing outside is harmed, whatever the outcome.\n"
		"\n"
		"Exit status: 0 when every wall held, 1 when an attack got through, 125 when that\n"
		"could not be found out.",
	.examples = "  viv audit\n  viv audit seccomp net\n  viv audit --list",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};

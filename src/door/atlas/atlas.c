// SPDX-License-Identifier: Apache-2.0
#include "door/atlas/atlas.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/choose.h"
#include "base/c.h"
#include "session/engine.h"

#define CONCURRENT_MAX 10
#define DIR_DEFAULT "/semantic"

void atlas_say(struct exchange *call, unsigned status, const char *text)
{
	exchange_answer_text(call, status, "error", text);
}

static void refuse(struct exchange *call, unsigned status, const struct err *err)
{
	if (call->route != NULL && call->route->run == atlas_explore) {
		atlas_explore_refuse(call, status, err);
		return;
	}
	switch (status) {
	case 400:
		atlas_say(call, 400, "Invalid JSON body");
		break;
	case 401:
		atlas_say(call, 401, "Unauthorized");
		break;
	case 404:
	case 405:
		atlas_say(call, 404, "Not found");
		break;
	default:
		atlas_say(call, status, err->text);
	}
}

uint64_t atlas_timeout(struct exchange *call, uint64_t initial_ms, uint64_t min_ms, uint64_t max_ms)
{
	const json_t *asked = exchange_member(call, "timeout");
	double timeout = json_is_number(asked) ? json_number_value(asked) : (double)initial_ms;

	if (!(timeout >= (double)min_ms))
		timeout = (double)min_ms;
	return timeout < (double)max_ms ? (uint64_t)timeout : max_ms;
}

/* ---- ten executions at a time ---- */

void atlas_leave(struct atlas_place *place)
{
	if (place->is_taken)
		LIST_REMOVE(place, entry);
	place->is_taken = false;
}

static void leave_early(struct exchange *call)
{
	atlas_leave(call->user);
}

static unsigned count_places(const struct atlas *atlas, const struct config_token *token)
{
	const struct atlas_place *place = NULL;
	unsigned count = 0;

	LIST_FOREACH(place, &atlas->places, entry)
		count += place->token == token;
	return count;
}

static void begin_execution(struct exchange *call)
{
	struct atlas *atlas = call->state;
	const struct config_token *token = call->caller.token;
	struct atlas_place *place;

	if (count_places(atlas, token) >= CONCURRENT_MAX) {
		struct err err = {0};

		(void)err_set(&err, ERR_BUSY, EAGAIN, "Too many concurrent executions");
		refuse(call, 429, &err);
		return;
	}
	place = exchange_memory(call, sizeof(*place));
	*place = (struct atlas_place){.is_taken = true, .token = token};
	LIST_INSERT_HEAD(&atlas->places, place, entry);
	call->user = place;
	call->ended = leave_early;
}

/* ---- routes ---- */

static bool is_empty(struct exchange *call)
{
	if (exchange_body_size(call) > 0)
		return false;
	atlas_say(call, 400, "Invalid JSON body");
	return true;
}

static void exec(struct exchange *call)
{
	if (!is_empty(call))
		atlas_run_command(call);
}

static void exec_python(struct exchange *call)
{
	if (!is_empty(call))
		atlas_run_python(call, false);
}

static void exec_python_stream(struct exchange *call)
{
	if (!is_empty(call))
		atlas_run_python(call, true);
}

/* The number of entries in a folder; negative errno if it cannot be read. */
static int64_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int64_t count = 0;

	if (dir == NULL)
		return -errno;
	for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	(void)closedir(dir);
	return count;
}

static void health(struct exchange *call)
{
	const struct atlas *atlas = call->state;
	int64_t count = count_entries(atlas->semantic_dir);
	const char *warning = NULL;
	json_t *answer;
	char why[256];

	if (count < 0 && atlas->is_dir_meant) {
		(void)snprintf(why, sizeof(why), "SEMANTIC_DIR not readable: %s",
			       strerrordesc_np((int)-count));
		exchange_answer_tree(call, 503,
				     json_pack("{s:s,s:s}", "status", "error", "error", why));
		return;
	}
	if (atlas->bash == NULL)
		warning = "bash is not installed: /exec cannot run anything";
	answer = json_pack("{s:s,s:s,s:I,s:b,s:s?,s:b}", "status",
			   atlas->bash != NULL ? "ok" : "degraded", "semanticDir",
			   atlas->semantic_dir, "fileCount", (json_int_t)(count > 0 ? count : 0),
			   "bashAvailable", atlas->bash != NULL, "bashPath", atlas->bash,
			   "pythonAvailable", call->engine->health_why.kind == ERR_NONE);
	if (warning != NULL)
		(void)json_object_set_new(answer, "warning", json_string(warning));
	exchange_answer_tree(call, atlas->bash != NULL ? 200 : 503, answer);
}

static const struct op_param exec_members[] = {
	{.name = "command", .type = OP_BYTES},
	{.name = "cwd", .type = OP_TEXT},
	{.name = "timeout", .type = OP_MS},
};

static const struct op_param explore_members[] = {
	{.name = "command", .type = OP_BYTES},
};

static const struct op_param python_members[] = {
	{.name = "code", .type = OP_BYTES},
	{.name = "data", .type = OP_JSON},
	{.name = "timeout", .type = OP_MS},
};

static const struct door_route routes[] = {
	{.method = "GET", .path = "/health", .is_open = true, .run = health},
	{.method = "POST",
	 .path = "/exec",
	 DOOR_MEMBERS(exec_members),
	 .begin = begin_execution,
	 .run = exec},
	{.method = "POST",
	 .path = "/api/v1/explore",
	 DOOR_MEMBERS(explore_members),
	 .begin = begin_execution,
	 .run = atlas_explore},
	{.method = "POST",
	 .path = "/exec-python",
	 DOOR_MEMBERS(python_members),
	 .begin = begin_execution,
	 .run = exec_python},
	{.method = "POST",
	 .path = "/exec-python-stream",
	 DOOR_MEMBERS(python_members),
	 .begin = begin_execution,
	 .run = exec_python_stream},
};

static int open_atlas(struct engine *engine, void **ret_state, struct err *err)
{
	static const char *const places[] = {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"};
	const struct config *config = engine->config;
	const struct atlas_config *own = config_part(config, &atlas_config);
	struct atlas *atlas = xnew(struct atlas);

	if (config_policy(config, own->policy, err) == NULL) {
		free(atlas);
		return -err->num;
	}
	atlas->semantic_dir = own->semantic_dir;
	if (atlas->semantic_dir[0] == '\0')
		atlas->semantic_dir = config->explore_root;
	atlas->is_dir_meant = atlas->semantic_dir[0] != '\0';
	if (!atlas->is_dir_meant)
		atlas->semantic_dir = DIR_DEFAULT;
	atlas->folder = atlas->semantic_dir;
	if (!atlas->is_dir_meant && backend_explore(config) == BACKEND_EXPLORE_AWAY)
		atlas->folder = NULL;
	for (size_t i = 0; i < ARRAY_LEN(places) && atlas->bash == NULL; i++) {
		if (access(places[i], X_OK) == 0)
			atlas->bash = places[i];
	}
	*ret_state = atlas;
	return 0;
}

const struct door door_atlas = {
	.name = "atlas",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	.config = &atlas_config,
	.is_exclusive = true,
	.token_header = "X-API-Key",
	.refuse = refuse,
	.boot = atlas_boot,
	.open = open_atlas,
	.close = free,
};

// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "op/object.h"
#include "op/op.h"
#include "op/op_backends.h"
#include "op/wall_facts.h"
#include "policy/host.h"
#include "session/engine.h"
#include "session/journal.h"

#define ANSWER_MAX (1U << 20)

/* The backend whose walls are reported: the first that has told its facts about this host, else the
 * first that makes sandboxes. */
static struct backend_seen shown_backend(const struct backend_host *host)
{
	const struct backend *const *all = backend_all(host);

	for (size_t i = 0; i < host->seen_count; i++) {
		if (host->seen[i].facts != NULL)
			return host->seen[i];
	}
	while ((*all)->box == NULL)
		all++;
	return (struct backend_seen){.backend = *all};
}

/* A sandbox that lacks one of these does not run. */
static void put_walls(struct object *object, const struct backend_facts *hello)
{
	object_open(object, "walls", '[');
	for (unsigned id = 0; hello != NULL && id < WALL_COUNT; id++) {
		if (hello->walls & 1U << id)
			object_text(object, NULL, wall_name((enum wall_id)id));
	}
	object_close(object, ']');
}

static void put_runtimes(struct object *object, const struct config *config)
{
	object_open(object, "runtimes", '[');
	for (size_t i = 0; i < config->runtime_count; i++) {
		object_open(object, NULL, '{');
		object_text(object, "name", config->runtimes[i].name);
		object_texts(object, "preload", &config->runtimes[i].preload);
		object_close(object, '}');
	}
	object_close(object, ']');
}

static void put_pool(void *user, const struct box_kind *kind, uint32_t keep, uint32_t ready,
		     uint32_t coming, const struct err *why)
{
	struct object *object = user;

	object_open(object, NULL, '{');
	object_text(object, "runtime", kind->runtime->name);
	object_number(object, "memory", kind->plan.memory);
	object_number(object, "keep", keep);
	object_number(object, "ready", ready);
	object_number(object, "coming", coming);
	object_text(object, "why", why != NULL ? why->text : NULL);
	object_close(object, '}');
}

static void put_limits(struct object *object, const struct config *config,
		       const struct backend_facts *hello)
{
	static const char *const modes[] = {
		[BOX_LIMITS_V2] = "cgroup v2",
		[BOX_LIMITS_V1] = "cgroup v1",
		[BOX_LIMITS_MEASURED] = "measured",
	};

	object_open(object, "limits", '{');
	object_number(object, "concurrent_runs", config->concurrent_runs);
	object_number(object, "queue", config->queue);
	object_number(object, "sessions", config->sessions);
	object_number(object, "connections", config->connections);
	object_number(object, "body", config->body);
	object_number(object, "host_memory", host_memory());
	if (hello != NULL && hello->limits < ARRAY_LEN(modes)) {
		object_text(object, "by", modes[hello->limits]);
		object_text(object, "why", hello->why.kind != ERR_NONE ? hello->why.text : NULL);
	}
	object_close(object, '}');
}

/* Lists the names that a client may use, without their paths on the host. */
static void put_explore(struct object *object, const struct config *config)
{
	const struct text_list *folders = &config->explore_folders;

	object_open(object, "explore", '[');
	if (config->explore_root[0] != '\0')
		object_text(object, NULL, "default");
	for (size_t i = 0; i < folders->count; i++) {
		char name[POLICY_NAME_MAX + 1];

		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(folders->items[i], "="),
			       folders->items[i]);
		object_text(object, NULL, name);
	}
	object_close(object, ']');
}

/* Lets a caller with a config of its own tell whether it is the same file. */
static void put_config(struct object *object, const struct config *config)
{
	AUTO_FREE char *path = config->file[0] != '\0' ? realpath(config->file, NULL) : NULL;

	object_text(object, "config", path);
}

/* While the journal is full, events are only in memory, and a crash would lose them. */
static void put_journal(struct object *object, const struct journal *journal)
{
	const struct err *why = journal != NULL ? journal_why(journal) : NULL;

	object_open(object, "journal", '{');
	object_number(object, "bytes", journal != NULL ? journal_disk(journal) : 0);
	object_text(object, "why", why != NULL ? why->text : NULL);
	object_close(object, '}');
}

/* Tells whether this caller may decide on held runs, and what a caller needs for that. */
static void put_approve(struct object *object, const struct op_call *call)
{
	const struct op_caller *caller = &call->caller;
	const char *needs = call->engine->config->token_count > 0 ? "token" : "key";

	if (caller->may_decide && caller->token == NULL && strcmp(caller->peer, "unix") == 0)
		needs = "nothing";
	object_open(object, "approve", '{');
	object_text(object, "needs", needs);
	object_bool(object, "may", caller->may_decide);
	object_close(object, '}');
}

/* Tells callers what they are to the daemon: an overseer sees sessions that are not its own. */
static void put_caller(struct object *object, const struct op_caller *caller)
{
	object_open(object, "caller", '{');
	object_text(object, "token", caller->token != NULL ? caller->name : NULL);
	object_bool(object, "oversees", caller->is_overseer);
	object_close(object, '}');
}

static void call_status(struct op_call *call)
{
	const struct engine *engine = call->engine;
	const struct backend_host host = op_host(engine);
	const struct backend_seen shown = shown_backend(&host);
	uint64_t now = wall_ms();
	struct object object;

	object_init(&object, ANSWER_MAX);
	object_text(&object, "version", VIV_VERSION);
	put_config(&object, engine->config);
	object_number(&object, "started_ms", engine->started_ms);
	/* The clock may have been set back since. */
	object_number(&object, "uptime_ms",
		      now > engine->started_ms ? now - engine->started_ms : 0);
	op_put_backends(&object, &host);
	put_walls(&object, shown.facts);
	put_runtimes(&object, engine->config);
	object_open(&object, "pools", '[');
	if (engine->pool != NULL)
		pool_each(engine->pool, put_pool, &object);
	object_close(&object, ']');
	put_explore(&object, engine->config);
	put_limits(&object, engine->config, shown.facts);
	put_journal(&object, engine->journal);
	put_approve(&object, call);
	put_caller(&object, &call->caller);
	wall_facts_put(&object, &shown,
		       engine->health_why.kind != ERR_NONE
			       ? engine->health_why.text
			       : "the backend that makes sandboxes is being started",
		       "viv doctor");
	object_number(&object, "sandboxes",
		      engine->pool != NULL ? (uint64_t)pool_sandboxes(engine->pool) : 0);
	object_answer(&object, call, 0);
}

const struct op op_status = {
	.name = "status",
	.method = "GET",
	.path = "/v1/status",
	.help = "Version, backends and why one is not available, walls, runtimes, pools, limits",
	.answer = "Status",
	.call = call_status,
};

// SPDX-License-Identifier: Apache-2.0
#include "mcp/mcp.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "mcp/mcp_inside.h"
#include "session/engine.h"

#define TICK_MS 1000

static void on_tick(uv_timer_t *timer)
{
	struct mcp *mcp = timer->data;
	uint64_t now = now_ns();

	mcp_calls_tick(mcp, now);
	mcp_streams_tick(mcp, now);
	mcp_sessions_tick(mcp, now);
	mcp_tasks_tick(mcp, now);
	if (!TAILQ_EMPTY(&mcp->streams) || !TAILQ_EMPTY(&mcp->sessions) ||
	    !TAILQ_EMPTY(&mcp->tasks))
		return;
	mcp->is_ticking = false;
	(void)uv_timer_stop(timer);
}

void mcp_watch(struct mcp *mcp)
{
	if (mcp->is_ticking || mcp->is_closing)
		return;
	mcp->is_ticking = true;
	(void)uv_timer_start(&mcp->tick, on_tick, TICK_MS, TICK_MS);
}

static int add_tool(struct mcp *mcp, const struct mcp_tool *tool, struct err *err)
{
	struct mcp_view *view;

	if (mcp->view_count == MCP_TOOLS_MAX)
		return err_set(err, ERR_INTERNAL, E2BIG, "more than %d tools", MCP_TOOLS_MAX);
	if (mcp_view_find(mcp, tool->name) != NULL)
		return err_set(err, ERR_INTERNAL, EEXIST, "two tools are called %s", tool->name);
	view = xnew(struct mcp_view);
	if (mcp_view_init(view, tool) < 0) {
		free(view);
		return err_set(err, ERR_INTERNAL, E2BIG, "the tool %s has too many rows",
			       tool->name);
	}
	mcp->views[mcp->view_count++] = view;
	return 0;
}

static int add_tools(struct mcp *mcp, const struct mcp_tool *const *tools, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && tools[i] != NULL; i++)
		r = add_tool(mcp, tools[i], err);
	return r;
}

static int add_all_tools(struct mcp *mcp, struct err *err)
{
	int r = add_tools(mcp, mcp_tools, err);

	for (const struct mcp_tool_set *set = mcp_tool_sets; r == 0 && set->tools != NULL; set++) {
		if (config_door(mcp->engine->config, set->config)->is_enabled)
			r = add_tools(mcp, set->tools, err);
	}
	for (size_t i = 0; r == 0 && mcp_extra != NULL; i++) {
		if (mcp_extra->tool(i) == NULL)
			break;
		r = add_tool(mcp, mcp_extra->tool(i), err);
	}
	return r;
}

struct mcp *mcp_new(struct engine *engine, struct err *err)
{
	struct mcp *mcp = xnew(struct mcp);

	mcp->engine = engine;
	TAILQ_INIT(&mcp->sessions);
	TAILQ_INIT(&mcp->streams);
	TAILQ_INIT(&mcp->tasks);
	randombytes_buf(mcp->key, sizeof(mcp->key));
	(void)uv_timer_init(engine->loop, &mcp->tick);
	mcp->tick.data = mcp;
	if (add_all_tools(mcp, err) == 0)
		return mcp;
	mcp_close(mcp);
	return NULL;
}

static void handle_closed(uv_handle_t *handle)
{
	struct mcp *mcp = handle->data;

	for (size_t i = 0; i < mcp->view_count; i++)
		free(mcp->views[i]);
	free(mcp);
}

void mcp_close_when_done(struct mcp *mcp)
{
	if (!mcp->is_closing || !LIST_EMPTY(&mcp->ops) || uv_is_closing((uv_handle_t *)&mcp->tick))
		return;
	uv_close((uv_handle_t *)&mcp->tick, handle_closed);
}

void mcp_close(struct mcp *mcp)
{
	if (mcp == NULL)
		return;
	mcp->is_closing = true;
	while (!LIST_EMPTY(&mcp->requests))
		mcp_request_drop(LIST_FIRST(&mcp->requests));
	while (!TAILQ_EMPTY(&mcp->sessions))
		mcp_session_end(TAILQ_FIRST(&mcp->sessions));
	while (!TAILQ_EMPTY(&mcp->tasks))
		mcp_task_free(TAILQ_FIRST(&mcp->tasks));
	mcp_close_when_done(mcp);
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/openapi.h"
#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"

/* Is "|name|" in this list? */
static bool is_listed(const char *list, const char *name)
{
	char word[PARAM_NAME_MAX + 2];

	(void)snprintf(word, sizeof(word), "|%s|", name);
	return list != NULL && strstr(list, word) != NULL;
}

/* Adds a row of the op as a member of the arguments, wherever the op itself expects it. */
static int add_row(struct mcp_view *view, const struct mcp_tool *tool, const struct op_param *row,
		   bool may_require)
{
	bool is_id = tool->op != NULL && row->in == OP_IN_PATH && strcmp(row->name, "id") == 0;
	const char *name = is_id ? "session_id" : row->name;
	struct op_param *param = &view->params[view->op.param_count];

	if (is_listed(tool->without, name) || param_find(&view->op, OP_IN_BODY, name) != NULL)
		return 0;
	if (view->op.param_count == SCAN_MEMBERS_MAX)
		return -E2BIG;
	*param = *row;
	param->name = name;
	param->in = OP_IN_BODY;
	param->is_required =
		(may_require && row->is_required) || is_listed(tool->required, row->name);
	view->op.param_count++;
	return 0;
}

int mcp_view_init(struct mcp_view *view, const struct mcp_tool *tool)
{
	const struct op none = {.params = tool->params, .param_count = tool->param_count};
	const struct op *op = tool->op != NULL && tool->params == NULL ? tool->op : &none;
	size_t args_size = tool->args_size > 0 ? tool->args_size : op->args_size;
	int r = 0;

	view->tool = tool;
	view->op = (struct op){
		.name = tool->name,
		.help = tool->help,
		.params = view->params,
		.args_size = args_size,
	};
	for (size_t i = 0; r == 0 && i < op->param_count; i++)
		r = add_row(view, tool, &op->params[i], true);
	for (size_t i = 0; r == 0 && tool->also != NULL && i < tool->also->param_count; i++)
		r = add_row(view, tool, &tool->also->params[i], false);
	return r;
}

const struct mcp_view *mcp_view_find(const struct mcp *mcp, const char *name)
{
	for (size_t i = 0; i < mcp->view_count; i++) {
		if (strcmp(mcp->views[i]->tool->name, name) == 0)
			return mcp->views[i];
	}
	return NULL;
}

static int put_hints(const struct mcp_tool *tool, struct buf *buf)
{
	unsigned hints = tool->hints;

	return json_put(buf,
			",'annotations':{'title':%s,'readOnlyHint':%i,'destructiveHint':%i,"
			"'idempotentHint':%i,'openWorldHint':%i}",
			tool->title != NULL ? tool->title : tool->name,
			(hints & MCP_READ_ONLY) != 0, (hints & MCP_DESTRUCTIVE) != 0,
			(hints & MCP_IDEMPOTENT) != 0, (hints & MCP_OPEN_WORLD) != 0);
}

static void put_output(const struct mcp_tool *tool, struct buf *buf)
{
	const struct schema own = {.name = tool->name, .members = tool->members};
	const char *name = tool->answer;
	const struct schema *schema = tool->members != NULL ? &own : NULL;

	if (name == NULL && tool->op != NULL)
		name = tool->op->answer;
	if (schema == NULL)
		schema = schema_find(name);
	if (schema == NULL)
		return;
	buf_text(buf, ",\"outputSchema\":");
	schema_put(schema, true, buf);
	/* Adds one more property after the others: "}}" becomes ",...}}". */
	if (tool->tells_session && buf->failed == 0) {
		buf->size -= 2;
		buf_text(buf, ",\"session_id\":{\"type\":\"string\",\"description\":\"what the "
			      "other tools take as session_id\"}}}");
	}
}

static int put_input(const struct mcp_view *view, struct buf *buf)
{
	/* Test fixtures have schemas of their own, which no row can express. */
	if (view->tool->schema != NULL)
		return buf_text(buf, view->tool->schema);
	return openapi_put_arguments(&view->op, "session_id", "Session-Id", buf);
}

/* Appends the tool as tools/list shows it. */
static int mcp_view_put(const struct mcp_view *view, struct buf *buf)
{
	const struct mcp_tool *tool = view->tool;

	json_put(buf, "{'name':%s", tool->name);
	if (tool->title != NULL)
		json_put(buf, ",'title':%s", tool->title);
	json_put(buf, ",'description':%s,'inputSchema':", tool->help);
	put_input(view, buf);
	put_output(tool, buf);
	put_hints(tool, buf);
	return json_put(buf, "}");
}

void mcp_tools_list(struct mcp_request *request)
{
	const struct mcp *mcp = request->mcp;
	AUTO_BUF struct buf members = {.max = MCP_SMALL_MAX};

	if (json_object_get(request->message.params, "cursor") != NULL) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
			   "cursor: is not valid; the list has only one page");
		return;
	}
	buf_text(&members, "\"tools\":[");
	for (size_t i = 0; i < mcp->view_count; i++) {
		buf_text(&members, i > 0 ? "," : "");
		mcp_view_put(mcp->views[i], &members);
	}
	if (json_put(&members, "]") < 0)
		mcp_refuse(request, 500, MCP_INTERNAL, NULL, "no memory for the list of tools");
	else
		mcp_reply_buf(request, NULL, &members);
}

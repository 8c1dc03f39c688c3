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

/* A row of the op as a member of the arguments: wherever the op looks for it. */
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

static const char *yes_no(unsigned hints, enum mcp_hint hint)
{
	return (hints & (unsigned)hint) != 0 ? "true" : "false";
}

static int put_hints(const struct mcp_tool *tool, struct buf *buf)
{
	unsigned hints = tool->hints;

	buf_text(buf, ",\"annotations\":{\"title\":");
	json_put_text(buf, tool->title != NULL ? tool->title : tool->name);
	buf_format(buf,
		   ",\"readOnlyHint\":%s,\"destructiveHint\":%s,\"idempotentHint\":%s,"
		   "\"openWorldHint\":%s}",
		   yes_no(hints, MCP_READ_ONLY), yes_no(hints, MCP_DESTRUCTIVE),
		   yes_no(hints, MCP_IDEMPOTENT), yes_no(hints, MCP_OPEN_WORLD));
	return buf->failed;
}

/* One more property behind the others: "}}" becomes ",...}}". */
static int put_session_id(struct buf *buf)
{
	buf->size -= 2;
	return buf_text(buf,
			",\"session_id\":{\"type\":\"string\",\"description\":\"what the other "
			"tools take as session_id\"}}}");
}

static int put_output(const struct mcp_tool *tool, struct buf *buf)
{
	const char *name = tool->answer;
	const struct schema *schema;
	int r;

	if (name == NULL && tool->op != NULL)
		name = tool->op->answer;
	schema = name != NULL && name[0] != '\0' ? schema_find(name) : NULL;
	if (schema == NULL)
		return 0;
	r = buf_text(buf, ",\"outputSchema\":");
	if (r == 0)
		r = schema_put(schema, true, buf);
	if (r == 0 && tool->tells_session)
		r = put_session_id(buf);
	return r;
}

static int put_input(const struct mcp_view *view, struct buf *buf)
{
	/* A fixture has a schema of its own, which no row could say. */
	if (view->tool->schema != NULL)
		return buf_text(buf, view->tool->schema);
	return openapi_put_arguments(&view->op, "session_id", "Session-Id", buf);
}

int mcp_view_put(const struct mcp_view *view, struct buf *buf)
{
	const struct mcp_tool *tool = view->tool;
	int r = buf_text(buf, "{\"name\":");

	if (r == 0)
		r = json_put_text(buf, tool->name);
	if (r == 0 && tool->title != NULL)
		r = buf_text(buf, ",\"title\":");
	if (r == 0 && tool->title != NULL)
		r = json_put_text(buf, tool->title);
	if (r == 0)
		r = buf_text(buf, ",\"description\":");
	if (r == 0)
		r = json_put_text(buf, tool->help);
	if (r == 0)
		r = buf_text(buf, ",\"inputSchema\":");
	if (r == 0)
		r = put_input(view, buf);
	if (r == 0)
		r = put_output(tool, buf);
	if (r == 0)
		r = put_hints(tool, buf);
	return r == 0 ? buf_text(buf, "}") : r;
}

void mcp_tools_list(struct mcp_request *request)
{
	const struct mcp *mcp = request->mcp;
	struct buf members;
	int r;

	if (json_object_get(request->message.params, "cursor") != NULL) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
			   "cursor: there is one page, and no cursor was given");
		return;
	}
	buf_init(&members, MCP_SMALL_MAX);
	r = buf_text(&members, "\"tools\":[");
	for (size_t i = 0; r == 0 && i < mcp->view_count; i++) {
		r = i > 0 ? buf_text(&members, ",") : 0;
		if (r == 0)
			r = mcp_view_put(mcp->views[i], &members);
	}
	if (r == 0)
		r = buf_text(&members, "]");
	if (r < 0) {
		buf_done(&members);
		mcp_refuse(request, 500, MCP_INTERNAL, NULL, "no memory for the list of tools");
		return;
	}
	mcp_reply_buf(request, NULL, &members);
}

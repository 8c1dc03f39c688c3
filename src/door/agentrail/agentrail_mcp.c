// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "base/id.h"
#include "door/agentrail/agentrail.h"

#define KEY_NAME "agentrail"         /* the name of our session for this MCP session */
#define KEY_SESSION "agentrail_here" /* its id: the session ends with the MCP session */

/* {"content":[{text}],"structuredContent":details}, with the session's id if the client must send
 * it. */
static int put_answer(struct buf *members, const struct agentrail_answer *answer,
		      bool tells_session)
{
	buf_text(members, "\"content\":[{\"type\":\"text\",\"text\":");
	buf_append(members, answer->text->data, answer->text->size);
	buf_text(members, "}],\"structuredContent\":{");
	buf_append(members, answer->details->data, answer->details->size);
	if (tells_session)
		buf_format(members, ",\"session_id\":\"%s\"", answer->session);
	buf_format(members, "},\"isError\":%s", answer->is_refused ? "true" : "false");
	return members->failed;
}

static void job_done(void *user, const struct agentrail_answer *answer)
{
	struct mcp_call *call = user;
	const struct agentrail_args *args = mcp_call_args(call);
	bool is_theirs = mcp_call_has_session(call) && args->session_id == NULL;
	AUTO_BUF struct buf members = {.max = 2ULL * AGENTRAIL_ANSWER_MAX + KIB};

	mcp_call_set_state(call, NULL);
	if (is_theirs && answer->session[0] != '\0')
		mcp_call_remember(call, KEY_SESSION, answer->session);
	if (answer->err != NULL) {
		mcp_answer_text(call, true, answer->err->text);
		return;
	}
	if (put_answer(&members, answer, !is_theirs) == 0) {
		mcp_answer_members(call, &members);
	} else {
		mcp_answer_text(call, true, "the answer is too large");
	}
}

static void ran(struct mcp_call *call, const struct ask_result *result)
{
	agentrail_ran(mcp_call_state(call), result);
}

/* The output is sent as progress while the tool runs. */
static void run(void *user, const struct run_request *args)
{
	mcp_call_run(user, &op_session_run, args, ran);
}

static void cancelled(struct mcp_call *call)
{
	struct agentrail_job *job = mcp_call_state(call);

	if (job != NULL)
		agentrail_cancel(job);
}

/* Without a session_id the state belongs to the MCP session, if there is one. The name is chosen
 * before the session is made, so that concurrent calls get the same session. */
static const char *session_of(struct mcp_call *call, const struct agentrail_args *args)
{
	char name[ID_SIZE];

	if (args->session_id != NULL || !mcp_call_has_session(call))
		return args->session_id;
	if (mcp_call_recall(call, KEY_NAME) == NULL) {
		id_new("mcp-", name);
		mcp_call_remember(call, KEY_NAME, name);
	}
	return mcp_call_recall(call, KEY_NAME);
}

void agentrail_mcp(struct mcp_call *call, const char *tool)
{
	const struct agentrail_args *args = mcp_call_args(call);
	const struct agentrail_ask ask = {
		.engine = mcp_call_engine(call),
		.caller = *mcp_call_caller(call),
		.tool = agentrail_find(tool),
		.args = args,
		.session = session_of(call, args),
		.run = run,
		.done = job_done,
		.user = call,
	};
	struct agentrail_job *job = NULL;
	struct err err = {0};

	if (agentrail_new(&ask, &job, &err) < 0) {
		mcp_answer_text(call, true, err.text);
		return;
	}
	mcp_call_set_state(call, job);
	mcp_call_on_cancel(call, cancelled);
	agentrail_go(job);
}

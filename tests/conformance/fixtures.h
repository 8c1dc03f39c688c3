// SPDX-License-Identifier: Apache-2.0
/*
 * Fixtures - the tools, prompts and resources that MCP's conformance suite calls by name
 *
 * Owns:    what they answer. They are only in viv-serve-test, which `viv serve --conformance`
 * becomes. May not: touch a sandbox, or be what any real tool stands on.
 */
#pragma once

#include "mcp/mcp_inside.h"

struct mcp_fixture {
	struct mcp_tool tool;
	const char *members; /* its answer; NULL: `call` gives one */
	void (*call)(struct mcp_request *request);
};

/* Answers with the members of this object, as mcp_reply() does. NULL: there was no memory for it.
 */
void mcp_fixture_reply(struct mcp_request *request, const char *type, json_t *take_object);

/* The arguments as a tree; NULL: none, or too many. The caller's to free. */
json_t *mcp_fixture_arguments(const struct mcp_request *request);

/* An answer of the client to a question of ours; the end of one. */
void mcp_question_answered(struct mcp_session *session, const struct mcp_message *message);
void mcp_question_drop(struct mcp_question *question);

/* Questions to the client: in the 2025 era on the stream, in the 2026 era by the result. */
void mcp_fixture_sample(struct mcp_request *request);
void mcp_fixture_elicit(struct mcp_request *request);
void mcp_fixture_input(struct mcp_request *request);

/* The client's answer to the input that was asked for under this name; NULL: none that helps. */
const json_t *mcp_fixture_answer(const struct mcp_request *request, const char *key);

/* The tools that become tasks. NULL behind the last. */
const struct mcp_tool *mcp_fixture_task_tool(size_t index);

/* True: the request was answered, and no call is to be made. */
bool mcp_fixture_task_call(struct mcp_request *request, const char *tool);

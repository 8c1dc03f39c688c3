// SPDX-License-Identifier: Apache-2.0
/*
 * Synapse tools - how its MCP tools answer
 *
 * Owns:    the one text block with JSON in it that each of them gives, an error included.
 * May not: be known outside Synapse's own files.
 */
#pragma once

#include "door/synapse/synapse.h"
#include "mcp/mcp.h"

/* Answers with the JSON, indented, as text. Consumes it. */
void synapse_tool_answer(struct mcp_call *call, struct buf *take_json);

/* Answers {"error": message} as normal content, as its clients expect. */
void synapse_tool_fail(struct mcp_call *call, const char *message);

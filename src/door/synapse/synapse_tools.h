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

/* The JSON, indented, as the answer's text. Consumes it. */
void synapse_tool_answer(struct mcp_call *call, struct buf *take_json);

/* {"error": message}, in normal content: so its clients expect it. */
void synapse_tool_fail(struct mcp_call *call, const char *message);

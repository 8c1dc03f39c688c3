// SPDX-License-Identifier: Apache-2.0
/*
 * Mcp bridge - MCP on stdin and stdout, carried to a daemon's /mcp
 *
 * Owns:    lines in, lines out, the loop between, and the end of the client's session.
 * May not: answer a message itself but where the daemon cannot: what MCP means is the daemon's.
 */
#pragma once

#include "base/err.h"
#include "cli/client_way.h"

/* Carries messages until `in` is at its end or a signal comes. Answers that are due then get a
 * moment to come. */
int mcp_bridge_run(const struct client_way *way, const char *path, int in, int out,
		   struct err *err);

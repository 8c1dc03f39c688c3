// SPDX-License-Identifier: Apache-2.0
/*
 * Mcp bridge - MCP on stdin and stdout, carried to a daemon's /mcp
 *
 * Owns:    lines in, lines out, the loop between, and the end of the client's session.
 * May not: answer a message itself, except where the daemon cannot: only the daemon knows MCP.
 */
#pragma once

#include "base/err.h"
#include "cli/client.h"

/* Carries messages until end of file on `in`, then waits for the answers that are due. A signal or
 * a closed `out` ends it at once. */
int mcp_bridge_run(struct client *client, const char *path, int in, int out, struct err *err);

// SPDX-License-Identifier: Apache-2.0
#include "dialect/mcp.h"

extern const struct mcp_tool *const elitea_tools[];

const struct mcp_tool_set mcp_tool_sets[] = {
	{offsetof(struct config, elitea_enabled), elitea_tools},
	{0, NULL},
};

// SPDX-License-Identifier: Apache-2.0
#include "dialect/mcp.h"

const struct mcp_tool_set mcp_tool_sets[] = {
	{0, NULL},
};

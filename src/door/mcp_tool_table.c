// SPDX-License-Identifier: Apache-2.0
#include "mcp/mcp.h"

extern const struct mcp_tool *const elitea_tools[];
extern const struct mcp_tool *const agentrail_mcp_tools[];
extern const struct mcp_tool *const synapse_mcp_tools[];
extern const struct mcp_tool *const synapse_vault_mcp_tools[];

const struct mcp_tool_set mcp_tool_sets[] = {
	{offsetof(struct config, elitea_enabled), elitea_tools},
	{offsetof(struct config, agentrail_enabled), agentrail_mcp_tools},
	{offsetof(struct config, synapse_enabled), synapse_mcp_tools},
	{offsetof(struct config, synapse_enabled), synapse_vault_mcp_tools},
	{0, NULL},
};

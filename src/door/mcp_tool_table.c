// SPDX-License-Identifier: Apache-2.0
#include "door/config_table.h"
#include "mcp/mcp.h"

extern const struct mcp_tool *const elitea_tools[];
extern const struct mcp_tool *const agentrail_mcp_tools[];
extern const struct mcp_tool *const synapse_mcp_tools[];
extern const struct mcp_tool *const synapse_vault_mcp_tools[];

const struct mcp_tool_set mcp_tool_sets[] = {
	{&elitea_config, elitea_tools},
	{&agentrail_config, agentrail_mcp_tools},
	{&synapse_config, synapse_mcp_tools},
	{&synapse_config, synapse_vault_mcp_tools},
	{NULL, NULL},
};

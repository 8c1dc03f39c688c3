// SPDX-License-Identifier: Apache-2.0
#include "mcp/mcp_inside.h"

/* Alone in its file, so that a program can define another mcp_extra and be linked without this
 * one. */
const struct mcp_extra *const mcp_extra = NULL;

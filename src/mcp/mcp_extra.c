// SPDX-License-Identifier: Apache-2.0
#include "mcp/mcp_inside.h"

/* Alone in its file: a program that defines another one is linked without this. */
const struct mcp_extra *const mcp_extra = NULL;

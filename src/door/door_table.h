// SPDX-License-Identifier: Apache-2.0
/*
 * Door table - every door of another system, and MCP's
 *
 * Owns:    the list.
 * May not: know more of a door than its name.
 */
#pragma once

#include "api/door.h"

/* NULL-terminated. */
extern const struct door *const door_table[];

// SPDX-License-Identifier: Apache-2.0
#include "door/door_table.h"

#include "door/config_table.h"

#define DECLARE(name_) extern const struct door door_##name_;
#define ROW(name_) &door_##name_,

DECLARE(mcp)
DIALECTS(DECLARE)

const struct door *const door_table[] = {&door_mcp, DIALECTS(ROW) NULL};

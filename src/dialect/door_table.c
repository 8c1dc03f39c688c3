// SPDX-License-Identifier: Apache-2.0
#include "dialect/door.h"

extern const struct door door_atlas;
extern const struct door door_dify;
extern const struct door door_elitea;
extern const struct door door_librechat;
extern const struct door door_mcp;
extern const struct door door_piston;

const struct door *const door_table[] = {
	&door_atlas, &door_dify, &door_elitea, &door_librechat, &door_mcp, &door_piston, NULL,
};

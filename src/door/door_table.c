// SPDX-License-Identifier: Apache-2.0
#include "door/door_table.h"

extern const struct door door_agentrail;
extern const struct door door_atlas;
extern const struct door door_dify;
extern const struct door door_elitea;
extern const struct door door_librechat;
extern const struct door door_mcp;
extern const struct door door_piston;
extern const struct door door_synapse;

const struct door *const door_table[] = {
	&door_agentrail, &door_atlas,  &door_dify,    &door_elitea, &door_librechat,
	&door_mcp,       &door_piston, &door_synapse, NULL,
};

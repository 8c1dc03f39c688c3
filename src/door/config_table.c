// SPDX-License-Identifier: Apache-2.0
#include "door/config_table.h"

#include "base/c.h"

extern const struct config_sidecar_words atlas_words;

/* The settings of a door that has only `enabled` and `prefix`. */
struct plain {
	struct config_door door;
};

#define PLAIN(name_)                                                                               \
	static const struct setting name_##_rows[] = {CONFIG_DIALECT(struct plain, #name_)};       \
	const struct config_part name_##_config = {CONFIG_PART(struct plain, name_##_rows)}

PLAIN(dify);
PLAIN(librechat);
PLAIN(piston);

#define PART(name_) &name_##_config,
const struct config_part *const config_parts[] = {&mcp_config, DIALECTS(PART) NULL};

const char config_order_words[] = "auto|strength|atlas-documented|atlas-planner";
const char config_remote_words[] = "auto|vivarium|atlas";
const struct config_sidecar_words *const config_sidecar_words = &atlas_words;

// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "door/agentrail/agentrail.h"

#define TIMEOUT_MAX_MS 600000

static const struct setting rows[] = {
	CONFIG_DIALECT(struct agentrail_config, "agentrail"),
	SETTING_NUMBER(struct agentrail_config, "dialects.agentrail.idle_ms", idle_ms,
		       SETTING_COUNT, 1000, 604800000, 1800000,
		       "end a session that was idle for this many milliseconds"),
};

/* If the dialect is enabled, its policy gets Agentrail's limit as a default; the config file can
 * override it. */
static void suit(const void *part, struct config *config)
{
	const struct agentrail_config *own = part;

	if (own->door.is_enabled)
		config_built_in(config, AGENTRAIL_POLICY)->timeout_max_ms = TIMEOUT_MAX_MS;
}

const struct config_part agentrail_config = {
	CONFIG_PART(struct agentrail_config, rows),
	.suit = suit,
};

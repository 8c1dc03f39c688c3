// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "door/synapse/synapse.h"
#include "policy/paths.h"

#define TIMEOUT_MAX_MS 120000

static const struct setting rows[] = {
	CONFIG_DIALECT(struct synapse_config, "synapse"),
	SETTING_STRING(struct synapse_config, "dialects.synapse.vault", vault, SETTING_PATH, 0, "",
		       "folder of the vault: read and written by its routes and tools, read-only "
		       "at /data of the policy ephemeral"),
};

static int check(const void *part, const char **ret_key, struct err *err)
{
	const struct synapse_config *own = part;

	*ret_key = "dialects.synapse.vault";
	if (own->vault[0] == '\0' || !path_is_too_wide(own->vault))
		return 0;
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "dialects.synapse.vault: %.200s would show too much of the host; name a "
		       "directory that holds the vault only",
		       own->vault);
}

/* If the dialect is enabled, its policy gets Synapse's limit and vault as defaults; the config file
 * can override them. */
static void suit(const void *part, struct config *config)
{
	const struct synapse_config *own = part;
	struct policy *policy = config_built_in(config, SYNAPSE_POLICY);

	if (own->vault[0] != '\0')
		text_set(&policy->data, own->vault);
	if (own->door.is_enabled || own->vault[0] != '\0')
		policy->timeout_max_ms = TIMEOUT_MAX_MS;
}

const struct config_part synapse_config = {
	CONFIG_PART(struct synapse_config, rows),
	.check = check,
	.suit = suit,
};

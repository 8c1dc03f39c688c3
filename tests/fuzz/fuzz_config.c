// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "fuzz.h"
#include "policy/config.h"

/* Any text is a config or a message with its place; nothing in between. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct config *config = NULL;
	struct err err = {0};
	int r = config_parse(bytes, size, "fuzz.yaml", &config, &err);

	if (r < 0) {
		CLAIM(config == NULL);
		CLAIM(strncmp(err.text, "fuzz.yaml:", strlen("fuzz.yaml:")) == 0);
		return 0;
	}
	CLAIM(config->policy_count >= 5 && config->runtime_count >= 3);
	for (size_t i = 0; i < config->policy_count; i++) {
		struct policy_grant grant = {0};
		const char *key = NULL;

		CLAIM(policy_check(&config->policies[i], &key, &err) == 0);
		CLAIM(policy_narrow(&config->policies[i], NULL, &grant, &err) == 0);
	}
	config_free(config);
	return 0;
}

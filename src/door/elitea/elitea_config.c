// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "door/elitea/elitea.h"

#define NUMBER(key_, ...) SETTING_NUMBER(struct elitea_config, "dialects.elitea." key_, __VA_ARGS__)

static const struct setting rows[] = {
	CONFIG_DIALECT(struct elitea_config, "elitea"),
	SETTING_STRING(struct elitea_config, "dialects.elitea.policy", policy, SETTING_TEXT,
		       POLICY_NAME_MAX, "conversation", "policy of its runs"),
	NUMBER("max_concurrent", limits.concurrent, SETTING_COUNT, 0, 4096, 16,
	       "runs at once; 0: no limit"),
	NUMBER("memory_pressure", limits.pressure, SETTING_COUNT, 0, 99, 85,
	       "refuse runs when this percentage of the memory is in use; 0: never"),
	NUMBER("timeout_ms", limits.timeout_ms, SETTING_COUNT, 10, 86400000, 55000,
	       "the longest a run may take; also the default of a run"),
	NUMBER("memory", limits.memory, SETTING_BYTES, 64 * MIB, 64 * GIB, 512 * MIB,
	       "memory of a run; never more than the policy's"),
	NUMBER("session_max", limits.session_max, SETTING_BYTES, KIB, 8 * MIB, 3 * MIB,
	       "largest session that is sent back to the client; its base64 is a third larger"),
};
const struct config_part elitea_config = {CONFIG_PART(struct elitea_config, rows)};

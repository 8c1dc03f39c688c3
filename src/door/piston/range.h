// SPDX-License-Identifier: Apache-2.0
/*
 * Range - the versions that a text like "3.x", "^3.10" or ">=3.8 <4" means
 *
 * Owns:    reading such a text as npm does, without ranges with a hyphen and without pre-releases.
 * May not: fail: what it cannot read matches nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct version {
	uint32_t parts[3];
};

/* Accepts three numbers, like "3.11.2", and nothing else. */
bool version_parse(const char *text, struct version *ret_version);

bool range_has(const char *range, const struct version *version);

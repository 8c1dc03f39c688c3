// SPDX-License-Identifier: Apache-2.0
/*
 * Config table - the settings that doors add to a config
 *
 * Owns:    the one list of dialects, the config parts of those with no settings of their own, and
 *          the words that other parts use for dialects.
 * May not: be linked with more of a door: the command line reads configs and has no doors.
 */
#pragma once

#include "policy/config.h"

/* Every dialect, in the manual's order: each has a door_NAME and a NAME_config. */
#define DIALECTS(X) X(atlas) X(elitea) X(agentrail) X(synapse) X(piston) X(dify) X(librechat)
#define DIALECT_NAME(name_) " " #name_
#define DIALECT_NAMES DIALECTS(DIALECT_NAME) /* as one string */
#define DIALECT_EXAMPLE "  SIDECAR_AUTH_TOKEN=secret viv serve --dialect atlas\n"

#define DIALECT_CONFIG(name_) extern const struct config_part name_##_config;
DIALECTS(DIALECT_CONFIG)

// SPDX-License-Identifier: Apache-2.0
/*
 * Config parts - the sections of a config that need more than their rows
 *
 * Owns:    how policies inherit, where runtimes come from, and what the texts of the other sections
 *          must look like.
 * May not: be used outside of config.
 */
#pragma once

#include "policy/config.h"
#include "policy/document.h"

enum config_section {
	CONFIG_TOP,
	CONFIG_TOKENS,
	CONFIG_RUNTIMES,
	CONFIG_POLICIES,
	CONFIG_SECTION_COUNT,
};

/* Each takes its section of the text into the config, whole, or says "file:line: ...". */
int config_take_top(struct config *config, const struct document *document, struct err *err);
int config_take_tokens(struct config *config, const struct document *document, struct err *err);
int config_take_runtimes(struct config *config, const struct document *document, struct err *err);
int config_take_policies(struct config *config, const struct document *document, struct err *err);

/* config_policy() for what says `base: name`; a refusal does not offer `except` (may be NULL). */
const struct policy *config_base(const struct config *config, const char *name, const char *except,
				 struct err *err);

/* The runtimes that `viv runtime add` has stored, the system's and then the user's. */
int config_take_stored(struct config *config, struct err *err);

/* config_backends.c: what backends.* must look like; then what variables of the environment add to
 * it. */
int config_check_backends(const struct config *config, const char **ret_key, struct err *err);
int config_take_environment(struct config *config, struct err *err);

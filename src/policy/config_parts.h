// SPDX-License-Identifier: Apache-2.0
/*
 * Config parts - the sections of a config that need more than their rows
 *
 * Owns:    how policies inherit, where runtimes come from, and what the texts of the other sections
 *          must look like.
 * May not: be used outside of config and the parts of it that doors have.
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

/* Like config_policy() for `base: name`; a refusal does not suggest `except` (may be NULL). */
const struct policy *config_base(const struct config *config, const char *name, const char *except,
				 struct err *err);

/* Reads the runtimes that `viv runtime add` has stored, the system's and then the user's. */
int config_take_stored(struct config *config, struct err *err);

/* config_backends.c: checks backends.*. */
int config_check_backends(const struct config *config, const char **ret_key, struct err *err);
int config_check_pin(const struct config *config, struct err *err);
bool config_is_backend(const char *name);
bool config_is_address(const char *url);
bool config_is_secret(const char *token);

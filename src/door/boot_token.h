// SPDX-License-Identifier: Apache-2.0
/*
 * Boot token - a secret from the environment of the system that a daemon stands in for
 *
 * Owns:    making a token of the config of it, beside those that are there.
 * May not: keep the secret: the config has its sum.
 */
#pragma once

#include "base/err.h"
#include "policy/config.h"

/* `variable` is where it came from, and is taken out of our environment; `name` is whom it stands
 * for. ERR_BAD_REQUEST when the config has one of that name, or it is too long. */
int boot_token_add(struct config *config, const char *variable, const char *name,
		   const char *secret, struct err *err);

/* The same of what is in `variable`, where there is something, for a system whose clients call it
 * by names of their own: any Host will do then, since every request is asked for the token. */
int boot_token_read(struct config *config, const char *variable, const char *name, struct err *err);

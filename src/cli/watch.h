// SPDX-License-Identifier: Apache-2.0
/*
 * Watch - what `viv ps`, `viv logs` and `viv top` share: flags, and the client of the daemon
 *
 * Owns:    the client and the config of such a command.
 * May not: change anything in the daemon.
 */
#pragma once

#include <jansson.h>

#include "cli/client.h"
#include "cli/cmd.h"

struct watch_options {
	bool is_all, is_json, is_once, is_follow;
	uint64_t after;
	const char *token_file, *config;
};

#define WATCH_ROW(field, ...) FLAG_ROW(struct watch_options, field, __VA_ARGS__)
#define WATCH_ROWS                                                                                 \
	WATCH_ROW(token_file, "token-file", 0, FLAG_TEXT, "FILE",                                  \
		  "token for the daemon (default: $VIVARIUM_TOKEN)"),                              \
		WATCH_ROW(config, "config", 0, FLAG_TEXT, "FILE",                                  \
			  "vivarium.yaml that says where the daemon is")

struct watch {
	const struct watch_options *options; /* borrowed */
	struct config *config;               /* owned */
	struct client *client;               /* owned */
};

int watch_open(struct watch *watch, const struct watch_options *options, struct err *err);
void watch_close(struct watch *watch);

/* {"sessions":[...],"runs":[...]}: unfinished runs; with `is_all` also finished ones. NULL after an
 * error. */
json_t *watch_look(const struct watch *watch, bool is_all, struct err *err);

/* The runs of such an answer as a table. */
void watch_print_runs(const json_t *runs, size_t width, FILE *out);

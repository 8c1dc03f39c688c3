// SPDX-License-Identifier: Apache-2.0
/*
 * Door - a way in, as a row: our own API, the page, MCP, and one for each foreign system
 *
 * Owns:    what a door is: its routes, whom it lets in, how it refuses, and what it keeps.
 * May not: know any door.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "op/op.h"

struct exchange;

struct door_route {
	const char *method;
	const char *path; /* below the prefix: "/exec", "/kernels/{id}", "/files/{path...}"; "":
			     the prefix itself */
	bool is_open;     /* no token needed */

	/* The members of a JSON object that are wanted, by name and type alone: OP_BYTES a text of
	 * any length, OP_JSON any value of any length, OP_FILES a list likewise, any other type a
	 * small value of whatever kind. Other members are skipped; of two with one name the last
	 * counts. NULL: the body as it is. */
	const struct op_param *members;
	size_t member_count;

	void (*begin)(struct exchange *exchange); /* before the body; may answer. May be NULL */
	void (*run)(struct exchange *exchange);   /* all of the body is there */
};

#define DOOR_MEMBERS(rows_) .members = (rows_), .member_count = ARRAY_LEN(rows_)

struct door {
	const char *name; /* also of its section in the config */
	const struct door_route *routes;
	size_t route_count;

	/* Where the config has it: DOOR_CONFIG(NAME) means NAME_enabled and NAME_prefix. */
	size_t enabled_at, prefix_at;

	const char *token_header;   /* for the secret, beside Authorization: Bearer; NULL: none */
	bool is_native;             /* our own API: people decide on held runs here, and callers
				       without a token do not learn which paths there are */
	bool is_public;             /* any page may load it: Sec-Fetch-Site is not looked at */
	bool is_exclusive;          /* under --dialect NAME only /v1 is there beside it */
	bool has_cors;              /* pages of allowed origins may read its answers */
	const char *accepts;        /* with it: headers that they may send; NULL: any */
	const char *exposes;        /* with it: headers that they may read, or NULL */
	const char *const *headers; /* of every answer: name, value, ... NULL. May be NULL */

	/* Answers what is refused before `run`: Host or Origin (403), no token (401), no such path
	 * (404), by this method (405), too large (413), no JSON object (400), no memory (503). Must
	 * answer. */
	void (*refuse)(struct exchange *exchange, unsigned status, const struct err *err);

	/* `viv serve --dialect NAME`: what its own environment says, into the config, before
	 * anything is opened. May be NULL. */
	int (*boot)(struct config *config, struct err *err);

	/* State that the door keeps for the daemon's life, as exchange->state. Both may be NULL. */
	int (*open)(struct engine *engine, void **ret_state, struct err *err);
	void (*close)(void *state);
};

#define DOOR_CONFIG(name_)                                                                         \
	.enabled_at = offsetof(struct config, name_##_enabled),                                    \
	.prefix_at = offsetof(struct config, name_##_prefix)

/* Calls `boot` of the door `name` of `table` (NULL behind the last). */
int door_boot(const struct door *const *table, const char *name, struct config *config,
	      struct err *err);

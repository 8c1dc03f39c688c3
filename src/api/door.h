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

	/* The wanted members of a JSON object, by name and type alone: OP_BYTES is a string,
	 * OP_JSON any value and OP_FILES a list, which may all be long; any other type is a small
	 * value of any kind. Other members are skipped; of two with the same name the last counts.
	 * NULL: the body is taken as it is. */
	const struct op_param *members;
	size_t member_count;

	void (*begin)(struct exchange *exchange); /* before the body; may answer. May be NULL */
	void (*run)(struct exchange *exchange);   /* once the whole body is there */
};

#define DOOR_MEMBERS(rows_) .members = (rows_), .member_count = ARRAY_LEN(rows_)

struct door {
	const char *name; /* also of its section in the config */
	const struct door_route *routes;
	size_t route_count;

	const struct config_part *config; /* its section; NULL: always open, at its own paths */

	const char *token_header;   /* with the secret, instead of Authorization; NULL: none */
	bool is_native;             /* our own API: people decide on held runs here, and callers
				       without a token do not learn which paths there are */
	bool is_public;             /* any page may load it: Sec-Fetch-Site is ignored */
	bool is_exclusive;          /* under --dialect NAME only /v1 is served beside it */
	bool has_cors;              /* pages of allowed origins may read its answers */
	const char *accepts;        /* for has_cors: headers that they may send; NULL: any */
	const char *exposes;        /* for has_cors: headers that they may read, or NULL */
	const char *const *headers; /* of every answer: name, value, ... NULL. May be NULL */

	/* Answers a request that is refused before `run`: Host or Origin (403), no token (401), no
	 * such path (404), wrong method (405), too large (413), broken JSON (400), no memory (503).
	 * Must answer. JSON that is no object, such as [], is refused here only if the door is
	 * native; else it comes to `run`, which finds no members. */
	void (*refuse)(struct exchange *exchange, unsigned status, const struct err *err);

	/* For `viv serve --dialect NAME`: puts what the door's own environment variables say into
	 * the config, before anything is opened. May be NULL. */
	int (*boot)(struct config *config, struct err *err);

	/* State that the door keeps for the daemon's life, as exchange->state. Both may be NULL. */
	int (*open)(struct engine *engine, void **ret_state, struct err *err);
	void (*close)(void *state);
};

/* Calls `boot` of the door `name` in `table` (NULL-terminated). */
int door_boot(const struct door *const *table, const char *name, struct config *config,
	      struct err *err);

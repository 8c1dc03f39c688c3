// SPDX-License-Identifier: Apache-2.0
/*
 * Client way - how a daemon is found, and what proves that we may talk to it
 *
 * Owns:    the order in which places are tried, and the token.
 * May not: send anything: a socket that somebody else could have put there is no way.
 */
#pragma once

#include "cli/client.h"

struct client_way {
	char *socket;  /* owned: path of a unix socket; NULL: TCP */
	char *url;     /* owned: what stands before a request's path */
	char *address; /* owned: for messages */
	char *token;   /* owned; NULL: none */
	bool is_asked; /* by $VIVARIUM_URL */
};

int client_way_find(const struct client_where *where, struct client_way *way, struct err *err);
void client_way_done(struct client_way *way);

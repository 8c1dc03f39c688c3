// SPDX-License-Identifier: Apache-2.0
/*
 * Client way - how a daemon is found, and the token that is sent to it
 *
 * Owns:    the order in which places are tried, and the token.
 * May not: send anything, or find a socket that another user could have put there.
 */
#pragma once

#include "cli/client.h"

struct client_way {
	char *socket;  /* owned: path of a unix socket; NULL: TCP */
	char *url;     /* owned: prefix of every request's path */
	char *address; /* owned: for messages */
	char *token;   /* owned; NULL: none */
	bool is_asked; /* the address came from $VIVARIUM_URL */
};

int client_way_find(const struct client_where *where, struct client_way *way, struct err *err);
void client_way_done(struct client_way *way);

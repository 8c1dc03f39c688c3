// SPDX-License-Identifier: Apache-2.0
/*
 * Access - who calls, and whether the call is allowed
 *
 * Owns:    tokens (compared in constant time, always with all of them), the allow-list for Host and
 *          Origin, and the rule that without a token only this machine may call.
 * May not: know a route, read a header itself (it gets plain texts, hostile ones), or keep or
 *          reveal a secret: of tokens it has only the SHA-256 sums.
 *
 * Why Host and Origin are checked: a browser on this machine runs pages of strangers. Such a page
 * can send requests to loopback, and if its own name resolves to 127.0.0.1 (DNS rebinding), it
 * could read the answers, too. Host shows that name, Origin shows whose page it is. A page may call
 * if its origin equals Host, port included, or is listed in the config. The port counts, because
 * other programs on this machine serve pages, too.
 */
#pragma once

#include <stdbool.h>

#include <sys/types.h>

#include "base/err.h"
#include "op/op.h"
#include "policy/config.h"

struct access;

/* The config is borrowed until access_free. */
struct access *access_new(const struct config *config);
void access_free(struct access *access);

/* Allows an address that was bound, "192.0.2.1:7878" or "[::]:7878", in Host; "unix:/path" adds
 * nothing. If all addresses are bound, any numeric one is allowed: an attacker needs a name. */
void access_add_bound(struct access *access, const char *address);

/* Sets the key with which a caller may decide on held runs where there are no tokens. Only its sum
 * is kept. */
void access_set_key(struct access *access, const char *key);

/* Headers as they came, NULL if missing. All borrowed: `peer` as long as the caller is used. */
struct access_request {
	const char *authorization;
	const char *secret; /* from a door's own header; used only if `authorization` is NULL */
	const char *host;
	const char *origin;
	const char *site;    /* Sec-Fetch-Site; also NULL for doors that any page may load */
	const char *approve; /* the key for deciding on held runs; NULL: none */
	const char *client;  /* the name that the client claims; NULL: none */
	const char *peer;    /* the client's address, numeric; NULL: a unix socket */
	bool has_uid;        /* `uid` is that of the process at the other end of the unix socket */
	uid_t uid;
};

/* Finds out who calls. ERR_FORBIDDEN: Host or Origin is not allowed; ERR_UNAUTHORIZED: the token is
 * missing or wrong (the answer needs WWW-Authenticate: Bearer). Without tokens in the config
 * everybody on this machine may call; with tokens, a unix peer with the daemon's own uid or root
 * needs none. */
int access_check(const struct access *access, const struct access_request *request,
		 struct op_caller *ret_caller, struct err *err);

/* Checks only Host and Origin, for requests that need no token. */
int access_check_hosts(const struct access *access, const struct access_request *request,
		       struct err *err);

/* May the daemon listen on this address? Beyond this machine only if there is a token. */
int access_may_listen(const struct config *config, const char *address, bool is_local,
		      struct err *err);

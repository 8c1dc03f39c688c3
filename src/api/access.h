// SPDX-License-Identifier: Apache-2.0
/*
 * Access - who calls, and whether he may
 *
 * Owns:    tokens (compared in constant time, each with all of them), the allow-list for Host and
 *          Origin, and the rule that nothing but this machine is listened to without a token.
 * May not: know a route, read a header itself (it gets plain texts, hostile ones), or keep or tell
 *          a secret: what it knows of tokens are their sums.
 *
 * Why Host and Origin: a browser on this machine runs pages of strangers. Such a page can send
 * requests to loopback, and with a name of its own that resolves to 127.0.0.1 it could read the
 * answers, too. Host shows that name, Origin shows whose page it is. A page may call where its
 * origin is that of Host, port included, or stands in the config: whatever else listens on a port
 * of this machine serves pages, too.
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

/* An address that was bound ("192.0.2.1:7878", "[::]:7878", "unix:/path") may stand in Host. Where
 * all addresses are bound any numeric one may: names are what an attacker needs. */
void access_add_bound(struct access *access, const char *address);

/* The key with which a caller decides on held runs, where there are no tokens. Only its sum is
 * kept.
 */
void access_set_key(struct access *access, const char *key);

/* Headers as they came, NULL where there is none. All borrowed: `peer` until the caller's end. */
struct access_request {
	const char *authorization;
	const char *secret; /* a dialect's own header for a token; only without Authorization */
	const char *host;
	const char *origin;
	const char *site;    /* Sec-Fetch-Site; NULL also for what any page may load */
	const char *approve; /* the key of whoever decides on held runs; NULL: none */
	const char *client;  /* what it calls itself: a claim; NULL: nothing */
	const char *peer;    /* the client's address, numeric; NULL: a unix socket */
	bool has_uid;        /* `uid` is that of the process at the other end of the unix socket */
	uid_t uid;
};

/* Who it is. ERR_FORBIDDEN: Host or Origin; ERR_UNAUTHORIZED: no or a wrong token (the answer wants
 * a WWW-Authenticate: Bearer). Without tokens in the config everybody on this machine may call;
 * with some, a unix peer of the daemon's own uid or root needs none. */
int access_check(const struct access *access, const struct access_request *request,
		 struct op_caller *ret_caller, struct err *err);

/* Only Host and Origin, for what needs no token. */
int access_check_hosts(const struct access *access, const struct access_request *request,
		       struct err *err);

/* May the daemon listen there? Not beyond this machine without a token. */
int access_may_listen(const struct config *config, const char *address, bool is_local,
		      struct err *err);

// SPDX-License-Identifier: Apache-2.0
#include "api/access.h"

#include <ctype.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "api/authority.h"
#include "base/c.h"

#define SECRET_MAX 512 /* bytes; our own secrets have 43 */
#define SUM_SIZE crypto_hash_sha256_BYTES

/* Scheme, host and port: what a browser treats as one origin. */
struct origin {
	struct authority authority; /* its port is always given */
	bool is_https;
};

struct access {
	const struct config *config; /* borrowed */
	uint8_t (*sums)[SUM_SIZE];   /* owned: one per token */
	struct authority *allowed;   /* owned: `hosts` of the config, then what was bound */
	size_t allowed_count;
	size_t host_count;      /* of `allowed`: those of the config */
	struct origin *origins; /* owned: `origins` of the config */
	size_t origin_count;
	bool is_bound_to_all;
	bool allows_any_host; /* "*" in `hosts`, from a door's boot: every call needs a token */
	uid_t uid;            /* the daemon's own */
	bool has_key;
	uint8_t key[SUM_SIZE]; /* sum of the key for deciding on held runs */
};

/* ---- hosts ---- */

static bool is_allowed(const struct access *access, const struct authority *authority)
{
	if (authority_is_loopback(authority))
		return true;
	for (size_t i = 0; i < access->allowed_count; i++) {
		const struct authority *allowed = &access->allowed[i];

		if (authority_is_same_host(allowed, authority) &&
		    (allowed->port == 0 || allowed->port == authority->port))
			return true;
	}
	return false;
}

static void allow(struct access *access, const struct authority *authority)
{
	struct authority *list =
		reallocarray(access->allowed, access->allowed_count + 1, sizeof(*list));

	if (list == NULL)
		abort();
	access->allowed = list;
	list[access->allowed_count++] = *authority;
}

/* Repeats the value only if it could be parsed. */
static int refuse_host(const char *header, const char *text, bool is_readable, const char *remedy,
		       struct err *err)
{
	if (!is_readable)
		return err_set(err, ERR_FORBIDDEN, EPERM, "the %s header cannot be parsed", header);
	return err_set(err, ERR_FORBIDDEN, EPERM, "%s: %.200s is not allowed; %s in the config",
		       header, text, remedy);
}

static int check_host(const struct access *access, const char *text,
		      struct authority *ret_authority, struct err *err)
{
	struct authority authority;

	if (text == NULL)
		return err_set(err, ERR_FORBIDDEN, EPERM, "a request must have a Host");
	if (!authority_parse(text, &authority))
		return refuse_host("Host", text, false, NULL, err);
	if (!access->allows_any_host && !is_allowed(access, &authority) &&
	    !(access->is_bound_to_all && authority.family != 0))
		return refuse_host("Host", text, true, "if it names this server, add it to `hosts`",
				   err);
	*ret_authority = authority;
	return 0;
}

/* Does the config allow it? A name in `hosts` is this server's own, on the port that it is listed
 * with, or else the default port of the scheme. Loopback does not count: there, other ports are
 * other programs. */
static bool is_listed(const struct access *access, const struct origin *origin)
{
	const struct authority *asked = &origin->authority;

	for (size_t i = 0; i < access->origin_count; i++) {
		const struct origin *listed = &access->origins[i];

		if (listed->is_https == origin->is_https && listed->authority.port == asked->port &&
		    authority_is_same_host(&listed->authority, asked))
			return true;
	}
	for (size_t i = 0; i < access->host_count; i++) {
		const struct authority *host = &access->allowed[i];
		uint32_t usual = origin->is_https ? 443 : 80;

		if (authority_is_same_host(host, asked) && !authority_is_loopback(host) &&
		    asked->port == (host->port != 0 ? host->port : usual))
			return true;
	}
	return false;
}

/* `host` is the Host header, if it is allowed; else NULL. For a page from this very server the two
 * are equal; a TLS proxy in front of us leaves out the port that https implies. */
static int check_origin(const struct access *access, const char *text, const struct authority *host,
			struct err *err)
{
	struct origin origin;

	if (!authority_parse_origin(text, &origin.authority, &origin.is_https))
		return refuse_host("Origin", text, false, NULL, err);
	if (host != NULL && authority_is_same_host(host, &origin.authority) &&
	    origin.authority.port == (host->port != 0   ? host->port
				      : origin.is_https ? 443
							: 80))
		return 0;
	if (is_listed(access, &origin))
		return 0;
	return refuse_host("Origin", text, true,
			   "if this page may use the daemon, add it to `origins`", err);
}

/* A page of another origin can load a picture or a script without sending Origin, but browsers tell
 * by Sec-Fetch-Site. "none" means that a person typed the address or used a bookmark. */
static bool is_from_stranger(const struct access_request *request)
{
	return request->origin == NULL && request->site != NULL &&
	       strcmp(request->site, "same-origin") != 0 && strcmp(request->site, "none") != 0;
}

int access_check_hosts(const struct access *access, const struct access_request *request,
		       struct err *err)
{
	struct authority host = {0};
	bool is_unix = request->peer == NULL;
	bool has_host = request->host != NULL && authority_parse(request->host, &host) &&
			is_allowed(access, &host);
	int r = 0;

	/* Host is not checked on a unix socket: no page can open one, and clients write all sorts
	 * of hosts there. Origin is checked, since a proxy in front passes on what a page sent. */
	if (!is_unix) {
		r = check_host(access, request->host, &host, err);
		has_host = r == 0;
	}
	if (r == 0 && request->origin != NULL)
		r = check_origin(access, request->origin, has_host ? &host : NULL, err);
	if (r == 0 && is_from_stranger(request))
		r = err_set(err, ERR_FORBIDDEN, EPERM,
			    "Sec-Fetch-Site: a page of another origin may load nothing here");
	return r;
}

/* ---- tokens ---- */

/* The secret of "Bearer SECRET", or NULL. */
static const char *bearer_of(const char *authorization)
{
	size_t size = strlen("Bearer");

	if (strncasecmp(authorization, "Bearer", size) != 0 || authorization[size] != ' ')
		return NULL;
	authorization += size;
	return authorization + strspn(authorization, " ");
}

/* Compares all tokens, even after a match, so that the time does not tell which one matched. */
static const struct config_token *find_token(const struct access *access, const char *secret)
{
	size_t size = strnlen(secret, SECRET_MAX + 1);
	const struct config_token *found = NULL;
	uint8_t sum[SUM_SIZE];

	if (size == 0 || size > SECRET_MAX)
		return NULL;
	(void)crypto_hash_sha256(sum, (const unsigned char *)secret, size);
	for (size_t i = 0; i < access->config->token_count; i++) {
		if (sodium_memcmp(sum, access->sums[i], sizeof(sum)) == 0)
			found = &access->config->tokens[i];
	}
	return found;
}

static bool is_local_peer(const struct access_request *request)
{
	struct authority peer = {0};
	size_t size;

	if (request->peer == NULL)
		return true;
	size = strlen(request->peer);
	if (strchr(request->peer, ':') != NULL ? !authority_parse_v6(request->peer, size, &peer)
					       : !authority_parse(request->peer, &peer))
		return false;
	return peer.family != 0 && authority_is_loopback(&peer);
}

static int refuse_token(const char *why, struct err *err)
{
	return err_set(err, ERR_UNAUTHORIZED, EACCES,
		       "%s; send Authorization: Bearer SECRET (`viv token new NAME` makes one)",
		       why);
}

static bool is_owner(const struct access *access, const struct access_request *request)
{
	return request->peer == NULL && request->has_uid &&
	       (request->uid == access->uid || request->uid == 0);
}

static int check_token(const struct access *access, const struct access_request *request,
		       const struct config_token **ret_token, struct err *err)
{
	const char *secret = request->secret;
	const struct config_token *token = NULL;

	if (access->config->token_count == 0) {
		if (!is_local_peer(request))
			return refuse_token("without tokens only this machine may call", err);
		*ret_token = NULL;
		return 0;
	}
	if (request->authorization != NULL) {
		secret = bearer_of(request->authorization);
		if (secret == NULL)
			return refuse_token("the Authorization header has no Bearer secret", err);
	}
	if (secret == NULL) {
		if (!is_owner(access, request))
			return refuse_token("a token is needed", err);
		*ret_token = NULL;
		return 0;
	}
	token = find_token(access, secret);
	if (token == NULL)
		return refuse_token("this token is not known", err);
	*ret_token = token;
	return 0;
}

/* Takes the same time for every key of the same length. */
static bool has_key(const struct access *access, const char *key)
{
	size_t size = key != NULL ? strnlen(key, SECRET_MAX + 1) : 0;
	uint8_t sum[SUM_SIZE];

	if (!access->has_key || size == 0 || size > SECRET_MAX)
		return false;
	(void)crypto_hash_sha256(sum, (const unsigned char *)key, size);
	return sodium_memcmp(sum, access->key, sizeof(sum)) == 0;
}

/* Sets whether the caller may decide on held runs. A token's own row says whether it may; a caller
 * that shows a token does not count as the daemon's user. */
static void set_power(const struct access *access, const struct access_request *request,
		      struct op_caller *caller)
{
	bool has_tokens = access->config->token_count > 0;

	if (caller->token != NULL)
		caller->may_decide = caller->token->oversee;
	else
		caller->may_decide = is_owner(access, request) ||
				     (!has_tokens && has_key(access, request->approve));
	caller->has_wrong_key = !has_tokens && request->approve != NULL && !caller->may_decide;
	caller->is_overseer = caller->may_decide;
}

int access_check(const struct access *access, const struct access_request *request,
		 struct op_caller *ret_caller, struct err *err)
{
	const struct config_token *token = NULL;
	int r = access_check_hosts(access, request, err);

	if (r < 0)
		return r;
	r = check_token(access, request, &token, err);
	if (r < 0)
		return r;

	*ret_caller = (struct op_caller){
		.token = token,
		.name = token != NULL ? token->name : "",
		.peer = request->peer != NULL ? request->peer : "unix",
	};
	op_client_set(ret_caller, request->client);
	set_power(access, request, ret_caller);
	return 0;
}

int access_may_listen(const struct config *config, const char *address, bool is_local,
		      struct err *err)
{
	if (is_local || config->token_count > 0)
		return 0;
	return err_set(
		err, ERR_BAD_REQUEST, EPERM,
		"listen: %.100s can be reached from other machines, and there is no token: "
		"whoever connects could run code; make a token with `viv token new NAME` and "
		"put what it prints into the config, or listen on 127.0.0.1 or unix:/PATH",
		address);
}

/* ---- life ---- */

struct access *access_new(const struct config *config)
{
	struct access *access = xnew(struct access);

	access->config = config;
	access->uid = geteuid();
	access->sums = xcalloc(config->token_count + 1, SUM_SIZE);
	for (size_t i = 0; i < config->token_count; i++) {
		/* The config has checked that these are 64 hex digits. */
		(void)sodium_hex2bin(access->sums[i], SUM_SIZE, config->tokens[i].sha256,
				     (size_t)2 * SUM_SIZE, NULL, NULL, NULL);
	}
	for (size_t i = 0; i < config->hosts.count; i++) {
		struct authority authority;

		if (strcmp(config->hosts.items[i], "*") == 0)
			access->allows_any_host = true;
		else if (authority_parse(config->hosts.items[i], &authority))
			allow(access, &authority);
	}
	access->host_count = access->allowed_count;
	access->origins = xcalloc(config->origins.count + 1, sizeof(*access->origins));
	for (size_t i = 0; i < config->origins.count; i++) {
		struct origin *origin = &access->origins[access->origin_count];

		if (authority_parse_origin(config->origins.items[i], &origin->authority,
					   &origin->is_https))
			access->origin_count++;
	}
	return access;
}

void access_free(struct access *access)
{
	if (access == NULL)
		return;
	free(access->sums);
	free(access->allowed);
	free(access->origins);
	free(access);
}

void access_set_key(struct access *access, const char *key)
{
	(void)crypto_hash_sha256(access->key, (const unsigned char *)key, strlen(key));
	access->has_key = true;
}

void access_add_bound(struct access *access, const char *address)
{
	struct authority authority;

	if (strncmp(address, "unix:", strlen("unix:")) == 0)
		return;
	if (address[0] == ':') {
		access->is_bound_to_all = true;
		return;
	}
	if (!authority_parse(address, &authority))
		return;
	if (authority_is_any(&authority))
		access->is_bound_to_all = true;
	authority.port = 0;
	allow(access, &authority);
}

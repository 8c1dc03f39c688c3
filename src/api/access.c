// SPDX-License-Identifier: Apache-2.0
#include "api/access.h"

#include <ctype.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/c.h"

#define HOST_MAX 253   /* RFC 1035: a name */
#define SECRET_MAX 512 /* ours are 43 */
#define SUM_SIZE crypto_hash_sha256_BYTES

/* host or host:port, as in Host and behind "https://" in Origin. */
struct authority {
	char name[HOST_MAX + 1]; /* lower case, without the dot at its end; "" for an address */
	int family;              /* AF_INET, AF_INET6; 0: a name */
	uint8_t address[16];
	uint32_t port; /* 0: none given */
};

struct access {
	const struct config *config; /* borrowed */
	uint8_t (*sums)[SUM_SIZE];   /* owned: one per token */
	struct authority *allowed;   /* owned: what was bound, then `hosts` of the config */
	size_t allowed_count;
	bool is_bound_to_all;
	bool allows_any_host; /* "*": of a door's boot rules, where every call needs a token */
	uid_t uid;            /* the daemon's own */
	bool has_key;
	uint8_t key[SUM_SIZE]; /* sum of the key of whoever decides */
};

/* ---- hosts ---- */

static bool parse_port(const char *text, uint32_t *ret_port)
{
	size_t size = strspn(text, "0123456789");
	unsigned long port;

	if (size == 0 || size > 5 || text[size] != '\0')
		return false;
	port = strtoul(text, NULL, 10);
	*ret_port = (uint32_t)port;
	return port > 0 && port <= 65535;
}

static bool parse_v6(const char *text, size_t size, struct authority *to)
{
	char address[INET6_ADDRSTRLEN] = "";
	struct in6_addr parsed;

	if (size >= sizeof(address))
		return false;
	memcpy(address, text, size);
	if (inet_pton(AF_INET6, address, &parsed) != 1)
		return false;

	/* ::ffff:127.0.0.1 is 127.0.0.1. */
	to->family = IN6_IS_ADDR_V4MAPPED(&parsed) ? AF_INET : AF_INET6;
	if (to->family == AF_INET)
		memcpy(to->address, parsed.s6_addr + 12, 4);
	else
		memcpy(to->address, parsed.s6_addr, sizeof(to->address));
	return true;
}

/* A name or a v4 address. Only the form with four decimal numbers is an address: browsers write
 * the others (0x7f.1, 2130706433) so before they send them. */
static bool parse_name(const char *text, size_t size, struct authority *to)
{
	for (size_t i = 0; i < size && i < HOST_MAX; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!(c < 0x80 && isalnum(c)) && c != '-' && c != '.' && c != '_')
			return false;
		to->name[i] = (char)tolower(c);
	}
	if (size > 1 && to->name[size - 1] == '.')
		to->name[--size] = '\0';
	if (size == 0 || to->name[0] == '.')
		return false;
	if (inet_pton(AF_INET, to->name, to->address) == 1) {
		to->family = AF_INET;
		memset(to->name, 0, sizeof(to->name));
	}
	return true;
}

static bool parse_authority(const char *text, struct authority *ret_authority)
{
	struct authority authority = {0};
	size_t size = text[0] == '[' ? strcspn(text, "]") : strcspn(text, ":");
	const char *rest = text + size;

	if (size > HOST_MAX)
		return false;
	if (text[0] == '[') {
		if (*rest != ']' || !parse_v6(text + 1, size - 1, &authority))
			return false;
		rest++;
	} else if (!parse_name(text, size, &authority)) {
		return false;
	}
	if (*rest != '\0' && (*rest != ':' || !parse_port(rest + 1, &authority.port)))
		return false;

	*ret_authority = authority;
	return true;
}

static bool is_same_host(const struct authority *a, const struct authority *b)
{
	return a->family == b->family && strcmp(a->name, b->name) == 0 &&
	       memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

static bool is_loopback(const struct authority *authority)
{
	static const uint8_t v6_loopback[16] = {[15] = 1};

	if (authority->family == AF_INET)
		return authority->address[0] == 127;
	if (authority->family == AF_INET6)
		return memcmp(authority->address, v6_loopback, sizeof(v6_loopback)) == 0;
	return strcmp(authority->name, "localhost") == 0;
}

static bool is_any_address(const struct authority *authority)
{
	static const uint8_t zeros[16] = {0};

	return authority->family != 0 && memcmp(authority->address, zeros, sizeof(zeros)) == 0;
}

static bool is_allowed(const struct access *access, const struct authority *authority)
{
	if (is_loopback(authority))
		return true;
	for (size_t i = 0; i < access->allowed_count; i++) {
		const struct authority *allowed = &access->allowed[i];

		if (is_same_host(allowed, authority) &&
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

/* Says what stands where it may not, when it can be read; any other bytes are not repeated. */
static int refuse_host(const char *header, const char *text, bool is_readable, struct err *err)
{
	if (!is_readable)
		return err_set(err, ERR_FORBIDDEN, EPERM, "%s is not one that can be read here",
			       header);
	return err_set(err, ERR_FORBIDDEN, EPERM,
		       "%s: %.200s is not allowed; if it names this server, add it to `hosts` in "
		       "the config",
		       header, text);
}

static int check_host(const struct access *access, const char *text,
		      struct authority *ret_authority, struct err *err)
{
	struct authority authority;

	if (text == NULL)
		return err_set(err, ERR_FORBIDDEN, EPERM, "a request must have a Host");
	if (!parse_authority(text, &authority))
		return refuse_host("Host", text, false, err);
	if (!access->allows_any_host && !is_allowed(access, &authority) &&
	    !(access->is_bound_to_all && authority.family != 0))
		return refuse_host("Host", text, true, err);
	*ret_authority = authority;
	return 0;
}

/* `host` is what Host said, NULL over a unix socket: a page that came from this very server. */
static int check_origin(const struct access *access, const char *text, const struct authority *host,
			struct err *err)
{
	struct authority authority;
	const char *rest = NULL;

	if (strncmp(text, "http://", 7) == 0)
		rest = text + 7;
	else if (strncmp(text, "https://", 8) == 0)
		rest = text + 8;
	/* "null" is every sandboxed frame and local file of anybody. */
	if (rest == NULL || !parse_authority(rest, &authority))
		return refuse_host("Origin", text, false, err);
	if (!is_allowed(access, &authority) &&
	    (host == NULL || host->family == 0 || !is_same_host(host, &authority)))
		return refuse_host("Origin", text, true, err);
	return 0;
}

int access_check_hosts(const struct access *access, const struct access_request *request,
		       struct err *err)
{
	struct authority host = {0};
	bool is_unix = request->peer == NULL;
	int r = 0;

	/* No page can open a unix socket, and what clients write as its host is all sorts. */
	if (!is_unix)
		r = check_host(access, request->host, &host, err);
	if (r == 0 && request->origin != NULL)
		r = check_origin(access, request->origin, is_unix ? NULL : &host, err);
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

/* Every token is compared, whichever fits: the time tells nothing about which one did. */
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
	if (strchr(request->peer, ':') != NULL ? !parse_v6(request->peer, size, &peer)
					       : !parse_authority(request->peer, &peer))
		return false;
	return peer.family != 0 && is_loopback(&peer);
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
			return refuse_token("this Authorization is no Bearer", err);
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

/* In the same time for every key that is as long. */
static bool has_key(const struct access *access, const char *key)
{
	size_t size = key != NULL ? strnlen(key, SECRET_MAX + 1) : 0;
	uint8_t sum[SUM_SIZE];

	if (!access->has_key || size == 0 || size > SECRET_MAX)
		return false;
	(void)crypto_hash_sha256(sum, (const unsigned char *)key, size);
	return sodium_memcmp(sum, access->key, sizeof(sum)) == 0;
}

/* Whose word counts for held runs. A token says by itself whether it may; whoever shows one does
 * not speak as the daemon's user. */
static void set_power(const struct access *access, const struct access_request *request,
		      struct op_caller *caller)
{
	bool has_tokens = access->config->token_count > 0;

	if (caller->token != NULL)
		caller->may_decide = caller->token->oversee;
	else
		caller->may_decide = is_owner(access, request) ||
				     (!has_tokens && has_key(access, request->approve));
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
		else if (parse_authority(config->hosts.items[i], &authority))
			allow(access, &authority);
	}
	return access;
}

void access_free(struct access *access)
{
	if (access == NULL)
		return;
	free(access->sums);
	free(access->allowed);
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
	if (!parse_authority(address, &authority))
		return;
	if (is_any_address(&authority))
		access->is_bound_to_all = true;
	authority.port = 0;
	allow(access, &authority);
}

// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "policy/config_parts.h"
#include "policy/paths.h"

#define NUMBER(...) SETTING_NUMBER(struct config, __VA_ARGS__)
#define TEXT(...) SETTING_STRING(struct config, __VA_ARGS__)
#define CHOICE(...) SETTING_WORD(struct config, __VA_ARGS__)
#define TOKEN_NUMBER(...) SETTING_NUMBER(struct config_token, __VA_ARGS__)
#define TOKEN_TEXT(...) SETTING_STRING(struct config_token, __VA_ARGS__)

/* Keys of one mapping stand together: the schema is made in this order. */
const struct setting config_rows[] = {
	TEXT("listen", listen, SETTING_LIST, 16, "127.0.0.1:7878",
	     "where to listen: ADDRESS:PORT or unix:PATH"),
	TEXT("state_dir", state_dir, SETTING_PATH, 0, "",
	     "event logs, audit, conversations; default: the user's or the system's state "
	     "directory"),
	TEXT("runtime_dir", runtime_dir, SETTING_PATH, 0, "",
	     "sockets of a running daemon; default: $XDG_RUNTIME_DIR/vivarium, for root "
	     "/run/vivarium, else /tmp/vivarium-UID"),
	NUMBER("reattach_ms", reattach_ms, SETTING_COUNT, 0, 86400000, 60000,
	       "how long sessions outlive a daemon that died, for the next one to take them over"),
	TEXT("hosts", hosts, SETTING_LIST, 256, "",
	     "names of this server in Host, beside loopback"),
	TEXT("origins", origins, SETTING_LIST, 256, "",
	     "pages of other origins that may call, each http://HOST[:PORT] or "
	     "https://HOST[:PORT]"),
	NUMBER("limits.concurrent_runs", concurrent_runs, SETTING_COUNT, 1, 4096, 64,
	       "runs at once"),
	NUMBER("limits.queue", queue, SETTING_COUNT, 0, 65536, 256, "runs that may wait"),
	NUMBER("limits.held", held, SETTING_COUNT, 1, 4096, 64,
	       "runs that may wait for a person to allow them"),
	NUMBER("limits.sessions", sessions, SETTING_COUNT, 0, 65536, 2000, "sessions at once"),
	NUMBER("limits.body", body, SETTING_BYTES, KIB, 16 * GIB, 256 * MIB, "bytes of a request"),
	NUMBER("limits.answers", answers, SETTING_BYTES, 64 * MIB, 64 * GIB, 256 * MIB,
	       "bytes of answers that clients have not read yet; with several tokens, each may "
	       "have half"),
	NUMBER("limits.connections", connections, SETTING_COUNT, 8, 65536, 1024,
	       "HTTP connections at once"),
	NUMBER("sessions.idle_ms", session_idle_ms, SETTING_COUNT, 1000, 2592000000, 1800000,
	       "end a session that was not used for this long"),
	NUMBER("sessions.ttl_ms", session_ttl_ms, SETTING_COUNT, 1000, 2592000000, 86400000,
	       "end a session this long after it was made"),
	NUMBER("sessions.freeze_ms", session_freeze_ms, SETTING_COUNT, 0, 2592000000, 60000,
	       "freeze a session that was not used for this long; 0: never"),
	NUMBER("sessions.checkpoints", session_checkpoints, SETTING_COUNT, 1, 24, 8,
	       "checkpoints kept in a session; the oldest without a name goes first"),
	NUMBER("sessions.states", session_states, SETTING_BYTES, 0, 16384 * GIB, 4 * GIB,
	       "disk space for the states of kept sessions; with several tokens, each may have "
	       "half"),
	NUMBER("pressure.memory", pressure_memory, SETTING_COUNT, 1, 100, 20,
	       "refuse new work while processes wait for memory (PSI) for this percentage of the "
	       "time and less than a quarter of it is available; 100: only when hardly any is"),
	TEXT("explore.root", explore_root, SETTING_PATH, 0, "",
	     "folder that explore looks at when a request names none; its name is default"),
	TEXT("explore.folders", explore_folders, SETTING_LIST, 16, "",
	     "more folders for explore, each NAME=/PATH"),
	NUMBER("events.keep_ms", events_keep_ms, SETTING_COUNT, 0, 2592000000, 3600000,
	       "how long the events of a run are kept"),
	NUMBER("events.memory", events_memory, SETTING_BYTES, 64 * KIB, GIB, MIB,
	       "how many bytes of the newest events the daemon holds in its own memory, at most "
	       "one segment of the journal (16 MiB); older ones are read through the page cache"),
	TEXT("audit.file", audit_file, SETTING_PATH, 0, "", "default: <state_dir>/audit.jsonl"),
	NUMBER("audit.max", audit_max, SETTING_BYTES, 0, 64 * GIB, 64 * MIB,
	       "size at which the audit log is renamed to FILE.1, replacing an older one, and a "
	       "new log begins; 0: never"),
	TEXT("backends.priority", backend_priority, SETTING_LIST, 16, "",
	     "use only these backends, in this order; if none of them works, nothing runs"),
	CHOICE("backends.order", backend_order, config_order_words,
	       "order if backends.priority is not set: by strength, or that of another system"),
	TEXT("backends.pin", backend_pin, SETTING_TEXT, POLICY_NAME_MAX, "auto",
	     "the only backend to use; if it does not work, everything is refused"),
	TEXT("backends.remote.url", remote_url, SETTING_TEXT, 400, "",
	     "address of another Vivarium or of a sidecar"),
	TEXT("backends.remote.token", remote_token, SETTING_TEXT, 400, "", "its token"),
	CHOICE("backends.remote.kind", remote_kind, config_remote_words,
	       "which system it is; auto: as its /health says"),
	TEXT("backends.remote.policy", remote_policy, SETTING_TEXT, POLICY_NAME_MAX, "",
	     "policy that runs use there; default: its default policy"),
	NUMBER("backends.remote.timeout_ms", remote_timeout_ms, SETTING_COUNT, 10, 600000, 10000,
	       "how long to wait for its answer, in addition to the time of the run itself"),
	NUMBER("backends.process.development", process_development, SETTING_BOOL, 0, 1, 0,
	       "let explore run without any wall if there is no other backend; never Python"),
	NUMBER("page.enabled", page_enabled, SETTING_BOOL, 0, 1, 1, "serve the page at /"),
};
const size_t config_row_count = ARRAY_LEN(config_rows);

static const struct setting mcp_rows[] = {
	SETTING_NUMBER(struct config_door, "mcp.enabled", is_enabled, SETTING_BOOL, 0, 1, 1,
		       "serve MCP"),
	SETTING_STRING(struct config_door, "mcp.prefix", prefix, SETTING_TEXT, 200, "/mcp",
		       "where MCP is served: /PATH"),
};
const struct config_part mcp_config = {CONFIG_PART(struct config_door, mcp_rows)};

#define SHA256_RULE "64 hex digits, as `viv token new NAME` prints them"

const struct setting token_rows[] = {
	{.key = "name",
	 .type = SETTING_TEXT,
	 .offset = offsetof(struct config_token, name),
	 .low = 1,
	 .high = POLICY_NAME_MAX,
	 .text = "",
	 .help = "name of the client that has this token"},
	{.key = "sha256",
	 .type = SETTING_TEXT,
	 .offset = offsetof(struct config_token, sha256),
	 .low = 64,
	 .high = 64,
	 .text = "",
	 .words = SHA256_RULE,
	 .help = "SHA-256 of the secret"},
	TOKEN_TEXT("policies", policies, SETTING_LIST, CONFIG_POLICIES_MAX, "",
		   "policies it may use; absent: all"),
	TOKEN_NUMBER("quotas.concurrent_runs", concurrent_runs, SETTING_COUNT, 1, 4096, 4096,
		     "runs at once, waiting ones included"),
	TOKEN_NUMBER("quotas.sessions", sessions, SETTING_COUNT, 0, 65536, 2000,
		     "sessions at once"),
	TOKEN_NUMBER("quotas.runs_per_minute", runs_per_minute, SETTING_COUNT, 1, 1000000, 1000000,
		     "runs a minute"),
	TOKEN_NUMBER("oversee", oversee, SETTING_BOOL, 0, 1, 0,
		     "sees the runs, sessions and audit lines of all tokens, and allows and denies "
		     "held runs"),
};
const size_t token_row_count = ARRAY_LEN(token_rows);

static bool is_port(const char *text)
{
	uint64_t port;

	return number_parse(NUMBER_COUNT, text, &port) == 0 && port <= 65535;
}

/* ADDRESS:PORT, [v6]:PORT or unix:/PATH. Whether it can be bound shows when it is bound. */
static bool is_listen_address(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (strncmp(text, "unix:", strlen("unix:")) == 0)
		return text[strlen("unix:")] == '/';
	return colon != NULL && colon > text && is_port(colon + 1) &&
	       (strchr(text, ':') == colon || (text[0] == '[' && colon[-1] == ']'));
}

/* NAME, ADDRESS or [ADDRESS], with or without a port: as a client sends it, not as a browser shows
 * it. Any other spelling would never match. */
static bool is_host(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-._";
	size_t size = text[0] == '[' ? strcspn(text, "]") : strspn(text, letters);

	if (text[0] == '[') {
		if (strspn(text + 1, "0123456789abcdefABCDEF:.") != size - 1 || text[size] != ']')
			return false;
		size++;
	}
	return size > 0 && (text[size] == '\0' || (text[size] == ':' && is_port(text + size + 1)));
}

/* As a browser writes it. */
static bool is_origin(const char *text)
{
	size_t size = strncmp(text, "https://", 8) == 0 ? 8 : 7;

	return (size == 8 || strncmp(text, "http://", 7) == 0) && is_host(text + size);
}

/* "/" or "/a/b", with characters that need no escape in a path. */
static bool is_prefix(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-._/";

	return text[0] == '/' && strspn(text, letters) == strlen(text) &&
	       strstr(text, "//") == NULL;
}

/* Checks the prefixes of every door. */
static int check_prefixes(const struct config *config, const char **ret_key, struct err *err)
{
	for (size_t i = 0; i < config->row_count; i++) {
		const struct setting *row = &config->rows[i];
		const char *prefix = NULL;

		if (strstr(row->key, ".prefix") == NULL)
			continue;
		*ret_key = row->key;
		memcpy(&prefix, (const char *)config + row->offset, sizeof(prefix));
		if (strcmp(prefix, "auto") != 0 && !is_prefix(prefix))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "%s: %.80s is no place; allowed: auto, / or /PATH of "
				       "letters, digits and -._",
				       row->key, prefix);
	}
	return 0;
}

static bool is_named_folder(const char *text)
{
	const char *equals = strchr(text, '=');
	char name[POLICY_NAME_MAX + 1];

	if (equals == NULL || (size_t)(equals - text) >= sizeof(name) || equals[1] != '/')
		return false;
	(void)snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	return name_is_valid(name);
}

/* Lists whose entries must each have a certain form. */
static const struct {
	const char *key;
	size_t offset;
	bool (*is_fine)(const char *text);
	const char *rule;
} lists[] = {
	{"listen", offsetof(struct config, listen), is_listen_address,
	 "is no address; allowed: ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH"},
	{"hosts", offsetof(struct config, hosts), is_host,
	 "is no host; allowed: NAME, ADDRESS or [ADDRESS], with :PORT or without"},
	{"origins", offsetof(struct config, origins), is_origin,
	 "is no origin; allowed: http://HOST or https://HOST, with :PORT or without, and nothing "
	 "behind it"},
	{"explore.folders", offsetof(struct config, explore_folders), is_named_folder,
	 "is not NAME=/PATH; in NAME " NAME_RULE},
};

static int check_lists(const struct config *config, const char **ret_key, struct err *err)
{
	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		const struct text_list *list =
			(const void *)((const char *)config + lists[k].offset);

		*ret_key = lists[k].key;
		for (size_t i = 0; i < list->count; i++) {
			if (!lists[k].is_fine(list->items[i]))
				return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s: %.80s %s",
					       lists[k].key, list->items[i], lists[k].rule);
		}
	}
	return 0;
}

static int check_top(const struct config *config, const char **ret_key, struct err *err)
{
	if (check_lists(config, ret_key, err) < 0 || check_prefixes(config, ret_key, err) < 0)
		return -err->num;
	for (size_t i = 0; config_parts[i] != NULL; i++) {
		if (config_parts[i]->check != NULL &&
		    config_parts[i]->check(config->parts[i], ret_key, err) < 0)
			return -err->num;
	}
	return config_check_backends(config, ret_key, err);
}

int config_take_top(struct config *config, const struct document *document, struct err *err)
{
	const char *key = NULL;
	int r = document_apply(document, CONFIG_TOP, 0, config, err);

	if (r < 0)
		return r;
	if (document_has(document, CONFIG_TOP, 0, "backends.priority") &&
	    config->backend_priority.count == 0) {
		(void)err_set(err, ERR_BAD_REQUEST, EINVAL,
			      "backends.priority: an empty list allows nothing; leave the key out "
			      "to allow all");
		return document_blame(document, CONFIG_TOP, 0, "backends.priority", err);
	}
	if (check_top(config, &key, err) < 0)
		return document_blame(document, CONFIG_TOP, 0, key, err);
	return 0;
}

static int check_token(const struct config *config, const struct config_token *token,
		       const char **ret_key, struct err *err)
{
	*ret_key = "name";
	if (!name_is_valid(token->name))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "name: %.80s is no name; " NAME_RULE,
			       token->name[0] != '\0' ? token->name : "(none)");
	for (size_t i = 0; i < config->token_count; i++) {
		if (strcmp(config->tokens[i].name, token->name) == 0)
			return err_set(err, ERR_BAD_REQUEST, EINVAL, "name: %s is there twice",
				       token->name);
	}
	*ret_key = "sha256";
	if (strspn(token->sha256, "0123456789abcdefABCDEF") != 64)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "sha256: must be " SHA256_RULE);
	for (size_t i = 0; i < config->token_count; i++) {
		if (strcasecmp(config->tokens[i].sha256, token->sha256) == 0)
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "sha256: the token %s has the same secret",
				       config->tokens[i].name);
	}
	*ret_key = "policies";
	for (size_t i = 0; i < token->policies.count; i++) {
		if (config_policy(config, token->policies.items[i], err) == NULL)
			return -err->num;
	}
	return 0;
}

int config_take_tokens(struct config *config, const struct document *document, struct err *err)
{
	size_t count = document_count(document, CONFIG_TOKENS);

	config->tokens = xcalloc(count > 0 ? count : 1, sizeof(*config->tokens));
	for (size_t i = 0; i < count; i++) {
		struct config_token *token = &config->tokens[i];
		const char *key = NULL;
		int r;

		settings_init(token_rows, token_row_count, token);
		r = document_apply(document, CONFIG_TOKENS, i, token, err);
		if (r == 0 && document_has(document, CONFIG_TOKENS, i, "policies") &&
		    token->policies.count == 0) {
			(void)err_set(
				err, ERR_BAD_REQUEST, EINVAL,
				"policies: an empty list allows nothing; leave the key out to "
				"allow all");
			r = document_blame(document, CONFIG_TOKENS, i, "policies", err);
		}
		if (r == 0 && check_token(config, token, &key, err) < 0)
			r = document_blame(document, CONFIG_TOKENS, i, key, err);
		if (r < 0) {
			settings_done(token_rows, token_row_count, token);
			return r;
		}
		for (char *p = token->sha256; *p != '\0'; p++)
			*p = (char)tolower((unsigned char)*p);
		config->token_count++;
	}
	return 0;
}

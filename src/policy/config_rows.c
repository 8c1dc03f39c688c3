// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "policy/config_parts.h"
#include "policy/paths.h"

#define AT(type_, member_) .offset = offsetof(type_, member_)
#define NUMBER(key_, member_, type_, low_, high_, initial_, help_)                                 \
	{                                                                                          \
		.key = (key_), .type = (type_), AT(struct config, member_), .low = (low_),         \
		.high = (high_), .initial = (initial_), .help = (help_)                            \
	}
#define TEXT(key_, member_, type_, high_, text_, help_)                                            \
	{                                                                                          \
		.key = (key_), .type = (type_), AT(struct config, member_), .high = (high_),       \
		.text = (text_), .help = (help_)                                                   \
	}
#define CHOICE(key_, member_, words_, help_)                                                       \
	{                                                                                          \
		.key = (key_), .type = SETTING_CHOICE, AT(struct config, member_),                 \
		.words = (words_), .help = (help_)                                                 \
	}
#define ENABLED(key_, member_) NUMBER(key_, member_, SETTING_BOOL, 0, 1, 0, "speak this dialect")
#define PREFIX(key_, member_)                                                                      \
	TEXT(key_, member_, SETTING_TEXT, 200, "auto",                                             \
	     "where its routes are: / for the root, or /PATH; auto: at /NAME, and at the root as " \
	     "far as nothing else is there")

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
	       "bytes of answers that clients have not read yet; of several tokens, each may have "
	       "half of it"),
	NUMBER("limits.connections", connections, SETTING_COUNT, 8, 65536, 1024,
	       "HTTP connections at once"),
	NUMBER("sessions.idle_ms", session_idle_ms, SETTING_COUNT, 1000, 2592000000, 1800000,
	       "end a session after this much rest"),
	NUMBER("sessions.ttl_ms", session_ttl_ms, SETTING_COUNT, 1000, 2592000000, 86400000,
	       "end a session after this much time"),
	NUMBER("sessions.freeze_ms", session_freeze_ms, SETTING_COUNT, 0, 2592000000, 60000,
	       "freeze a session after this much rest; 0: never"),
	NUMBER("sessions.checkpoints", session_checkpoints, SETTING_COUNT, 1, 24, 8,
	       "checkpoints kept in a session; the oldest without a name goes first"),
	NUMBER("sessions.states", session_states, SETTING_BYTES, 0, 16384 * GIB, 4 * GIB,
	       "disk for states of sessions that are kept; where there are tokens, half of it for "
	       "each"),
	NUMBER("pressure.memory", pressure_memory, SETTING_COUNT, 1, 100, 20,
	       "refuse new work while something waits for memory this much of the time, in "
	       "percent, and less than a quarter is available; 100: only when nearly none is"),
	TEXT("explore.root", explore_root, SETTING_PATH, 0, "",
	     "folder that explore looks at when a request names none; its name is default"),
	TEXT("explore.folders", explore_folders, SETTING_LIST, 16, "",
	     "more folders for explore, each NAME=/PATH"),
	NUMBER("events.keep_ms", events_keep_ms, SETTING_COUNT, 0, 2592000000, 3600000,
	       "how long the events of a run are kept"),
	NUMBER("events.memory", events_memory, SETTING_BYTES, 64 * KIB, GIB, MIB,
	       "of the newest events, in the daemon's own memory; what is older is read from the "
	       "disk's cache, and a segment of the journal (16 MiB) is the most"),
	TEXT("audit.file", audit_file, SETTING_PATH, 0, "", "default: <state_dir>/audit.jsonl"),
	NUMBER("audit.max", audit_max, SETTING_BYTES, 0, 64 * GIB, 64 * MIB,
	       "bytes of the audit log; then it gets the name FILE.1, in place of the one before, "
	       "and "
	       "a new one is begun; 0: never"),
	TEXT("backends.priority", backend_priority, SETTING_LIST, 16, "",
	     "exactly these backends, in this order; when none of them can run, nothing does"),
	CHOICE("backends.order", backend_order, "auto|strength|atlas-documented|atlas-planner",
	       "order without a list: by strength, or one of Atlas's two"),
	TEXT("backends.pin", backend_pin, SETTING_TEXT, POLICY_NAME_MAX, "auto",
	     "the one backend of everything; broken, it refuses"),
	TEXT("backends.remote.url", remote_url, SETTING_TEXT, 400, "",
	     "another Vivarium or sidecar"),
	TEXT("backends.remote.token", remote_token, SETTING_TEXT, 400, "", "its token"),
	CHOICE("backends.remote.kind", remote_kind, "auto|vivarium|atlas",
	       "what stands there; auto: its /health tells"),
	TEXT("backends.remote.policy", remote_policy, SETTING_TEXT, POLICY_NAME_MAX, "",
	     "policy there that runs are asked for under; default: its default"),
	NUMBER("backends.remote.timeout_ms", remote_timeout_ms, SETTING_COUNT, 10, 600000, 10000,
	       "how long to wait for it to answer, beside the time of the run itself"),
	NUMBER("backends.process.development", process_development, SETTING_BOOL, 0, 1, 0,
	       "let explore run without any wall where nothing better is there; never Python"),
	NUMBER("page.enabled", page_enabled, SETTING_BOOL, 0, 1, 1, "serve the page at /"),
	NUMBER("mcp.enabled", mcp_enabled, SETTING_BOOL, 0, 1, 1, "serve MCP"),
	TEXT("mcp.prefix", mcp_prefix, SETTING_TEXT, 200, "/mcp", "where MCP is served: /PATH"),
	ENABLED("dialects.atlas.enabled", atlas_enabled),
	PREFIX("dialects.atlas.prefix", atlas_prefix),
	TEXT("dialects.atlas.semantic_dir", atlas_semantic_dir, SETTING_PATH, 0, "",
	     "folder of the explore tool"),
	TEXT("dialects.atlas.policy", atlas_policy, SETTING_TEXT, POLICY_NAME_MAX, "analysis",
	     "policy of its Python runs"),
	NUMBER("dialects.atlas.data_max", atlas_data_max, SETTING_BYTES, KIB, 4 * GIB, 64 * MIB,
	       "bytes of data in a request"),
	ENABLED("dialects.elitea.enabled", elitea_enabled),
	PREFIX("dialects.elitea.prefix", elitea_prefix),
	TEXT("dialects.elitea.policy", elitea_policy, SETTING_TEXT, POLICY_NAME_MAX, "conversation",
	     "policy of its runs"),
	NUMBER("dialects.elitea.max_concurrent", elitea_max_concurrent, SETTING_COUNT, 0, 4096, 16,
	       "runs at once; 0: as many as there may be"),
	NUMBER("dialects.elitea.memory_pressure", elitea_memory_pressure, SETTING_COUNT, 0, 99, 85,
	       "percent of the memory in use from which on runs are refused; 0: never"),
	NUMBER("dialects.elitea.timeout_ms", elitea_timeout_ms, SETTING_COUNT, 10, 86400000, 55000,
	       "the longest a run may take, and what it may take when it does not say"),
	NUMBER("dialects.elitea.memory", elitea_memory, SETTING_BYTES, 64 * MIB, 64 * GIB,
	       512 * MIB, "memory of a run, at most the policy's"),
	NUMBER("dialects.elitea.session_max", elitea_session_max, SETTING_BYTES, KIB, 8 * MIB,
	       3 * MIB,
	       "bytes of a session that goes back to the client; its base64 has a third "
	       "more"),
	ENABLED("dialects.agentrail.enabled", agentrail_enabled),
	PREFIX("dialects.agentrail.prefix", agentrail_prefix),
	NUMBER("dialects.agentrail.idle_ms", agentrail_idle_ms, SETTING_COUNT, 1000, 604800000,
	       1800000, "end a session after this much rest"),
	ENABLED("dialects.synapse.enabled", synapse_enabled),
	PREFIX("dialects.synapse.prefix", synapse_prefix),
	TEXT("dialects.synapse.vault", synapse_vault, SETTING_PATH, 0, "",
	     "folder of the vault: read and written by its routes and tools, read-only at /data of "
	     "the policy ephemeral"),
	ENABLED("dialects.piston.enabled", piston_enabled),
	PREFIX("dialects.piston.prefix", piston_prefix),
	ENABLED("dialects.dify.enabled", dify_enabled),
	PREFIX("dialects.dify.prefix", dify_prefix),
	ENABLED("dialects.librechat.enabled", librechat_enabled),
	PREFIX("dialects.librechat.prefix", librechat_prefix),
};
const size_t config_row_count = ARRAY_LEN(config_rows);

const struct setting token_rows[] = {
	{.key = "name",
	 .type = SETTING_TEXT,
	 AT(struct config_token, name),
	 .low = 1,
	 .high = POLICY_NAME_MAX,
	 .text = "",
	 .help = "whom the token stands for"},
	{.key = "sha256",
	 .type = SETTING_TEXT,
	 AT(struct config_token, sha256),
	 .low = 64,
	 .high = 64,
	 .text = "",
	 .help = "SHA-256 of the secret, 64 hex digits"},
	{.key = "policies",
	 .type = SETTING_LIST,
	 AT(struct config_token, policies),
	 .high = CONFIG_POLICIES_MAX,
	 .text = "",
	 .help = "policies it may use; absent: all"},
	{.key = "quotas.concurrent_runs",
	 .type = SETTING_COUNT,
	 AT(struct config_token, concurrent_runs),
	 .low = 1,
	 .high = 4096,
	 .initial = 4096,
	 .help = "runs at once, waiting ones included"},
	{.key = "quotas.sessions",
	 .type = SETTING_COUNT,
	 AT(struct config_token, sessions),
	 .low = 0,
	 .high = 65536,
	 .initial = 2000,
	 .help = "sessions at once"},
	{.key = "quotas.runs_per_minute",
	 .type = SETTING_COUNT,
	 AT(struct config_token, runs_per_minute),
	 .low = 1,
	 .high = 1000000,
	 .initial = 1000000,
	 .help = "runs a minute"},
	{.key = "oversee",
	 .type = SETTING_BOOL,
	 AT(struct config_token, oversee),
	 .high = 1,
	 .help = "sees the runs, sessions and audit lines of all tokens, and allows and denies "
		 "held runs"},
};
const size_t token_row_count = ARRAY_LEN(token_rows);

static bool is_port(const char *text)
{
	uint64_t port;

	return number_parse(NUMBER_COUNT, text, &port) == 0 && port <= 65535;
}

/* ADDRESS:PORT, [v6]:PORT or unix:/PATH. Whether it can be bound is for whoever binds it. */
static bool is_listen_address(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (strncmp(text, "unix:", strlen("unix:")) == 0)
		return text[strlen("unix:")] == '/';
	return colon != NULL && colon > text && is_port(colon + 1) &&
	       (strchr(text, ':') == colon || (text[0] == '[' && colon[-1] == ']'));
}

/* NAME, ADDRESS or [ADDRESS], with or without a port: as a client sends it, not as a browser shows
 * it. What is written otherwise would never be met. */
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

/* "/" or "/a/b", of what needs no escape in a path. */
static bool is_prefix(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-._/";

	return text[0] == '/' && strspn(text, letters) == strlen(text) &&
	       strstr(text, "//") == NULL;
}

/* Of every door. */
static int check_prefixes(const struct config *config, const char **ret_key, struct err *err)
{
	for (size_t i = 0; i < config_row_count; i++) {
		const struct setting *row = &config_rows[i];
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

static int check_top(const struct config *config, const char **ret_key, struct err *err)
{
	*ret_key = "listen";
	for (size_t i = 0; i < config->listen.count; i++) {
		if (!is_listen_address(config->listen.items[i]))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "listen: %.80s is no address; allowed: ADDRESS:PORT, "
				       "[ADDRESS]:PORT or unix:/PATH",
				       config->listen.items[i]);
	}
	*ret_key = "hosts";
	for (size_t i = 0; i < config->hosts.count; i++) {
		if (!is_host(config->hosts.items[i]))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "hosts: %.80s is no host; allowed: NAME, ADDRESS or "
				       "[ADDRESS], with :PORT or without",
				       config->hosts.items[i]);
	}
	*ret_key = "origins";
	for (size_t i = 0; i < config->origins.count; i++) {
		if (!is_origin(config->origins.items[i]))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "origins: %.80s is no origin; allowed: http://HOST or "
				       "https://HOST, with :PORT or without, and nothing behind it",
				       config->origins.items[i]);
	}
	if (check_prefixes(config, ret_key, err) < 0)
		return -err->num;
	*ret_key = "explore.folders";
	for (size_t i = 0; i < config->explore_folders.count; i++) {
		if (!is_named_folder(config->explore_folders.items[i]))
			return err_set(
				err, ERR_BAD_REQUEST, EINVAL,
				"explore.folders: %.80s is not NAME=/PATH; in NAME " NAME_RULE,
				config->explore_folders.items[i]);
	}
	*ret_key = "dialects.synapse.vault";
	if (config->synapse_vault[0] != '\0' && path_is_too_wide(config->synapse_vault))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "dialects.synapse.vault: %.200s would show too much of the host; "
			       "name a directory that holds the vault only",
			       config->synapse_vault);
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
		return err_set(
			err, ERR_BAD_REQUEST, EINVAL,
			"sha256: 64 hex digits are wanted; `viv token new NAME` prints them");
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

	if (count > CONFIG_TOKENS_MAX) {
		(void)err_set(err, ERR_BAD_REQUEST, EINVAL, "tokens: more than %d entries",
			      CONFIG_TOKENS_MAX);
		return document_blame(document, CONFIG_TOKENS, CONFIG_TOKENS_MAX, NULL, err);
	}
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

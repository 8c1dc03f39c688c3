// SPDX-License-Identifier: Apache-2.0
/*
 * Config - the content of vivarium.yaml, checked, with every default filled in
 *
 * Owns:    the search for the file, the file's shape, and messages with file:line and the allowed
 *          values.
 * May not: be loaded in part: a config is loaded whole, or the start is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/policy.h"
#include "policy/runtime.h"
#include "policy/setting.h"

#define CONFIG_FILE_MAX (1U << 20)
#define CONFIG_TOKENS_MAX 256
#define CONFIG_POLICIES_MAX 64

struct config;

struct config_token {
	char *name;
	char *sha256;              /* 64 hex digits, lower case */
	struct text_list policies; /* none: all */
	uint64_t concurrent_runs;
	uint64_t sessions;
	uint64_t runs_per_minute;
	bool oversee; /* sees everything of all tokens; allows and denies held runs */
};

/* Presets for the order in which backends are tried, used without backends.priority. */
enum config_order {
	CONFIG_ORDER_AUTO,          /* strength, or remote Python where a sidecar is configured */
	CONFIG_ORDER_STRENGTH,      /* the highest priority first */
	CONFIG_ORDER_REMOTE_PYTHON, /* ... but Python on `remote` before all others */
	CONFIG_ORDER_REMOTE,        /* ... but `remote` right before `namespace` */
};

/* The kind of server at backends.remote.url. */
enum config_remote {
	CONFIG_REMOTE_AUTO, /* as its /health tells */
	CONFIG_REMOTE_VIVARIUM,
	CONFIG_REMOTE_SIDECAR,
};

/* Which settings came from variables of the sidecar's system: then messages use those names. */
struct config_sidecar {
	bool has_pin, has_priority, has_url;
};

/* The words of the system whose sidecars `remote` can use; its door provides them. */
struct config_sidecar_words {
	const char *remote;                          /* of backends.remote.kind */
	const char *orders[2];                       /* of backends.order: remote Python, remote */
	const char *pin, *priority;                  /* variables that stand for our keys */
	const char *list;                            /* a refusal's name for backends.priority */
	const char *none;                            /* a refusal of Python, without the reasons */
	const char *(*backend)(const char *backend); /* its name for a backend, or NULL */
};

/*
 * One door's part of a config: rows, and functions that apply them to the rest. The rows fill a
 * struct of `size` bytes that begins with struct config_door; each function may be NULL.
 */
struct config_part {
	const struct setting *rows;
	size_t row_count, size;
	int (*check)(const void *part, const char **ret_key, struct err *err);
	void (*suit)(const void *part, struct config *config); /* built-in policies, before the
								  file's are read */
	int (*take_environment)(struct config *config, struct err *err);
};

struct config_door {
	bool is_enabled;
	char *prefix; /* "auto", or from / on */
};

#define CONFIG_PART(struct_, rows_)                                                                \
	.rows = (rows_), .row_count = ARRAY_LEN(rows_), .size = sizeof(struct_)

/* The two rows of every section dialects.NAME. */
#define CONFIG_DIALECT(struct_, name_)                                                             \
	SETTING_NUMBER(struct_, "dialects." name_ ".enabled", door.is_enabled, SETTING_BOOL, 0, 1, \
		       0, "speak this dialect"),                                                   \
		SETTING_STRING(struct_, "dialects." name_ ".prefix", door.prefix, SETTING_TEXT,    \
			       200, "auto",                                                        \
			       "where its routes are: / for the root, or /PATH; auto: at /NAME, "  \
			       "and at the root as far as nothing else is there")

#define CONFIG_PARTS_MAX 16

struct config {
	char *file; /* owned: the file's path; "" when there is none */

	struct runtime *runtimes; /* owned: built-ins first, bare base full */
	size_t runtime_count;
	struct policy *policies; /* owned: built-ins first */
	size_t policy_count;
	struct config_token *tokens; /* owned */
	size_t token_count;
	struct config_sidecar sidecar;
	struct setting *rows; /* owned: config_rows and those of the parts, with their offsets */
	size_t row_count;
	void *parts[CONFIG_PARTS_MAX]; /* inside this allocation, after this struct, in the order of
					* config_parts */

	/* From here on: one row each. */
	struct text_list listen;
	char *state_dir;   /* never "" after a load */
	char *runtime_dir; /* never "" after a load; path_make_private before use */
	uint64_t reattach_ms;
	struct text_list hosts;
	struct text_list origins;
	uint64_t concurrent_runs, queue, held, sessions, body, answers, connections;
	uint64_t session_idle_ms, session_ttl_ms, session_freeze_ms, session_checkpoints;
	uint64_t session_states;  /* bytes of disk */
	uint64_t pressure_memory; /* percent */
	char *explore_root;
	struct text_list explore_folders; /* "NAME=PATH" each */
	uint64_t events_keep_ms, events_memory;
	char *audit_file;           /* never "" after a load */
	bool is_audit_beside_state; /* the config names no audit file */
	uint64_t audit_max;
	struct text_list backend_priority; /* empty: the order decides */
	uint64_t backend_order;            /* enum config_order */
	char *backend_pin;                 /* "auto" or a name; if that backend is broken, runs are
					    * refused */
	char *remote_url, *remote_token, *remote_policy;
	uint64_t remote_kind; /* enum config_remote */
	uint64_t remote_timeout_ms;
	bool process_development; /* explore without any wall */

	bool page_enabled;
};

/* The names of all backends, whether this build and host have them or not; NULL-terminated. */
extern const char *const config_backends[];

/* door/config_table.c: the parts, NULL-terminated; the words of backends.order and
 * backends.remote.kind, by their enums; the words of the sidecar's system. */
extern const struct config_part *const config_parts[];
extern const char config_order_words[], config_remote_words[];
extern const struct config_sidecar_words *const config_sidecar_words;

extern const struct config_part mcp_config;

extern const struct setting config_rows[];
extern const size_t config_row_count;
extern const struct setting token_rows[];
extern const size_t token_row_count;

/* Loads `path`, or with NULL the first file found: $VIVARIUM_CONFIG, ./vivarium.yaml, the user's,
 * the system's; without any, the built-in defaults. Then reads the runtimes.d directories. A bad
 * file is ERR_BAD_REQUEST with "file:line: ...", and so is a ./vivarium.yaml that was not asked for
 * and that belongs to, or can be changed by, anyone but the caller and root. */
int config_load(const char *path, struct config **ret_config, struct err *err);

/* Like config_load from bytes; `name` is the file's name in messages. Without runtimes.d. */
int config_parse(const void *text, size_t size, const char *name, struct config **ret_config,
		 struct err *err);

/* Only the defaults. */
struct config *config_new(void);
void config_free(struct config *config);

/* The struct that the rows of `part` fill. */
void *config_part(const struct config *config, const struct config_part *part);
struct config_door *config_door(const struct config *config, const struct config_part *part);

/* The policy of this name, made if it does not exist; for `suit` of a part. */
struct policy *config_built_in(struct config *config, const char *name);

/* Finds a policy by name; NULL and ERR_NOT_FOUND, which lists the names. */
const struct policy *config_policy(const struct config *config, const char *name, struct err *err);

/* Where the value of this row comes from: "the config", "the config, by BASE", "built-in NAME" or
 * "default". */
void config_policy_from(const struct config *config, const struct policy *policy, size_t row,
			char *ret_text, size_t size);
const struct runtime *config_runtime(const struct config *config, const char *name,
				     struct err *err);

/* The policy of a request: `asked`, or with NULL "default", or the first policy of a token (may be
 * NULL) that lacks it. ERR_NOT_FOUND, or -EPERM when the token may not use it. */
int config_choose_policy(const struct config *config, const struct config_token *token,
			 const char *asked, const struct policy **ret_policy, struct err *err);

/* The folder that explore knows by this name: explore.root as "default", or one of explore.folders;
 * with NULL the first one. NULL and ERR_NOT_FOUND, which lists the names. */
const char *config_explore(const struct config *config, const char *name, struct err *err);

/* May a sandbox see the folders of this runtime, and `data` (or NULL)? -EPERM for a folder that
 * holds our own files: state_dir with the journal and the key that allows held runs, runtime_dir
 * and every other socket that we listen on. */
int config_check_shown(const struct config *config, const struct runtime *runtime, const char *data,
		       struct err *err);

/* The runtime of a run: `asked` ("auto", NULL or a name) within what the policy pins. -EPERM when
 * the policy pins another one. */
int config_choose_runtime(const struct config *config, const struct policy *policy,
			  const char *asked, const void *code, size_t size, bool has_data,
			  const struct runtime **ret_runtime, struct err *err);

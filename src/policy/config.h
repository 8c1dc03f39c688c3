// SPDX-License-Identifier: Apache-2.0
/*
 * Config - what vivarium.yaml says, checked, with every default filled in
 *
 * Owns:    the search for the file, the file's shape, and messages with file:line and what is
 *          allowed there.
 * May not: be half right: a config is loaded whole, or the start is refused.
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

struct config_token {
	char *name;
	char *sha256;              /* 64 hex digits, lower case */
	struct text_list policies; /* none: all */
	uint64_t concurrent_runs;
	uint64_t sessions;
	uint64_t runs_per_minute;
	bool oversee; /* sees what is everybody's; allows and denies held runs */
};

/* Presets of the order in which backends are tried; without backends.priority. */
enum config_order {
	CONFIG_ORDER_AUTO,       /* strength, or documented where ATLAS_SANDBOX_URL is set */
	CONFIG_ORDER_STRENGTH,   /* the highest priority first */
	CONFIG_ORDER_DOCUMENTED, /* as Atlas's documents have it: Python on the sidecar first */
	CONFIG_ORDER_PLANNER,    /* as Atlas's planner does it */
};

/* What stands at backends.remote.url. */
enum config_remote {
	CONFIG_REMOTE_AUTO, /* its /health tells */
	CONFIG_REMOTE_VIVARIUM,
	CONFIG_REMOTE_ATLAS,
};

/* Which settings came from Atlas's variables: then messages speak of those. */
struct config_atlas {
	bool has_pin;      /* ATLAS_SANDBOX */
	bool has_priority; /* ATLAS_SANDBOX_PRIORITY */
	bool has_url;      /* ATLAS_SANDBOX_URL */
};

struct config {
	char *file; /* owned: where it came from; "" when there is none */

	struct runtime *runtimes; /* owned: built-ins first, bare base full */
	size_t runtime_count;
	struct policy *policies; /* owned: built-ins first */
	size_t policy_count;
	struct config_token *tokens; /* owned */
	size_t token_count;
	struct config_atlas atlas;

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
	bool is_audit_beside_state; /* the file names none */
	uint64_t audit_max;
	struct text_list backend_priority; /* none: the order decides */
	uint64_t backend_order;            /* enum config_order */
	char *backend_pin;                 /* "auto" or a name: broken means refused */
	char *remote_url, *remote_token, *remote_policy;
	uint64_t remote_kind; /* enum config_remote */
	uint64_t remote_timeout_ms;
	bool process_development; /* explore without any wall */

	bool page_enabled;
	bool mcp_enabled;
	char *mcp_prefix;
	bool atlas_enabled;
	char *atlas_prefix; /* "auto", or from / on */
	char *atlas_semantic_dir, *atlas_policy;
	uint64_t atlas_data_max;
	bool elitea_enabled;
	char *elitea_prefix; /* "auto", or from / on */
	char *elitea_policy;
	uint64_t elitea_max_concurrent, elitea_memory_pressure, elitea_timeout_ms;
	uint64_t elitea_memory, elitea_session_max;
	bool agentrail_enabled;
	char *agentrail_prefix; /* "auto", or from / on */
	uint64_t agentrail_idle_ms;
	bool synapse_enabled;
	char *synapse_prefix; /* "auto", or from / on */
	char *synapse_vault;
	bool piston_enabled;
	char *piston_prefix; /* "auto", or from / on */
	bool dify_enabled;
	char *dify_prefix; /* "auto", or from / on */
	bool librechat_enabled;
	char *librechat_prefix; /* "auto", or from / on */
};

/* The names of all backends, whether this build and host have them or not; NULL behind the last. */
extern const char *const config_backends[];

/* Atlas's name of a backend; NULL where it has none. */
const char *config_atlas_name(const char *backend);

extern const struct setting config_rows[];
extern const size_t config_row_count;
extern const struct setting token_rows[];
extern const size_t token_row_count;

/* Loads `path`, or with NULL what is found: $VIVARIUM_CONFIG, ./vivarium.yaml, the user's, the
 * system's; with none the built-in defaults. Then the runtimes.d directories. A bad file is
 * ERR_BAD_REQUEST with "file:line: ...", and so is a ./vivarium.yaml that nobody asked for and that
 * belongs to, or can be changed by, anybody but the caller and root. */
int config_load(const char *path, struct config **ret_config, struct err *err);

/* The same from bytes; `name` stands for the file in messages. No runtimes.d. */
int config_parse(const void *text, size_t size, const char *name, struct config **ret_config,
		 struct err *err);

void config_free(struct config *config);

/* By name; NULL and ERR_NOT_FOUND with the names there are. */
const struct policy *config_policy(const struct config *config, const char *name, struct err *err);

/* Where the value of this row comes from: "the config", "the config, by BASE", "built-in NAME" or
 * "default". */
void config_policy_from(const struct config *config, const struct policy *policy, size_t row,
			char *ret_text, size_t size);
const struct runtime *config_runtime(const struct config *config, const char *name,
				     struct err *err);

/* The policy of a request: `asked`, or with NULL "default", or where the token (may be NULL) lacks
 * that the first it has. ERR_NOT_FOUND, or -EPERM when the token may not use it. */
int config_choose_policy(const struct config *config, const struct config_token *token,
			 const char *asked, const struct policy **ret_policy, struct err *err);

/* The folder that explore knows by this name: explore.root as "default", or one of
 * explore.folders; with NULL the first there is. NULL and ERR_NOT_FOUND with the names. */
const char *config_explore(const struct config *config, const char *name, struct err *err);

/* May a sandbox see what this runtime brings along, and `data` (or NULL)? -EPERM for a folder that
 * holds our own files: state_dir with the journal and the key that allows held runs, runtime_dir
 * and every other socket that we listen on. */
int config_check_shown(const struct config *config, const struct runtime *runtime, const char *data,
		       struct err *err);

/* The runtime of a run: `asked` ("auto", NULL or a name) within what the policy pins. -EPERM when
 * the policy pins another one. */
int config_choose_runtime(const struct config *config, const struct policy *policy,
			  const char *asked, const void *code, size_t size, bool has_data,
			  const struct runtime **ret_runtime, struct err *err);

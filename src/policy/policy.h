// SPDX-License-Identifier: Apache-2.0
/*
 * Policy - a named set of limits, guard, network and mounts
 *
 * Owns:    the rows from which config keys, flags, checks and manuals come; the built-in policies;
 *          and the one rule of requests: they narrow a policy, they never widen it.
 * May not: read files: config does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/plan.h"
#include "policy/setting.h"

#define POLICY_NAME_MAX 32

struct policy {
	char *name;         /* owned */
	bool is_built_in;   /* made by us, whether or not the config changed keys of it */
	uint64_t own_keys;  /* rows, as bits, that a built-in sets itself */
	uint64_t file_keys; /* ... and those that its entry in the file sets */

	/* From here on: one row each. Texts are owned and never NULL. */
	char *base;          /* the policy it inherits from; "" for built-ins */
	uint64_t memory;     /* bytes */
	uint64_t cpus_milli; /* 1000 = one cpu */
	uint64_t pids;
	uint64_t disk;           /* bytes, each of /workspace and /tmp */
	uint64_t io;             /* bytes per second read from each disk; 0: no limit */
	uint64_t files;          /* open descriptors of a process */
	uint64_t output;         /* bytes, each of stdout and stderr */
	uint64_t timeout_ms;     /* when a request says nothing */
	uint64_t timeout_max_ms; /* the most a request may ask for */
	uint64_t background_ms;  /* rest after which leftover processes are ended or frozen */
	char *runtime;           /* "auto" or a name */
	char *backend;           /* "auto" or a name; if that backend is broken, runs are refused */
	char *data;              /* host directory, read-only at /data; "" for none */
	bool guard_enabled;
	struct text_list guard_block; /* top-level module names, beside the guard's own */
	struct text_list guard_allow; /* ... and those that it allows */
	bool guard_strict;            /* judges names by plain text, false alarms included */
	char *network;                /* "none" */
	bool approve;                 /* a person must allow each run */
	uint64_t approve_ms;          /* ... within this time, or it is denied */
	bool audit_code;              /* the audit log holds the code, too */
	uint64_t limits;              /* enum limits_mode */
	char *trust;                  /* zygotes are never shared across trust names; "" is one per
				       * token */
	uint64_t swap;                /* bytes */
};

extern const struct setting policy_rows[];
extern const size_t policy_row_count;

/* The limits that a request asks for; 0: as the policy says. */
struct policy_ask {
	uint64_t memory;
	uint64_t cpus_milli;
	uint64_t pids;
	uint64_t disk;
	uint64_t output;
	uint64_t timeout_ms;
};

/* The limits that a request gets. */
struct policy_grant {
	struct plan plan;
	uint64_t output;
	uint32_t timeout_ms;
};

/* A policy with every default of the rows. */
void policy_init(struct policy *policy, const char *name);
void policy_done(struct policy *policy);

/* The built-in policies, on the heap: each entry is the caller's to end with policy_done, the array
 * with free. */
struct policy *policy_built_ins(size_t *ret_count);

/* The policy of this name, or NULL. */
const struct policy *policy_find(const struct policy *policies, size_t count, const char *name);

/* Sets one field of a request from text: "memory", "cpus", "pids", "disk", "output", "timeout".
 * `label` is the user's name for the field ("--memory", "limits.memory"); it starts the message.
 * The row's own range is checked here, the policy's in policy_narrow. */
int policy_ask_set(struct policy_ask *ask, const char *field, const char *text, const char *label,
		   struct err *err);

/* The numbers of one sandbox. -EINVAL names the field and the maximum when `ask` (may be NULL) is
 * above the policy: "limits.memory: 1GiB is above the policy's 512MiB". */
int policy_narrow(const struct policy *policy, const struct policy_ask *ask,
		  struct policy_grant *ret_grant, struct err *err);

/* Does the policy promise more than this host has? Then `ret_text` says so. */
bool policy_warning(const struct policy *policy, char *ret_text, size_t size);

/* Is the policy consistent (names, guard lists, timeout below its maximum)? On failure *ret_key is
 * the key of the row at fault. */
int policy_check(const struct policy *policy, const char **ret_key, struct err *err);

/* The rule for names of policies, runtimes, tokens and backends. */
#define NAME_RULE "allowed: up to 32 letters, digits, '-', '_', '.', the first a letter or digit"
bool name_is_valid(const char *name);

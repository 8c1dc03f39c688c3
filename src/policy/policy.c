// SPDX-License-Identifier: Apache-2.0
#include "policy/policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "policy/backend_names.h"
#include "policy/config_parts.h"
#include "policy/host.h"
#include "policy/number.h"
#include "policy/paths.h"

#define ROW(...) SETTING_NUMBER(struct policy, __VA_ARGS__)
#define ROW_TEXT(...) SETTING_STRING(struct policy, __VA_ARGS__)

#define LISTED_MAX 256 /* entries of a guard list */
#define KEYS_MAX 6     /* that a built-in changes */
#define HEAVY "heavy"

const struct setting policy_rows[] = {
	ROW_TEXT("base", base, SETTING_TEXT, POLICY_NAME_MAX, "",
		 "policy whose keys this one starts from"),
	ROW("memory", memory, SETTING_BYTES, 16 * MIB, 64 * GIB, 512 * MIB,
	    "memory of the whole sandbox, its files in /workspace and /tmp included"),
	ROW("cpus", cpus_milli, SETTING_CPUS, 10, 1024000, 1000,
	    "processors that the sandbox may use; 0.5 is half of one"),
	ROW("pids", pids, SETTING_COUNT, 4, 4096, 64, "processes and threads at once"),
	ROW("disk", disk, SETTING_BYTES, 64 * KIB, 64 * GIB, 256 * MIB,
	    "bytes in each of /workspace and /tmp"),
	ROW("io", io, SETTING_BYTES, 0, 64 * GIB, 200 * MIB,
	    "bytes per second that a sandbox may read from each disk; 0: no limit"),
	ROW("files", files, SETTING_COUNT, 16, 65536, 1024, "open descriptors of a process"),
	ROW("output", output, SETTING_BYTES, KIB, GIB, MIB,
	    "bytes kept of each of stdout and stderr; 16 times as many end the run"),
	ROW("timeout", timeout_ms, SETTING_MS, 10, 86400000, 30000,
	    "how long a run may take if it asks for no other time"),
	ROW("timeout_max", timeout_max_ms, SETTING_MS, 10, 86400000, 120000,
	    "the longest a run may ask for"),
	ROW("background", background_ms, SETTING_MS, 0, 86400000, 60000,
	    "how long background processes go on while nothing is asked of their session"),
	ROW_TEXT("runtime", runtime, SETTING_TEXT, POLICY_NAME_MAX, "auto",
		 "runtime of every run; auto takes the smallest that preloads the imports"),
	ROW_TEXT("backend", backend, SETTING_TEXT, POLICY_NAME_MAX, "auto",
		 "backend of every run; if one is named and does not work, runs are refused"),
	ROW_TEXT("data", data, SETTING_PATH, 0, "",
		 "directory of the host to show read-only as /data"),
	ROW("guard.enabled", guard_enabled, SETTING_BOOL, 0, 1, 0,
	    "check the imports before a run; advice to agents, not a wall"),
	ROW_TEXT("guard.block", guard_block, SETTING_LIST, LISTED_MAX, "",
		 "more top-level modules to block"),
	ROW_TEXT("guard.allow", guard_allow, SETTING_LIST, LISTED_MAX, "",
		 "top-level modules not to block"),
	ROW("guard.strict", guard_strict, SETTING_BOOL, 0, 1, 0,
	    "judge calls by their name alone, with false alarms: re.compile() counts as "
	    "compile()"),
	ROW_TEXT("network", network, SETTING_TEXT, 256, "none", "none: a sandbox reaches nothing"),
	ROW("approve", approve, SETTING_BOOL, 0, 1, 0,
	    "a person must allow each run: it is held until then"),
	ROW("approve_ms", approve_ms, SETTING_COUNT, 100, 86400000, 600000,
	    "a held run that nobody allowed within this time is denied"),
	ROW("audit_code", audit_code, SETTING_BOOL, 0, 1, 0,
	    "the audit log also holds the code itself"),
	{.key = "limits",
	 .type = SETTING_CHOICE,
	 .offset = offsetof(struct policy, limits),
	 .high = LIMITS_MEASURED,
	 .initial = LIMITS_MEASURED,
	 .words = "cgroup|measured",
	 .help = "on a host without a cgroup: cgroup refuses to run, measured samples memory "
		 "instead"},
	ROW_TEXT("trust", trust, SETTING_TEXT, 64, "",
		 "zygotes are never shared across trust names; default: one per token"),
	ROW("swap", swap, SETTING_BYTES, 0, 0, 0, "swap of the sandbox"),
};
const size_t policy_row_count = ARRAY_LEN(policy_rows);
_Static_assert(ARRAY_LEN(policy_rows) <= 64, "a row has no bit in own_keys");

/* The keys that a built-in sets differently from the defaults, as text that the rows check. */
static const struct {
	const char *name;
	const char *keys[KEYS_MAX][2];
} built_ins[] = {
	{"default", {{NULL}}},
	{"analysis", {{"guard.enabled", "true"}}},
	{"ephemeral", {{"timeout_max", "60s"}}},
	{"workspace",
	 {{"memory", "1GiB"}, {"timeout", "60s"}, {"timeout_max", "60s"}, {"background", "10m"}}},
	{"conversation", {{"timeout", "60s"}, {"timeout_max", "60s"}}},
	{HEAVY,
	 {{"memory", "8GiB"},
	  {"cpus", "4"},
	  {"pids", "256"},
	  {"disk", "2GiB"},
	  {"timeout", "5m"},
	  {"timeout_max", "30m"}}},
};

void policy_init(struct policy *policy, const char *name)
{
	*policy = (struct policy){0};
	text_set(&policy->name, name);
	settings_init(policy_rows, policy_row_count, policy);
}

void policy_done(struct policy *policy)
{
	if (policy == NULL)
		return;
	settings_done(policy_rows, policy_row_count, policy);
	free(policy->name);
	policy->name = NULL;
}

static uint64_t round_down(uint64_t bytes)
{
	return bytes / (64 * MIB) * (64 * MIB);
}

/* Policies for large work get at most three quarters of this host's memory: the rest must stay for
 * everyone else. */
static void suit_host(struct policy *policy)
{
	uint64_t most = round_down(host_memory() / 4 * 3);

	if (most < 512 * MIB)
		most = 512 * MIB;
	if (policy->memory > most)
		policy->memory = most;
	if (policy->disk > policy->memory / 2)
		policy->disk = policy->memory / 2;
}

bool policy_warning(const struct policy *policy, char *ret_text, size_t size)
{
	uint64_t all = host_memory();
	char asked[32];
	char there[32];

	if (policy->memory <= all)
		return false;
	number_format(NUMBER_BYTES, policy->memory, asked, sizeof(asked));
	number_format(NUMBER_BYTES, all / MIB * MIB, there, sizeof(there));
	(void)snprintf(ret_text, size, "promises %s of memory, and this host has %s", asked, there);
	return true;
}

struct policy *policy_built_ins(size_t *ret_count)
{
	struct policy *policies = xcalloc(ARRAY_LEN(built_ins), sizeof(*policies));

	for (size_t i = 0; i < ARRAY_LEN(built_ins); i++) {
		policy_init(&policies[i], built_ins[i].name);
		policies[i].is_built_in = true;
		for (size_t k = 0; k < KEYS_MAX && built_ins[i].keys[k][0] != NULL; k++) {
			const struct setting *row = setting_find(policy_rows, policy_row_count,
								 built_ins[i].keys[k][0]);
			struct err err = {0};
			int r = setting_parse(row, &policies[i], built_ins[i].keys[k][1], &err);

			/* A bug in the table above; the unit test loads every row. */
			if (r < 0)
				abort();
			policies[i].own_keys |= 1ULL << (row - policy_rows);
		}
		if (strcmp(policies[i].name, HEAVY) == 0)
			suit_host(&policies[i]);
	}
	*ret_count = ARRAY_LEN(built_ins);
	return policies;
}

const struct policy *policy_find(const struct policy *policies, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(policies[i].name, name) == 0)
			return &policies[i];
	}
	return NULL;
}

bool name_is_valid(const char *name)
{
	size_t size =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");

	return size > 0 && size <= POLICY_NAME_MAX && name[size] == '\0' &&
	       strchr("-_.", name[0]) == NULL;
}

/* The fields of a request: the user's name for each, where it is stored, and what bounds it. */
static const struct ask_row {
	const char *field; /* also the key of the row with its range */
	const char *label;
	size_t ask_offset;
	size_t most_offset; /* in struct policy */
} ask_rows[] = {
#define ASK(field_, label_, ask_, most_)                                                           \
	{                                                                                          \
		.field = (field_), .label = (label_),                                              \
		.ask_offset = offsetof(struct policy_ask, ask_),                                   \
		.most_offset = offsetof(struct policy, most_)                                      \
	}
	ASK("memory", "limits.memory", memory, memory),
	ASK("cpus", "limits.cpus", cpus_milli, cpus_milli),
	ASK("pids", "limits.pids", pids, pids),
	ASK("disk", "limits.disk", disk, disk),
	ASK("output", "limits.output", output, output),
	ASK("timeout", "timeout_ms", timeout_ms, timeout_max_ms),
};

static uint64_t number_at(const void *object, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)object + offset);
}

int policy_ask_set(struct policy_ask *ask, const char *field, const char *text, const char *label,
		   struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(ask_rows); i++) {
		struct setting row;

		if (strcmp(ask_rows[i].field, field) != 0)
			continue;
		row = *setting_find(policy_rows, policy_row_count, field);
		row.key = label;
		row.offset = ask_rows[i].ask_offset;
		return setting_parse(&row, ask, text, err);
	}
	return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s: a request cannot set %s", label, field);
}

/* Is the requested value inside the row's range and not above the policy's? */
static int check_ask(const struct policy *policy, const struct ask_row *row, uint64_t asked,
		     struct err *err)
{
	const struct setting *setting = setting_find(policy_rows, policy_row_count, row->field);
	uint64_t most = number_at(policy, row->most_offset);
	enum number_type type = (enum number_type)setting->type;
	char asked_text[32], bound_text[32];

	number_format(type, asked, asked_text, sizeof(asked_text));
	if (asked > most) {
		number_format(type, most, bound_text, sizeof(bound_text));
		return err_field(err, ERR_BAD_REQUEST, EINVAL, row->label,
				 "%s is above the policy's %s", asked_text, bound_text);
	}
	if (asked < setting->low) {
		number_format(type, setting->low, bound_text, sizeof(bound_text));
		return err_field(err, ERR_BAD_REQUEST, EINVAL, row->label,
				 "%s is below the least, %s", asked_text, bound_text);
	}
	return 0;
}

static uint64_t asked_or(uint64_t asked, uint64_t otherwise)
{
	return asked > 0 ? asked : otherwise;
}

int policy_narrow(const struct policy *policy, const struct policy_ask *ask,
		  struct policy_grant *ret_grant, struct err *err)
{
	static const struct policy_ask nothing;
	struct policy_grant grant;
	int r;

	if (ask == NULL)
		ask = &nothing;
	for (size_t i = 0; i < ARRAY_LEN(ask_rows); i++) {
		uint64_t asked = number_at(ask, ask_rows[i].ask_offset);

		r = asked > 0 ? check_ask(policy, &ask_rows[i], asked, err) : 0;
		if (r < 0)
			return r;
	}

	grant = (struct policy_grant){
		.plan = {.version = PLAN_VERSION,
			 .limits = (uint32_t)policy->limits,
			 .memory = asked_or(ask->memory, policy->memory),
			 .disk = asked_or(ask->disk, policy->disk),
			 .pids = (uint32_t)asked_or(ask->pids, policy->pids),
			 .cpus_milli = (uint32_t)asked_or(ask->cpus_milli, policy->cpus_milli),
			 .files = (uint32_t)policy->files,
			 .io = policy->io},
		.output = asked_or(ask->output, policy->output),
		.timeout_ms = (uint32_t)asked_or(ask->timeout_ms, policy->timeout_ms),
	};
	r = plan_check(&grant.plan, err);
	if (r < 0)
		return r;

	*ret_grant = grant;
	return 0;
}

static bool is_top_level_module(const char *name)
{
	size_t size =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return size > 0 && name[size] == '\0' && !(name[0] >= '0' && name[0] <= '9');
}

static int check_modules(const struct text_list *list, const char *key, struct err *err)
{
	for (size_t i = 0; i < list->count; i++) {
		if (!is_top_level_module(list->items[i]))
			return err_set(
				err, ERR_BAD_REQUEST, EINVAL,
				"%s: %.80s is not the name of a top-level module (\"google\", "
				"not \"google.cloud\")",
				key, list->items[i]);
	}
	return 0;
}

/* With these modules an import check means nothing, so no config may allow them. */
static int check_critical(const struct text_list *allow, struct err *err)
{
	static const char *const critical[] = {"os", "subprocess", "sys", "shutil"};
	char found[64] = "";

	for (size_t i = 0; i < ARRAY_LEN(critical); i++) {
		if (!text_list_has(allow, critical[i]))
			continue;
		if (found[0] != '\0')
			(void)strncat(found, ", ", sizeof(found) - strlen(found) - 1);
		(void)strncat(found, critical[i], sizeof(found) - strlen(found) - 1);
	}
	if (found[0] == '\0')
		return 0;
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "Cannot unblock critical Python modules: %s. Take them out of guard.allow: "
		       "os, subprocess, sys and shutil always stay blocked.",
		       found);
}

static int check_guard(const struct policy *policy, const char **ret_key, struct err *err)
{
	int r;

	*ret_key = "guard.block";
	r = check_modules(&policy->guard_block, "guard.block", err);
	if (r < 0)
		return r;
	*ret_key = "guard.allow";
	r = check_modules(&policy->guard_allow, "guard.allow", err);
	if (r < 0)
		return r;
	return check_critical(&policy->guard_allow, err);
}

int policy_check(const struct policy *policy, const char **ret_key, struct err *err)
{
	char timeout[32], most[32];
	int r;

	*ret_key = "network";
	if (strcmp(policy->network, "none") != 0)
		return err_set(err, ERR_UNSUPPORTED, EINVAL,
			       "network: %.80s is not supported; allowed: none, a sandbox reaches "
			       "nothing",
			       policy->network);
	*ret_key = "runtime";
	if (!name_is_valid(policy->runtime))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "runtime: %.80s is not a name; allowed: auto or a runtime's name",
			       policy->runtime);
	*ret_key = "backend";
	if (strcmp(policy->backend, "auto") != 0 && !config_is_backend(policy->backend))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "backend: there is no backend %.80s; allowed: "
			       "auto, " BACKEND_NAMES_TEXT,
			       policy->backend);
	*ret_key = "data";
	if (policy->data[0] != '\0' && path_is_too_wide(policy->data))
		return err_set(
			err, ERR_BAD_REQUEST, EINVAL,
			"data: %.200s would show too much of the host; name a directory that "
			"holds the data only",
			policy->data);
	*ret_key = "io";
	if (policy->io > 0 && policy->io < PLAN_IO_MIN)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "io: %llu is too slow; allowed: 0 (no limit), or 1MiB and more",
			       (unsigned long long)policy->io);
	*ret_key = "timeout";
	if (policy->timeout_ms > policy->timeout_max_ms) {
		number_format(NUMBER_MS, policy->timeout_ms, timeout, sizeof(timeout));
		number_format(NUMBER_MS, policy->timeout_max_ms, most, sizeof(most));
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "timeout: %s is above the policy's timeout_max of %s", timeout,
			       most);
	}

	r = check_guard(policy, ret_key, err);
	return r;
}

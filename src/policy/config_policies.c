// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "policy/config_parts.h"

/* Progress of a policy of the file in resolving its base. */
enum progress {
	NOT_YET,
	UNDER_WAY,
	RESOLVED,
};

struct resolve {
	struct config *config;
	const struct document *document;
	/* By entry of the file: */
	enum progress progress[CONFIG_POLICIES_MAX];
	size_t index[CONFIG_POLICIES_MAX]; /* of the policy in the config */
};

/* The policy of this name, made if it does not exist yet. */
static size_t want_policy(struct config *config, const char *name)
{
	struct policy *policies;
	size_t i = 0;

	while (i < config->policy_count && strcmp(config->policies[i].name, name) != 0)
		i++;
	if (i < config->policy_count)
		return i;

	policies = reallocarray(config->policies, i + 1, sizeof(*policies));
	if (policies == NULL)
		abort();
	config->policies = policies;
	policy_init(&policies[config->policy_count++], name);
	return i;
}

/* Adds every name first, so that a policy may inherit from a later one. */
static int add_names(struct resolve *resolve, struct err *err)
{
	for (size_t i = 0; i < document_count(resolve->document, CONFIG_POLICIES); i++) {
		const char *name = document_name(resolve->document, CONFIG_POLICIES, i);

		if (!name_is_valid(name)) {
			(void)err_set(err, ERR_BAD_REQUEST, EINVAL,
				      "%.80s cannot name a policy; " NAME_RULE, name);
			return document_blame(resolve->document, CONFIG_POLICIES, i, NULL, err);
		}
		resolve->index[i] = want_policy(resolve->config, name);
	}
	return 0;
}

/* The entry of the file with this name, or -1. */
static ptrdiff_t find_entry(const struct document *document, const char *name)
{
	for (size_t i = 0; i < document_count(document, CONFIG_POLICIES); i++) {
		if (strcmp(document_name(document, CONFIG_POLICIES, i), name) == 0)
			return (ptrdiff_t)i;
	}
	return -1;
}

/* The policy whose keys this one starts from: the one it names, itself (a built-in), or default. */
static const char *base_of(const struct document *document, size_t entry,
			   const struct policy *policy)
{
	const char *base = document_text(document, CONFIG_POLICIES, entry, "base");

	if (base != NULL && base[0] != '\0')
		return base;
	return policy->is_built_in ? policy->name : "default";
}

static int check_policy(const struct config *config, const struct policy *policy,
			const char **ret_key, struct err *err)
{
	int r = policy_check(policy, ret_key, err);

	if (r < 0)
		return r;
	*ret_key = "runtime";
	if (strcmp(policy->runtime, "auto") != 0 &&
	    config_runtime(config, policy->runtime, err) == NULL)
		return -err->num;
	return 0;
}

/* Fills a policy from its base (which is resolved) and its own keys. */
static int fill_policy(const struct resolve *resolve, size_t entry, struct policy *policy,
		       const struct policy *base, struct err *err)
{
	const struct document *document = resolve->document;
	const char *key = NULL;
	int r;

	if (base != policy)
		settings_copy(policy_rows, policy_row_count, policy, base);
	r = document_apply(document, CONFIG_POLICIES, entry, policy, err);
	if (r < 0)
		return r;
	if (base != policy)
		text_set(&policy->base, base->name);
	for (size_t i = 0; i < policy_row_count; i++) {
		if (document_has(document, CONFIG_POLICIES, entry, policy_rows[i].key))
			policy->file_keys |= 1ULL << i;
	}

	/* A lower maximum lowers a default inherited from the base; a default given here above it
	 * is an error in the file. */
	if (policy->timeout_ms > policy->timeout_max_ms &&
	    !document_has(document, CONFIG_POLICIES, entry, "timeout"))
		policy->timeout_ms = policy->timeout_max_ms;

	if (check_policy(resolve->config, policy, &key, err) < 0)
		return document_blame(document, CONFIG_POLICIES, entry, key, err);
	return 0;
}

void config_policy_from(const struct config *config, const struct policy *policy, size_t row,
			char *ret_text, size_t size)
{
	const struct policy *at = policy;
	struct err err = {0};

	/* Cycles are refused when the file is read; the count only guards against a bug there. */
	for (size_t i = 0; at != NULL && i <= config->policy_count; i++) {
		if (at->file_keys & (1ULL << row)) {
			(void)snprintf(ret_text, size, "the config%s%s",
				       at == policy ? "" : ", by ", at == policy ? "" : at->name);
			return;
		}
		if (at->base[0] == '\0') {
			bool is_own = (at->own_keys & (1ULL << row)) != 0;

			(void)snprintf(ret_text, size, "%s%s", is_own ? "built-in " : "default",
				       is_own ? at->name : "");
			return;
		}
		at = config_policy(config, at->base, &err);
	}
	(void)snprintf(ret_text, size, "default");
}

static int refuse_circle(const struct resolve *resolve, size_t entry, struct err *err)
{
	(void)err_set(err, ERR_BAD_REQUEST, EINVAL, "base: %.80s inherits from itself",
		      document_name(resolve->document, CONFIG_POLICIES, entry));
	return document_blame(resolve->document, CONFIG_POLICIES, entry, "base", err);
}

/* Resolves first the base, then the policy itself. The depth is at most the number of policies:
 * meeting one again means a cycle. */
static int resolve_entry(struct resolve *resolve, size_t entry, struct err *err)
{
	struct policy *policy = &resolve->config->policies[resolve->index[entry]];
	const char *name = base_of(resolve->document, entry, policy);
	const struct policy *base = config_base(resolve->config, name, policy->name, err);
	ptrdiff_t base_entry = find_entry(resolve->document, name);
	int r = 0;

	if (resolve->progress[entry] == RESOLVED)
		return 0;
	if (base == NULL)
		return document_blame(resolve->document, CONFIG_POLICIES, entry, "base", err);
	if (resolve->progress[entry] == UNDER_WAY || (base == policy && !policy->is_built_in))
		return refuse_circle(resolve, entry, err);

	resolve->progress[entry] = UNDER_WAY;
	if (base != policy && base_entry >= 0)
		r = resolve_entry(resolve, (size_t)base_entry, err);
	if (r == 0)
		r = fill_policy(resolve, entry, policy, base, err);
	if (r < 0)
		return r;
	resolve->progress[entry] = RESOLVED;
	return 0;
}

struct policy *config_built_in(struct config *config, const char *name)
{
	return &config->policies[want_policy(config, name)];
}

int config_take_policies(struct config *config, const struct document *document, struct err *err)
{
	struct resolve resolve = {.config = config, .document = document};
	int r;

	for (size_t i = 0; config_parts[i] != NULL; i++) {
		if (config_parts[i]->suit != NULL)
			config_parts[i]->suit(config->parts[i], config);
	}
	r = add_names(&resolve, err);
	for (size_t i = 0; r == 0 && i < document_count(document, CONFIG_POLICIES); i++)
		r = resolve_entry(&resolve, i, err);
	return r;
}

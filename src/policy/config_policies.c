// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "policy/config_parts.h"

/* Where a policy of the file stands with what it inherits. */
enum progress {
	NOT_YET,
	UNDER_WAY,
	RESOLVED,
};

struct resolve {
	struct config *config;
	const struct document *document;
	enum progress progress[CONFIG_POLICIES_MAX]; /* by entry of the file */
};

static struct policy *find_policy(struct config *config, const char *name)
{
	for (size_t i = 0; i < config->policy_count; i++) {
		if (strcmp(config->policies[i].name, name) == 0)
			return &config->policies[i];
	}
	return NULL;
}

/* Every name first, so that a policy may inherit from one further down. */
static int add_names(struct config *config, const struct document *document, struct err *err)
{
	for (size_t i = 0; i < document_count(document, CONFIG_POLICIES); i++) {
		const char *name = document_name(document, CONFIG_POLICIES, i);
		struct policy *policies;

		if (!name_is_valid(name)) {
			(void)err_set(err, ERR_BAD_REQUEST, EINVAL,
				      "%.80s cannot name a policy; " NAME_RULE, name);
			return document_blame(document, CONFIG_POLICIES, i, NULL, err);
		}
		if (find_policy(config, name) != NULL)
			continue;

		policies =
			reallocarray(config->policies, config->policy_count + 1, sizeof(*policies));
		if (policies == NULL)
			abort();
		config->policies = policies;
		policy_init(&policies[config->policy_count++], name);
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

/* The policy whose keys this one starts from: what it names, itself for a built-in, else default.
 */
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
	if (base != policy) {
		free(policy->base);
		policy->base = strdup(base->name);
		if (policy->base == NULL)
			abort();
	}

	/* A lower maximum lowers the default that came from the base; a default given here with it
	 * is the file's mistake. */
	if (policy->timeout_ms > policy->timeout_max_ms &&
	    !document_has(document, CONFIG_POLICIES, entry, "timeout"))
		policy->timeout_ms = policy->timeout_max_ms;

	if (check_policy(resolve->config, policy, &key, err) < 0)
		return document_blame(document, CONFIG_POLICIES, entry, key, err);
	return 0;
}

/*
 * Walks up the bases of an entry until one is resolved, then fills on the way back. At most as deep
 * as there are policies: an entry that is met again under way is a circle.
 */
static int resolve_entry(struct resolve *resolve, size_t first, struct err *err)
{
	size_t chain[CONFIG_POLICIES_MAX];
	size_t depth = 0;
	ptrdiff_t entry = (ptrdiff_t)first;

	while (entry >= 0 && resolve->progress[entry] == NOT_YET) {
		const char *name = document_name(resolve->document, CONFIG_POLICIES, (size_t)entry);
		struct policy *policy = find_policy(resolve->config, name);
		const char *base = base_of(resolve->document, (size_t)entry, policy);

		if (config_policy(resolve->config, base, err) == NULL)
			return document_blame(resolve->document, CONFIG_POLICIES, (size_t)entry,
					      "base", err);
		resolve->progress[entry] = UNDER_WAY;
		chain[depth++] = (size_t)entry;
		if (base == policy->name)
			break; /* a built-in that changes keys of itself */
		entry = find_entry(resolve->document, base);
		if (entry >= 0 && resolve->progress[entry] == UNDER_WAY) {
			(void)err_set(err, ERR_BAD_REQUEST, EINVAL,
				      "base: %.80s inherits from itself", base);
			return document_blame(resolve->document, CONFIG_POLICIES, (size_t)entry,
					      "base", err);
		}
	}

	while (depth > 0) {
		size_t i = chain[--depth];
		const char *name = document_name(resolve->document, CONFIG_POLICIES, i);
		struct policy *policy = find_policy(resolve->config, name);
		const struct policy *base =
			find_policy(resolve->config, base_of(resolve->document, i, policy));
		int r = fill_policy(resolve, i, policy, base, err);

		if (r < 0)
			return r;
		resolve->progress[i] = RESOLVED;
	}
	return 0;
}

int config_take_policies(struct config *config, const struct document *document, struct err *err)
{
	struct resolve resolve = {.config = config, .document = document};
	int r = add_names(config, document, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < document_count(document, CONFIG_POLICIES); i++) {
		r = resolve_entry(&resolve, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

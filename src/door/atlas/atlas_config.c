// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "door/atlas/atlas.h"
#include "policy/config_parts.h"

#define LIST_SIZE_MAX 400U

static const struct setting rows[] = {
	CONFIG_DIALECT(struct atlas_config, "atlas"),
	SETTING_STRING(struct atlas_config, "dialects.atlas.semantic_dir", semantic_dir,
		       SETTING_PATH, 0, "", "folder of the explore tool"),
	SETTING_STRING(struct atlas_config, "dialects.atlas.policy", policy, SETTING_TEXT,
		       POLICY_NAME_MAX, "analysis", "policy of its Python runs"),
	SETTING_NUMBER(struct atlas_config, "dialects.atlas.data_max", data_max, SETTING_BYTES, KIB,
		       4 * GIB, 64 * MIB, "bytes of data in a request"),
};

/* Atlas's names of backends. */
static const struct {
	const char *theirs, *ours;
} atlas_names[] = {
	{"vercel-sandbox", "microvm"},
	{"nsjail", "namespace"},
	{"sidecar", "remote"},
	{"just-bash", "process"},
};

static const char *name_of(const char *backend)
{
	for (size_t i = 0; i < ARRAY_LEN(atlas_names); i++) {
		if (strcmp(atlas_names[i].ours, backend) == 0)
			return atlas_names[i].theirs;
	}
	return NULL;
}

/* Atlas's name for a backend, or our own, as our name. NULL: there is no such backend. */
static const char *translate(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(atlas_names); i++) {
		if (strcmp(atlas_names[i].theirs, name) == 0)
			return atlas_names[i].ours;
	}
	return config_is_backend(name) ? name : NULL;
}

/* If two settings disagree, nobody knows which is meant, so neither is obeyed. */
static int contradict(const char *variable, const char *key, const struct config *config,
		      struct err *err)
{
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "%s and %s of %.200s disagree; remove one of them", variable, key,
		       config->file);
}

static int take_pin(struct config *config, struct err *err)
{
	const char *value = getenv("ATLAS_SANDBOX");
	const char *name;

	if (value == NULL || value[0] == '\0')
		return 0;
	name = translate(value);
	if (name == NULL)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "ATLAS_SANDBOX: %.80s is not a backend; allowed: nsjail, sidecar, "
			       "vercel-sandbox or just-bash",
			       value);
	if (strcmp(config->backend_pin, "auto") != 0 && strcmp(config->backend_pin, name) != 0)
		return contradict("ATLAS_SANDBOX", "backends.pin", config, err);
	text_set(&config->backend_pin, name);
	config->sidecar.has_pin = true;
	return 0;
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return text + strspn(text, " \t");
}

static int split_priority(const char *value, struct text_list *list, struct err *err)
{
	char copy[LIST_SIZE_MAX];
	char *rest = copy;

	if (strlen(value) >= sizeof(copy))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "ATLAS_SANDBOX_PRIORITY: is longer than %u characters",
			       LIST_SIZE_MAX);
	(void)snprintf(copy, sizeof(copy), "%s", value);
	while (rest != NULL) {
		char *item = trim(strsep(&rest, ","));
		const char *name = translate(item);

		if (name == NULL)
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "ATLAS_SANDBOX_PRIORITY: %.80s is not a backend; allowed: a "
				       "comma list of vercel-sandbox, nsjail, sidecar, just-bash",
				       item[0] != '\0' ? item : "(nothing)");
		if (text_list_has(list, name))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "ATLAS_SANDBOX_PRIORITY: %.80s is listed twice", item);
		text_list_add(list, name);
	}
	return 0;
}

static bool is_same(const struct text_list *a, const struct text_list *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	}
	return a->count == b->count;
}

static int take_priority(struct config *config, struct err *err)
{
	const char *value = getenv("ATLAS_SANDBOX_PRIORITY");
	struct text_list list = {0};
	int r;

	if (value == NULL)
		return 0;
	r = split_priority(value, &list, err);
	if (r == 0 && config->backend_priority.count > 0 &&
	    !is_same(&config->backend_priority, &list))
		r = contradict("ATLAS_SANDBOX_PRIORITY", "backends.priority", config, err);
	if (r < 0) {
		text_list_done(&list);
		return r;
	}
	text_list_done(&config->backend_priority);
	config->backend_priority = list;
	config->sidecar.has_priority = true;
	return 0;
}

/* SIDECAR_AUTH_TOKEN is sent only to ATLAS_SANDBOX_URL, never to an address from the config
 * file. */
static int take_url(struct config *config, struct err *err)
{
	const char *url = getenv("ATLAS_SANDBOX_URL");
	const char *token = getenv("SIDECAR_AUTH_TOKEN");

	if (url == NULL || url[0] == '\0')
		return 0;
	if (strlen(url) > 400 || !config_is_address(url))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "Invalid ATLAS_SANDBOX_URL: %.80s is not an address; allowed: "
			       "http://HOST... or https://HOST..., without a name or password",
			       url);
	if (config->remote_url[0] != '\0' && strcmp(config->remote_url, url) != 0)
		return contradict("ATLAS_SANDBOX_URL", "backends.remote.url", config, err);
	if (config->remote_url[0] == '\0' && token != NULL) {
		if (strlen(token) > 400 || !config_is_secret(token))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "SIDECAR_AUTH_TOKEN: must be at most 400 printable ASCII "
				       "characters, without blanks");
		text_set(&config->remote_token, token);
	}
	text_set(&config->remote_url, url);
	config->sidecar.has_url = true;
	return 0;
}

static int take_environment(struct config *config, struct err *err)
{
	int r = take_pin(config, err);

	if (r == 0)
		r = take_priority(config, err);
	if (r == 0)
		r = config_check_pin(config, err);
	if (r == 0)
		r = take_url(config, err);
	return r;
}

const struct config_part atlas_config = {
	CONFIG_PART(struct atlas_config, rows),
	.take_environment = take_environment,
};

const struct config_sidecar_words atlas_words = {
	.remote = "atlas",
	.orders = {"atlas-documented", "atlas-planner"},
	.pin = "ATLAS_SANDBOX",
	.priority = "ATLAS_SANDBOX_PRIORITY",
	.list = "sandbox.priority",
	.none = "Python execution requires a sandbox (ATLAS_SANDBOX_URL or nsjail). See deployment "
		"docs.",
	.backend = name_of,
};

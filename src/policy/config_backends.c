// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "policy/backend_names.h"
#include "policy/config_parts.h"

#define LIST_SIZE_MAX 400U

#define NAME(name) #name,
const char *const config_backends[] = {BACKEND_NAMES(NAME) NULL};

/* Atlas's words for what we have under another name. */
static const struct {
	const char *theirs, *ours;
} atlas_names[] = {
	{"vercel-sandbox", "microvm"},
	{"nsjail", "namespace"},
	{"sidecar", "remote"},
	{"just-bash", "process"},
};

const char *config_atlas_name(const char *backend)
{
	for (size_t i = 0; i < ARRAY_LEN(atlas_names); i++) {
		if (strcmp(atlas_names[i].ours, backend) == 0)
			return atlas_names[i].theirs;
	}
	return NULL;
}

static bool is_backend(const char *name)
{
	for (size_t i = 0; config_backends[i] != NULL; i++) {
		if (strcmp(config_backends[i], name) == 0)
			return true;
	}
	return false;
}

static bool is_address(const char *url)
{
	size_t scheme = strncmp(url, "http://", 7) == 0    ? 7
			: strncmp(url, "https://", 8) == 0 ? 8
							   : 0;

	if (scheme == 0 || url[scheme] == '\0' || url[scheme] == '/')
		return false;
	/* A name and password would end up in messages; the token has a key of its own. */
	for (const char *p = url + scheme; *p != '\0'; p++) {
		if (*p <= ' ' || *p > '~' || strchr("@?#\\\"<>", *p) != NULL)
			return false;
	}
	return true;
}

/* It becomes part of a header: no line ends. */
static bool is_token(const char *token)
{
	for (; *token != '\0'; token++) {
		if (*token <= ' ' || *token > '~')
			return false;
	}
	return true;
}

static int check_priority(const struct text_list *list, struct err *err)
{
	for (size_t i = 0; i < list->count; i++) {
		if (!is_backend(list->items[i]))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "backends.priority: there is no backend %.80s; "
				       "allowed: " BACKEND_NAMES_TEXT,
				       list->items[i]);
		for (size_t j = 0; j < i; j++) {
			if (strcmp(list->items[i], list->items[j]) == 0)
				return err_set(err, ERR_BAD_REQUEST, EINVAL,
					       "backends.priority: %s is there twice",
					       list->items[i]);
		}
	}
	return 0;
}

/* A pin that the list leaves out would refuse every run: that is said at the start. */
static int check_pin(const struct config *config, struct err *err)
{
	const struct text_list *list = &config->backend_priority;

	if (strcmp(config->backend_pin, "auto") == 0 || list->count == 0)
		return 0;
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], config->backend_pin) == 0)
			return 0;
	}
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "%s: %s is not in %s, so nothing could run; drop one of them",
		       config->atlas.has_pin ? "ATLAS_SANDBOX" : "backends.pin",
		       config->backend_pin,
		       config->atlas.has_priority ? "ATLAS_SANDBOX_PRIORITY" : "backends.priority");
}

int config_check_backends(const struct config *config, const char **ret_key, struct err *err)
{
	int r;

	*ret_key = "backends.priority";
	r = check_priority(&config->backend_priority, err);
	if (r < 0)
		return r;
	*ret_key = "backends.pin";
	if (strcmp(config->backend_pin, "auto") != 0 && !is_backend(config->backend_pin))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "backends.pin: there is no backend %.80s; allowed: "
			       "auto, " BACKEND_NAMES_TEXT,
			       config->backend_pin);
	r = check_pin(config, err);
	if (r < 0)
		return r;
	*ret_key = "backends.remote.url";
	if (config->remote_url[0] != '\0' && !is_address(config->remote_url))
		return err_set(
			err, ERR_BAD_REQUEST, EINVAL,
			"backends.remote.url: %.80s is no address; allowed: http://HOST... or "
			"https://HOST..., without a name or password",
			config->remote_url);
	*ret_key = "backends.remote.token";
	if (!is_token(config->remote_token))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "backends.remote.token: allowed are letters, digits and signs of "
			       "ASCII, without blanks");
	*ret_key = "backends.remote.policy";
	if (config->remote_policy[0] != '\0' && !name_is_valid(config->remote_policy))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "backends.remote.policy: %.80s is no name", config->remote_policy);
	return 0;
}

/* ---- Atlas's variables ---- */

/* Our name for theirs; ours stand for themselves. NULL: there is no such thing. */
static const char *translate(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(atlas_names); i++) {
		if (strcmp(atlas_names[i].theirs, name) == 0)
			return atlas_names[i].ours;
	}
	return is_backend(name) ? name : NULL;
}

/* Two that say different things: which one is meant nobody knows, so neither is obeyed. */
static int contradict(const char *variable, const char *key, const struct config *config,
		      struct err *err)
{
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "%s and %s of %.200s say different things; drop one of them", variable, key,
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
			       "ATLAS_SANDBOX: %.80s is no backend; allowed: nsjail, sidecar, "
			       "vercel-sandbox or just-bash",
			       value);
	if (strcmp(config->backend_pin, "auto") != 0 && strcmp(config->backend_pin, name) != 0)
		return contradict("ATLAS_SANDBOX", "backends.pin", config, err);
	text_set(&config->backend_pin, name);
	config->atlas.has_pin = true;
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
			       "ATLAS_SANDBOX_PRIORITY: it is longer than %u characters",
			       LIST_SIZE_MAX);
	(void)snprintf(copy, sizeof(copy), "%s", value);
	while (rest != NULL) {
		char *item = trim(strsep(&rest, ","));
		const char *name = translate(item);

		if (name == NULL)
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "ATLAS_SANDBOX_PRIORITY: %.80s is no backend; allowed: a "
				       "comma list of vercel-sandbox, nsjail, sidecar, just-bash",
				       item[0] != '\0' ? item : "(nothing)");
		if (text_list_has(list, name))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "ATLAS_SANDBOX_PRIORITY: %.80s is there twice", item);
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
	config->atlas.has_priority = true;
	return 0;
}

/* Their token goes to their address, never to one that the file names. */
static int take_url(struct config *config, struct err *err)
{
	const char *url = getenv("ATLAS_SANDBOX_URL");
	const char *token = getenv("SIDECAR_AUTH_TOKEN");

	if (url == NULL || url[0] == '\0')
		return 0;
	if (strlen(url) > 400 || !is_address(url))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "Invalid ATLAS_SANDBOX_URL: %.80s is no address; allowed: "
			       "http://HOST... or https://HOST..., without a name or password",
			       url);
	if (config->remote_url[0] != '\0' && strcmp(config->remote_url, url) != 0)
		return contradict("ATLAS_SANDBOX_URL", "backends.remote.url", config, err);
	if (config->remote_url[0] == '\0' && token != NULL) {
		if (strlen(token) > 400 || !is_token(token))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "SIDECAR_AUTH_TOKEN: allowed are up to 400 letters, digits "
				       "and signs of ASCII, without blanks");
		text_set(&config->remote_token, token);
	}
	text_set(&config->remote_url, url);
	config->atlas.has_url = true;
	return 0;
}

int config_take_environment(struct config *config, struct err *err)
{
	int r = take_pin(config, err);

	if (r == 0)
		r = take_priority(config, err);
	if (r == 0)
		r = check_pin(config, err);
	if (r == 0)
		r = take_url(config, err);
	return r;
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "policy/backend_names.h"
#include "policy/config_parts.h"

#define NAME(name) #name,
const char *const config_backends[] = {BACKEND_NAMES(NAME) NULL};

bool config_is_backend(const char *name)
{
	for (size_t i = 0; config_backends[i] != NULL; i++) {
		if (strcmp(config_backends[i], name) == 0)
			return true;
	}
	return false;
}

bool config_is_address(const char *url)
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

/* The token becomes part of a header: it must not contain line ends. */
bool config_is_secret(const char *token)
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
		if (!config_is_backend(list->items[i]))
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

/* A pin that is not in the list would refuse every run: reported at the start. */
int config_check_pin(const struct config *config, struct err *err)
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
		       config->sidecar.has_pin ? config_sidecar_words->pin : "backends.pin",
		       config->backend_pin,
		       config->sidecar.has_priority ? config_sidecar_words->priority
						    : "backends.priority");
}

int config_check_backends(const struct config *config, const char **ret_key, struct err *err)
{
	int r;

	*ret_key = "backends.priority";
	r = check_priority(&config->backend_priority, err);
	if (r < 0)
		return r;
	*ret_key = "backends.pin";
	if (strcmp(config->backend_pin, "auto") != 0 && !config_is_backend(config->backend_pin))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "backends.pin: there is no backend %.80s; allowed: "
			       "auto, " BACKEND_NAMES_TEXT,
			       config->backend_pin);
	r = config_check_pin(config, err);
	if (r < 0)
		return r;
	*ret_key = "backends.remote.url";
	if (config->remote_url[0] != '\0' && !config_is_address(config->remote_url))
		return err_set(
			err, ERR_BAD_REQUEST, EINVAL,
			"backends.remote.url: %.80s is no address; allowed: http://HOST... or "
			"https://HOST..., without a name or password",
			config->remote_url);
	*ret_key = "backends.remote.token";
	if (!config_is_secret(config->remote_token))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "backends.remote.token: allowed are letters, digits and signs of "
			       "ASCII, without blanks");
	*ret_key = "backends.remote.policy";
	if (config->remote_policy[0] != '\0' && !name_is_valid(config->remote_policy))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "backends.remote.policy: %.80s is not a name",
			       config->remote_policy);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/choose.h"
#include "base/c.h"
#include "base/log.h"
#include "door/atlas/atlas.h"
#include "door/boot_token.h"
#include "policy/number.h"

#define PORT_DEFAULT 8080U
#define DIR_DEFAULT "/semantic"
#define TOKEN_NAME "sidecar"

static const char *set_in(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

static int take_port(struct config *config, bool is_local, struct err *err)
{
	const char *text = set_in("PORT");
	uint64_t port = PORT_DEFAULT;
	char address[64];

	if (text != NULL && (number_parse(NUMBER_COUNT, text, &port) < 0 || port > 65535))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "PORT: %.40s is not a port number",
			       text);
	(void)snprintf(address, sizeof(address), "%s:%u", is_local ? "127.0.0.1" : "0.0.0.0",
		       (unsigned)port);
	text_list_done(&config->listen);
	text_list_add(&config->listen, address);
	return 0;
}

int atlas_boot(struct config *config, struct err *err)
{
	struct atlas_config *own = config_part(config, &atlas_config);
	const char *token = set_in("SIDECAR_AUTH_TOKEN");
	const char *disable = getenv("SIDECAR_AUTH_DISABLE");
	const char *dir = set_in("SEMANTIC_DIR");
	int r;

	if (token == NULL && (disable == NULL || strcmp(disable, "1") != 0))
		return err_set(
			err, ERR_BAD_REQUEST, EPERM,
			"SIDECAR_AUTH_TOKEN is not set: anyone who reaches the port could run "
			"code; set it to a secret, or, to try it on this machine only, set "
			"SIDECAR_AUTH_DISABLE=1");
	if (token == NULL && config->token_count > 0)
		return err_set(
			err, ERR_BAD_REQUEST, EPERM,
			"SIDECAR_AUTH_DISABLE=1 contradicts the tokens in the config: remove "
			"one or the other, or set SIDECAR_AUTH_TOKEN");
	if (token == NULL)
		log_event(LOG_LEVEL_WARNING, "atlas.open",
			  "why=SIDECAR_AUTH_DISABLE=1: no token is required, so only this "
			  "machine can connect");
	r = take_port(config, token == NULL, err);
	if (r == 0 && token != NULL)
		/* Added to the config's tokens, which stay valid for /v1. */
		r = boot_token_add(config, "SIDECAR_AUTH_TOKEN", TOKEN_NAME, token, err);
	/* Containers and services can have any host name, and every route that runs something
	 * requires the token, which a malicious web page does not have. */
	if (r == 0 && token != NULL)
		text_list_add(&config->hosts, "*");
	if (dir == NULL && backend_explore(config) == BACKEND_EXPLORE)
		dir = DIR_DEFAULT;
	if (r == 0 && (set_in("SEMANTIC_DIR") != NULL || own->semantic_dir[0] == '\0'))
		text_set(&own->semantic_dir, dir != NULL ? dir : "");
	return r;
}

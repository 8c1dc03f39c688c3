// SPDX-License-Identifier: Apache-2.0
#include "door/boot_token.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_MAX 512U /* longer tokens are never accepted: api/access.c */

int boot_token_add(struct config *config, const char *variable, const char *name,
		   const char *secret, struct err *err)
{
	uint8_t sum[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(sum) + 1];
	struct config_token *tokens;

	if (strlen(secret) > SECRET_MAX)
		return err_set(err, ERR_BAD_REQUEST, EMSGSIZE, "%s is longer than %u bytes",
			       variable, SECRET_MAX);
	for (size_t i = 0; i < config->token_count; i++) {
		if (strcmp(config->tokens[i].name, name) == 0)
			return err_set(
				err, ERR_BAD_REQUEST, EEXIST,
				"%s becomes a token named %s, but the config already has one of "
				"that name",
				variable, name);
	}
	tokens = reallocarray(config->tokens, config->token_count + 1, sizeof(*tokens));
	if (tokens == NULL)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory");
	config->tokens = tokens;
	tokens += config->token_count++;
	*tokens = (struct config_token){0};
	settings_init(token_rows, token_row_count, tokens);
	(void)crypto_hash_sha256(sum, (const unsigned char *)secret, strlen(secret));
	(void)sodium_bin2hex(hex, sizeof(hex), sum, sizeof(sum));
	text_set(&tokens->name, name);
	text_set(&tokens->sha256, hex);
	/* No process that we start needs it. */
	(void)unsetenv(variable);
	return 0;
}

int boot_token_read(struct config *config, const char *variable, const char *name, struct err *err)
{
	const char *secret = getenv(variable);

	if (secret == NULL || secret[0] == '\0')
		return 0;
	text_list_add(&config->hosts, "*");
	return boot_token_add(config, variable, name, secret, err);
}

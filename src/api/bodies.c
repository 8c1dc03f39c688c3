// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "api/router_state.h"
#include "base/c.h"
#include "policy/number.h"

/* The memory that the bodies of requests take until they are answered. */

int bodies_too_large(uint64_t max, struct err *err)
{
	char text[32];

	number_format(NUMBER_BYTES, max, text, sizeof(text));
	return err_set(err, ERR_TOO_LARGE, EMSGSIZE, "the body is larger than %s", text);
}

static struct router_share *share_of(struct router *router, const struct config_token *token)
{
	struct router_share *share = NULL;

	if (token == NULL)
		return NULL;
	LIST_FOREACH(share, &router->shares, entry) {
		if (share->token == token)
			return share;
	}
	share = xnew(struct router_share);
	share->token = token;
	LIST_INSERT_HEAD(&router->shares, share, entry);
	return share;
}

void bodies_resize(struct router *router, struct router_held *held, uint64_t size)
{
	router->held += size - held->size;
	if (held->share != NULL)
		held->share->held += size - held->size;
	held->size = size;
}

void bodies_done(struct router *router)
{
	struct router_share *share;

	while ((share = LIST_FIRST(&router->shares)) != NULL) {
		LIST_REMOVE(share, entry);
		free(share);
	}
}

/* All bodies together must leave memory for the runs. */
int bodies_hold(struct router *router, struct router_held *held, const struct config_token *token,
		uint64_t size, struct err *err)
{
	const struct router_settings *settings = &router->settings;

	if (size > settings->body_max)
		return bodies_too_large(settings->body_max, err);
	if (held->share == NULL)
		held->share = share_of(router, token);
	bodies_resize(router, held, size);
	if (held->share != NULL && held->share->held > settings->token_held_max)
		return err_set(err, ERR_QUOTA, EBUSY,
			       "the bodies of this token's requests take all the memory they may; "
			       "wait until others are answered");
	if (router->held <= settings->held_max)
		return 0;
	return err_set(err, ERR_BUSY, ENOMEM,
		       "the bodies of other requests take all the memory there is for them");
}

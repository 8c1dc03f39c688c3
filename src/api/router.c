// SPDX-License-Identifier: Apache-2.0
#include "api/router.h"

#include <errno.h>
#include <stdlib.h>

#include "api/openapi.h"
#include "api/router_state.h"
#include "base/c.h"

#define OPENAPI_MAX (1U << 20)

static void free_when_done(struct router *router)
{
	if (!router->is_closed || router->exchange_count > 0)
		return;
	doors_free(router);
	bodies_done(router);
	buf_done(&router->openapi);
	free(router);
}

void router_leave(struct router *router)
{
	router->exchange_count--;
	free_when_done(router);
}

int router_new(const struct router_settings *settings, struct router **ret_router, struct err *err)
{
	struct router *router = xnew(struct router);
	int r;

	router->settings = *settings;
	if (settings->held_max == 0)
		router->settings.held_max = 4 * settings->body_max;
	if (settings->token_held_max == 0)
		router->settings.token_held_max = router->settings.held_max;
	LIST_INIT(&router->shares);
	TAILQ_INIT(&router->table);
	TAILQ_INIT(&router->opened);
	TAILQ_INIT(&router->mounts);
	router->ops[0] = settings->ops != NULL ? settings->ops : op_table;
	router->ops[1] = native_ops;
	buf_init(&router->openapi, OPENAPI_MAX);
	r = doors_open(router, err);
	if (r == 0 && openapi_put(router->ops, &router->openapi) < 0)
		r = err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the description of the API");
	if (r < 0) {
		router_close(router);
		return r;
	}
	*ret_router = router;
	return 0;
}

void router_close(struct router *router)
{
	struct opened *opened = NULL;

	if (router == NULL)
		return;
	router->is_closed = true;
	TAILQ_FOREACH(opened, &router->opened, entry)
		doors_leave(router, opened);
	free_when_done(router);
}

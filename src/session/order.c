// SPDX-License-Identifier: Apache-2.0
#include "session/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "session/body.h"
#include "session/request.h"

int order_check(const struct run_request *request, struct err *err)
{
	const char *why = NULL;

	if (request->is_forwarded)
		why = "it was passed on to this host already";
	else if (request->kind.runtime->is_shell)
		return 0;
	else if (request->kind.data != NULL)
		why = "the policy's folder for /data is on this host";
	else if (request->kind.plan.limits == LIMITS_CGROUP)
		why = "the policy requires limits by cgroup, which can be checked only on this "
		      "host";
	else if (request->tool.size > 0)
		why = "it uses a tool of this host";
	else if (request->argv != NULL)
		why = "it is a script with arguments";
	else if ((request->stand_ins != NULL && !request->is_sidecar) || request->saved.size > 0 ||
		 request->saved_max > 0)
		why = "its variables are loaded or saved";
	else if (request->stdin_kind == RUN_STDIN_LIVE || request->stdin_kind == RUN_STDIN_PIPE)
		why = "its stdin is live";
	else if (request->data_format != RUN_DATA_NONE && request->data_format != RUN_DATA_JSON)
		why = "its data are in a file that is read in the sandbox";
	else if (request->code.data == NULL ||
		 (request->stdin_bytes.size > 0 && request->stdin_bytes.data == NULL))
		why = "its code or stdin is not in memory";
	if (why == NULL)
		return 0;
	return err_field(err, ERR_UNSUPPORTED, EOPNOTSUPP, "backend",
			 "this run cannot be done elsewhere: %s", why);
}

static int make_explore(const struct run_request *request, struct order *ret_order, struct err *err)
{
	struct order order = {.members = -1};

	/* The path inside the sandbox: /data/..., or /semantic/..., its other name. */
	const char *cwd = request->args.size > 1 ? memchr((const char *)request->args.data + 1, '/',
							  request->args.size - 1)
						 : NULL;
	const char *end = (const char *)request->args.data + request->args.size;

	order.command = strndup(request->code.data, request->code.size);
	order.cwd = cwd != NULL ? strndup(cwd + 1, (size_t)(end - cwd - 1)) : strdup("");
	if (request->kind.data != NULL)
		order.folder = strdup(request->kind.data);
	if (request->root != NULL)
		order.root = strdup(request->root);
	order.beyond = request->root != NULL ? "root" : NULL;
	if (order.command == NULL || order.cwd == NULL ||
	    (request->kind.data != NULL && order.folder == NULL) ||
	    (request->root != NULL && order.root == NULL)) {
		order_done(&order);
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the request");
	}
	*ret_order = order;
	return 0;
}

int order_make(const struct run_request *request, struct order *ret_order, struct err *err)
{
	const struct plan *plan = &request->kind.plan;
	struct run_request asked = *request;
	struct body body = {.fd = -1};
	int r;

	if (request->kind.runtime->is_shell)
		return make_explore(request, ret_order, err);
	r = order_check(request, err);
	if (r < 0)
		return r;
	/* Asks the other side for what our policy grants, never for more. */
	asked.limits = (struct policy_ask){.memory = plan->memory,
					   .cpus_milli = plan->cpus_milli,
					   .pids = plan->pids,
					   .disk = plan->disk,
					   .output = request->output_max};
	if (asked.runtime != NULL && strcmp(asked.runtime, "auto") == 0)
		asked.runtime = NULL;
	if (asked.is_sidecar) /* a sidecar has its own environment */
		asked.env = NULL;
	r = body_make(&asked, BODY_REMOTE, &body, err);
	if (r < 0)
		return r;
	*ret_order = (struct order){.members = body.fd,
				    .core_size = body.core_size,
				    .members_size = body.size,
				    .beyond = body.beyond,
				    .is_sidecar = request->is_sidecar};
	return 0;
}

void order_done(struct order *order)
{
	if (order == NULL)
		return;
	drop_fd(&order->members);
	free(STEAL(order->command));
	free(STEAL(order->folder));
	free(STEAL(order->cwd));
	free(STEAL(order->root));
}

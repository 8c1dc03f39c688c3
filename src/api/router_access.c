// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "api/exchange.h"
#include "backend/job.h"

int router_own(struct http_request *request, const struct op_caller *caller, struct err *err)
{
	if (http_own(request, caller->token))
		return 0;
	return err_set(err, ERR_BUSY, EDQUOT,
		       "this token has as many connections as it may; close some");
}

int exchange_enter(struct exchange *exchange, bool needs_token, struct err *err)
{
	struct http_request *request = exchange->request;
	const struct access *access = exchange->router->settings.access;
	bool is_unix = http_is_unix(request);
	struct access_request asked = {
		.authorization = http_header(request, "Authorization"),
		.host = http_header(request, "Host"),
		.origin = http_header(request, "Origin"),
		.site = http_header(request, "Sec-Fetch-Site"),
		.approve = http_header(request, "Vivarium-Approve"),
		.client = http_header(request, "Vivarium-Client"),
		.peer = is_unix ? NULL : exchange->peer,
	};
	int r;

	asked.has_uid = is_unix && http_peer_uid(request, &asked.uid);
	exchange->call.caller = (struct op_caller){.name = "", .peer = exchange->peer};
	r = access_check_hosts(access, &asked, err);
	if (r < 0)
		return r;
	if (asked.origin != NULL) {
		exchange->origin = strdup(asked.origin);
		if (exchange->origin == NULL)
			return err_set(err, ERR_INTERNAL, ENOMEM, "no memory");
	}
	r = needs_token ? access_check(access, &asked, &exchange->call.caller, err) : 0;
	if (r == 0)
		r = router_own(request, &exchange->call.caller, err);
	exchange->call.caller.via = "http";
	exchange->call.caller.is_forwarded = http_header(request, BACKEND_FORWARDED) != NULL;
	return r;
}

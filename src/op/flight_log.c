// SPDX-License-Identifier: Apache-2.0
/* The log of a run: its head, which says who asked for what, and its code. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "op/flight.h"
#include "op/run_row.h"

#define HEAD_MAX (16U << 10)

static int put_who(const struct flight *flight, struct buf *buf)
{
	struct op_caller caller = {.name = flight->token, .peer = flight->peer, .via = flight->via};

	op_client_set(&caller, flight->client);
	return run_row_put_who(buf, &caller);
}

static int put_head(const struct flight *flight, const struct run_request *request, struct buf *buf)
{
	int r = buf_format(buf, "{\"session\":%s%s%s,\"op\":\"%s\",\"token\":",
			   flight->session[0] != '\0' ? "\"" : "null", flight->session,
			   flight->session[0] != '\0' ? "\"" : "", flight->op);

	assert(request->kind.runtime != NULL);
	if (r == 0)
		r = json_put_text(buf, flight->token);
	if (r == 0)
		r = buf_text(buf, ",\"peer\":");
	if (r == 0)
		r = json_put_text(buf, flight->peer);
	if (r == 0)
		r = buf_text(buf, ",\"policy\":");
	if (r == 0)
		r = json_put_text(buf, flight->policy->name);
	if (r == 0)
		r = buf_text(buf, ",\"runtime\":");
	if (r == 0)
		r = json_put_text(buf, request->kind.runtime->name);
	if (r == 0)
		r = buf_format(buf,
			       ",\"command\":%s,\"sha256\":\"%s\",\"code_size\":%llu,\"line\":",
			       request->is_command ? "true" : "false", flight->sha256,
			       (unsigned long long)request->code.size);
	if (r == 0)
		r = run_row_put_line(buf, request->code.data, request->code.size);
	if (r == 0)
		r = buf_text(buf, ",\"who\":");
	if (r == 0)
		r = put_who(flight, buf);
	if (r == 0 && flight->is_held)
		r = buf_text(buf, ",\"held\":true");
	return r == 0 ? buf_text(buf, "}") : r;
}

int flight_open_log(struct flight *flight, const struct run_request *request, struct err *err)
{
	size_t code_size =
		request->code.size < FLIGHT_CODE_MAX ? request->code.size : FLIGHT_CODE_MAX;
	struct buf head;
	int r;

	buf_init(&head, HEAD_MAX);
	r = put_head(flight, request, &head);
	if (r < 0)
		r = err_set(err, ERR_INTERNAL, -r, "no memory for the run's log");
	else
		r = logs_add(flight->engine->logs, flight->id, (const char *)head.data, head.size,
			     request->code.data, code_size, &flight->log, err);
	buf_done(&head);
	return r;
}

void flight_note_code(struct flight *flight, const struct run_request *request)
{
	if (request->code.data == NULL)
		return;
	audit_sha256(request->code.data, request->code.size, flight->sha256);
	if (!flight->policy->audit_code)
		return;
	flight->code_size =
		request->code.size < AUDIT_CODE_MAX ? request->code.size : AUDIT_CODE_MAX;
	flight->code = malloc(flight->code_size + 1);
	if (flight->code != NULL)
		memcpy(flight->code, request->code.data, flight->code_size);
}

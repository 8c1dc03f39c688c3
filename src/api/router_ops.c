// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/exchange.h"
#include "base/c.h"

#define METRICS_MAX (16U << 20)

static void call_metrics(struct op_call *call)
{
	struct exchange *exchange = call->door_user;
	const struct router_settings *settings = &exchange->router->settings;
	struct err err = {0};
	struct buf text;

	buf_init(&text, METRICS_MAX);
	if (settings->metrics != NULL && settings->metrics(settings->user, &text) < 0) {
		buf_done(&text);
		(void)err_set(&err, ERR_INTERNAL, ENOMEM, "no memory for the metrics");
		op_fail(call, &err);
		return;
	}
	exchange_reply(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", &text);
}

/* It is sent from where it is: the router outlives its exchanges. */
struct described {
	const struct buf *text; /* borrowed */
	size_t sent;
};

static int64_t read_openapi(void *user, void *data, size_t room)
{
	struct described *described = user;
	size_t n = described->text->size - described->sent;

	if (n == 0)
		return -1;
	n = n < room ? n : room;
	memcpy(data, described->text->data + described->sent, n);
	described->sent += n;
	return (int64_t)n;
}

static void call_openapi(struct op_call *call)
{
	struct exchange *exchange = call->door_user;
	struct described *described = xnew(struct described);

	described->text = &exchange->router->openapi;
	op_stream(
		call, 200, "application/json", (int64_t)described->text->size,
		&(const struct op_source){.read = read_openapi, .close = free, .user = described});
}

static const struct op metrics = {
	.name = "metrics",
	.method = "GET",
	.path = "/metrics",
	.help = "Counters, gauges and histograms as Prometheus reads them",
	.answer = "Metrics",
	.call = call_metrics,
};

static const struct op openapi = {
	.name = "openapi",
	.method = "GET",
	.path = "/openapi.json",
	.help = "This description of every route, as OpenAPI 3.1",
	.answer = "OpenAPI",
	.is_open = true,
	.call = call_openapi,
};

const struct op *const router_ops[] = {&metrics, &openapi, NULL};

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "api/exchange.h"

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

static void call_openapi(struct op_call *call)
{
	struct exchange *exchange = call->door_user;
	const struct buf *openapi = &exchange->router->openapi;
	struct err err = {0};
	struct buf text;

	buf_init(&text, openapi->max);
	if (buf_append(&text, openapi->data, openapi->size) < 0) {
		(void)err_set(&err, ERR_INTERNAL, ENOMEM, "no memory for the description");
		op_fail(call, &err);
		return;
	}
	op_answer(call, 200, &text);
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

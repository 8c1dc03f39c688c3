// SPDX-License-Identifier: Apache-2.0
/*
 * Access unit - a config with the tokens of alice and bob, and who is let in by it
 *
 * Owns:    the config and the access made of it.
 * May not: hide a failure: what a step needs is asserted in it.
 */
#pragma once

#include "api/access.h"
#include "base/c.h"
#include "unit.h"

/* SHA-256 of "alice-secret" and "bob-secret". */
#define ALICE "0c848abb03307b06cf70cd4e29c157dc81af5e94ab3eb1d0c59a120269572376"
#define BOB "9f03ef1533a68d2f506f81ef463c1183a82a6bd40e45613f36e6fe1889cf1b99"

struct desk {
	struct config *config;
	struct access *access;
};

static inline int desk_make(void **state, const char *text)
{
	struct desk *desk = xnew(struct desk);
	struct err err = {0};

	assert_ok(config_parse(text, strlen(text), "test.yaml", &desk->config, &err), err);
	desk->access = access_new(desk->config);
	*state = desk;
	return 0;
}

static inline int desk_end(void **state)
{
	struct desk *desk = *state;

	access_free(desk->access);
	config_free(desk->config);
	free(desk);
	return 0;
}

/* From loopback, to a host that is fine. */
static inline struct access_request good(void)
{
	return (struct access_request){.host = "localhost:7878", .peer = "127.0.0.1"};
}

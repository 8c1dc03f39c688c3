// SPDX-License-Identifier: Apache-2.0
/*
 * Page - the page at / and what it loads, out of the binary
 *
 * Owns:    its paths, the headers that shut a browser in (what may run, load, frame and be framed),
 *          and a new nonce for every answer. Host and Origin are checked as everywhere.
 * May not: ask for a token (there is no secret in it; every call that it makes has one), read a
 *          file, or serve a name that is not in its table.
 */
#pragma once

#include <stdbool.h>

#include "api/access.h"
#include "api/router.h"
#include "http/http.h"

struct page;

/* Borrows both. NULL: this build has no page. */
struct page *page_new(const struct access *access, struct router *router);

/* After http_close, before router_close. Accepts NULL. */
void page_free(struct page *page);

/* Is this path the page's? `method` NULL: by any. `page` may be NULL. */
bool page_knows(const struct page *page, const char *method, const char *path);

/* For http_hand_over, with the page as their user. */
extern const struct http_calls page_calls;

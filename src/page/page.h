// SPDX-License-Identifier: Apache-2.0
/*
 * Page - the page at / and what it loads, out of the binary
 *
 * Owns:    its routes, the headers that shut a browser in (what may run, load, frame and be
 * framed), and a new nonce for every answer. Host and Origin are checked as everywhere. May not:
 * ask for a token (there is no secret in it; every call that it makes has one), read a file, or
 * serve a name that is not in its table.
 */
#pragma once

#include "api/door.h"

/* The page as a door. NULL: this build has no page. */
const struct door *page_door(void);

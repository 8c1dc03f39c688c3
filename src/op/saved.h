// SPDX-License-Identifier: Apache-2.0
/*
 * Saved - what the first lines of a saved state say about it, before a sandbox reads the rest
 *
 * Owns:    finding the packages that it needs, so that it gets a runtime which has them.
 * May not: trust it: the bytes may come from anybody. Whatever is malformed is left out.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* `text` is the base64 of a state (docs/protocol.md, section 3). Appends a line "import NAME" for
 * each package that its head names. */
void saved_imports(const char *text, size_t size, struct buf *buf);

// SPDX-License-Identifier: Apache-2.0
/*
 * Vault text - changes to the text of a file of the vault
 *
 * Owns:    JSON with indentation, one JSON document merged into another, a text replaced in a text.
 *          Numbers and strings outside a requested change keep their meaning.
 * May not: touch a file; nor build a tree of more than VAULT_MERGE_MAX bytes of text.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define VAULT_MERGE_MAX (1U << 20) /* bytes of either document */

/* Appends valid JSON with an indentation of two, every number and string as it stands. -EINVAL: it
 * is not JSON; -EMSGSIZE: above the buffer's maximum. Both leave the buffer as it was. */
int vault_indent(const void *json, size_t size, struct buf *buf);

/* Appends `into` with `patch` merged into it, indented: objects into objects at any depth, a list
 * behind a list at the top; elsewhere the patch wins. -EINVAL, with a text for the client. */
int vault_merge(const void *into, size_t into_size, const void *patch, size_t patch_size,
		struct buf *buf, struct err *err);

/* Appends `text` with its first `find` replaced. -ENOENT: `text` does not have it. */
int vault_replace(const void *text, size_t size, const void *find, size_t find_size, const void *by,
		  size_t by_size, struct buf *buf, struct err *err);

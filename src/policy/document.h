// SPDX-License-Identifier: Apache-2.0
/*
 * Document - a YAML text into the structs that tables of settings describe
 *
 * Owns:    libyaml, the list of the values in a text, and messages with file:line and the allowed
 *          values; the refusal of aliases, duplicate keys, keys that are not plain words, and keys
 *          without a row.
 * May not: know a particular setting or section.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "policy/setting.h"

/* A part of the document: its rows appear once ("" for the top), per name, or per number. */
enum section_kind {
	SECTION_TOP,
	SECTION_NAMED,  /* policies: {NAME: {...}} */
	SECTION_LISTED, /* tokens: [{...}] */
};

struct section {
	const char *key;
	enum section_kind kind;
	const struct setting *rows;
	size_t row_count;
	size_t entry_max;
};

struct document; /* a loaded document */

/* Loads the text by the sections, the first of which is the top. -EINVAL with "file:line: ...". */
int document_load(const void *text, size_t size, const char *file, const struct section *sections,
		  size_t section_count, struct document **ret_document, struct err *err);
void document_free(struct document *document);

/* The number of entries of a section in this text, and the name of one ("0", "1" in a list). */
size_t document_count(const struct document *document, size_t section);
const char *document_name(const struct document *document, size_t section, size_t entry);

/* The name of the file, for messages. */
const char *document_file(const struct document *document);

/* The text of a single value, unchecked; NULL when the entry does not have the key. */
const char *document_text(const struct document *document, size_t section, size_t entry,
			  const char *key);

/* Does the entry have this key? */
bool document_has(const struct document *document, size_t section, size_t entry, const char *key);

/* Checks every value of an entry against its row and stores it in `object`. Members that the text
 * does not name stay unchanged. */
int document_apply(const struct document *document, size_t section, size_t entry, void *object,
		   struct err *err);

/* Puts file, line and full name of this key of an entry (NULL: of the entry itself) in front of
 * `err`: "vivarium.yaml:3: policies.tight.memory: ...". */
int document_blame(const struct document *document, size_t section, size_t entry, const char *key,
		   struct err *err);

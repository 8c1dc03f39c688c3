// SPDX-License-Identifier: Apache-2.0
/*
 * Yaml load - a YAML text into the structs that tables of settings describe
 *
 * Owns:    libcyaml, the schema that is made for it from the rows, and messages with file:line and
 *          what is allowed there.
 * May not: know a particular setting or section.
 *
 * libcyaml's mappings have fixed keys. Sections whose keys are names (`policies`, `runtimes`) get
 * their part of the schema from the names that the marks have found in this very text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "policy/setting.h"
#include "policy/yaml_marks.h"

#define YAML_SECTIONS_MAX 4

/* The value of one row as the text has it. */
struct yaml_slot {
	char *text;   /* a single value, or NULL */
	char **items; /* a list, or NULL */
	size_t count;
};

/* A part of the document: its rows once ("" for the top), per name, or per number. */
enum yaml_section_kind {
	YAML_TOP,
	YAML_NAMED,  /* policies: {NAME: {...}} */
	YAML_LISTED, /* tokens: [{...}] */
};

struct yaml_section {
	const char *key;
	enum yaml_section_kind kind;
	const struct setting *rows;
	size_t row_count;
	size_t entry_max;
};

struct yaml; /* a loaded document */

/* Loads the text by the sections, the first of which is the top. -EINVAL with "file:line: ...". */
int yaml_load(const void *text, size_t size, const char *file, const struct yaml_section *sections,
	      size_t section_count, struct yaml **ret_yaml, struct err *err);
void yaml_free(struct yaml *yaml);

/* How many entries a section has in this text, and the name of one ("0", "1" for a list's). */
size_t yaml_count(const struct yaml *yaml, size_t section);
const char *yaml_name(const struct yaml *yaml, size_t section, size_t entry);

/* The name of the file, for messages. */
const char *yaml_file(const struct yaml *yaml);

/* The text of a single value, unchecked; NULL when the entry does not have the key. */
const char *yaml_text(const struct yaml *yaml, size_t section, size_t entry, const char *key);

/* Does the entry have this key? */
bool yaml_has(const struct yaml *yaml, size_t section, size_t entry, const char *key);

/* Checks every value of an entry against its row and stores it in `object`. What the text does not
 * name stays as it is. */
int yaml_apply(const struct yaml *yaml, size_t section, size_t entry, void *object,
	       struct err *err);

/* Puts "file:line: " of this key of an entry (NULL: of the entry itself) in front of `err`. */
int yaml_blame(const struct yaml *yaml, size_t section, size_t entry, const char *key,
	       struct err *err);

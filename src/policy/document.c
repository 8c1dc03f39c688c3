// SPDX-License-Identifier: Apache-2.0
#include "policy/document.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"

#define SCALAR_MAX 4096

struct document {
	const struct section *sections; /* borrowed: tables of the caller */
	size_t section_count;
	char *file; /* owned; borrowed by marks */
	struct marks marks;
	struct text_list names[SECTIONS_MAX]; /* of a NAMED section */
	size_t first[SECTIONS_MAX];           /* a section's first slot in the document */
	size_t slot_count;
	cyaml_schema_value_t schema;
	void **pieces; /* owned, each: what the schema points to */
	size_t piece_count;
	struct slot *slots; /* owned, by way of cyaml_free */
	char why[200];      /* the first complaint of libcyaml */
};

/* libcyaml logs a backtrace behind its complaint; the complaint says it, our marks say where. */
static void __attribute__((format(printf, 3, 0)))
keep_complaint(cyaml_log_t level, void *context, const char *format, va_list args)
{
	struct document *document = context;
	size_t size;

	(void)level;
	if (document->why[0] != '\0')
		return;
	(void)vsnprintf(document->why, sizeof(document->why), format, args);
	size = strlen(document->why);
	if (size > 0 && document->why[size - 1] == '\n')
		document->why[size - 1] = '\0';
}

static const cyaml_config_t *cyaml_settings(struct document *document, cyaml_config_t *ret_settings)
{
	*ret_settings = (cyaml_config_t){
		.log_fn = keep_complaint,
		.log_ctx = document,
		.mem_fn = cyaml_mem,
		.log_level = CYAML_LOG_ERROR,
		.flags = CYAML_CFG_NO_ALIAS,
	};
	return ret_settings;
}

static const cyaml_schema_value_t text_value = {
	.type = CYAML_STRING,
	.flags = CYAML_FLAG_POINTER,
	.data_size = 1,
	.string = {.min = 0, .max = SCALAR_MAX},
};

/* Memory that lives as long as the schema. */
static void *new_piece(struct document *document, size_t size)
{
	void **pieces = reallocarray(document->pieces, document->piece_count + 1, sizeof(*pieces));

	if (pieces == NULL)
		abort();
	document->pieces = pieces;
	pieces[document->piece_count] = xcalloc(1, size);
	return pieces[document->piece_count++];
}

static cyaml_schema_field_t leaf_field(const char *key, enum setting_type type, size_t slot)
{
	size_t offset = slot * sizeof(struct slot);

	if (type != SETTING_LIST)
		return (cyaml_schema_field_t){
			.key = key,
			.data_offset = (uint32_t)(offset + offsetof(struct slot, text)),
			.value = {.type = CYAML_STRING,
				  .flags = (enum cyaml_flag)(CYAML_FLAG_POINTER |
							     CYAML_FLAG_OPTIONAL),
				  .data_size = 1,
				  .string = {.min = 0, .max = SCALAR_MAX}},
		};
	return (cyaml_schema_field_t){
		.key = key,
		.data_offset = (uint32_t)(offset + offsetof(struct slot, items)),
		.count_offset = (uint32_t)(offset + offsetof(struct slot, count)),
		.count_size = sizeof(size_t),
		.value = {.type = CYAML_SEQUENCE,
			  .flags = (enum cyaml_flag)(CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL),
			  .data_size = sizeof(char *),
			  .sequence = {.entry = &text_value, .min = 0, .max = CYAML_UNLIMITED}},
	};
}

/* A mapping inside its parent's memory: the slots of its fields count from the parent's start. */
static cyaml_schema_field_t mapping_field(const char *key, const cyaml_schema_field_t *fields)
{
	return (cyaml_schema_field_t){
		.key = key,
		.value = {.type = CYAML_MAPPING,
			  .flags = CYAML_FLAG_OPTIONAL,
			  .data_size = sizeof(struct slot),
			  .mapping = {.fields = fields}},
	};
}

/*
 * The fields of the rows whose key starts with `prefix`. A dot in the rest opens a mapping of its
 * own, made once, when its first row comes by. `extra` fields stay free at the end for the caller.
 */
static cyaml_schema_field_t *fields_of(struct document *document, const struct setting *rows,
				       size_t count, size_t first_slot, const char *prefix,
				       size_t extra, size_t *ret_count)
{
	size_t size = strlen(prefix), n = 0;
	cyaml_schema_field_t *fields = new_piece(document, (count + extra + 1) * sizeof(*fields));

	for (size_t i = 0; i < count; i++) {
		const cyaml_schema_field_t *nested;
		const char *rest;
		size_t word;
		char *group;

		if (strncmp(rows[i].key, prefix, size) != 0)
			continue;
		rest = rows[i].key + size;
		word = strcspn(rest, ".");
		if (rest[word] == '\0') {
			fields[n++] = leaf_field(rest, rows[i].type, first_slot + i);
			continue;
		}
		if (n > 0 && strlen(fields[n - 1].key) == word &&
		    strncmp(fields[n - 1].key, rest, word) == 0)
			continue; /* rows of one group stand together */

		group = new_piece(document, size + word + 2);
		(void)snprintf(group, size + word + 2, "%s%.*s.", prefix, (int)word, rest);
		nested = fields_of(document, rows, count, first_slot, group, 0, NULL);
		group = new_piece(document, word + 1);
		memcpy(group, rest, word);
		fields[n++] = mapping_field(group, nested);
	}
	if (ret_count != NULL)
		*ret_count = n;
	return fields;
}

/* policies: {tight: {...}, ...}, with the names of this text. */
static cyaml_schema_field_t named_field(struct document *document, size_t index)
{
	const struct section *section = &document->sections[index];
	const struct text_list *names = &document->names[index];
	cyaml_schema_field_t *fields = new_piece(document, (names->count + 1) * sizeof(*fields));

	for (size_t i = 0; i < names->count; i++)
		fields[i] = mapping_field(names->items[i],
					  fields_of(document, section->rows, section->row_count,
						    document->first[index] + i * section->row_count,
						    "", 0, NULL));
	return mapping_field(section->key, fields);
}

/* tokens: [{...}, ...]: one slot of the document holds the array of the entries' slots. */
static cyaml_schema_field_t listed_field(struct document *document, size_t index)
{
	const struct section *section = &document->sections[index];
	cyaml_schema_field_t field = leaf_field(section->key, SETTING_LIST, document->first[index]);
	cyaml_schema_value_t *entry = new_piece(document, sizeof(*entry));

	*entry = (cyaml_schema_value_t){
		.type = CYAML_MAPPING,
		.data_size = (uint32_t)(section->row_count * sizeof(struct slot)),
		.mapping = {.fields = fields_of(document, section->rows, section->row_count, 0, "",
						0, NULL)},
	};
	field.value.data_size = entry->data_size;
	field.value.sequence.entry = entry;
	return field;
}

/* The names below a section's key, as the marks have them. */
static int collect_names(struct document *document, size_t index, struct err *err)
{
	const struct section *section = &document->sections[index];
	size_t size = strlen(section->key);

	for (size_t i = 0; i < document->marks.count; i++) {
		const char *path = document->marks.items[i].path;

		if (strncmp(path, section->key, size) != 0 || path[size] != '/' ||
		    strchr(path + size + 1, '/') != NULL)
			continue;
		if (document->names[index].count == section->entry_max)
			return marks_refuse(&document->marks, path, err,
					    "%s: more than %zu entries", section->key,
					    section->entry_max);
		text_list_add(&document->names[index], path + size + 1);
	}
	return 0;
}

static int make_schema(struct document *document, struct err *err)
{
	const struct section *top = &document->sections[0];
	cyaml_schema_field_t *fields;
	size_t n = 0;

	document->slot_count = top->row_count;
	fields = fields_of(document, top->rows, top->row_count, 0, "", document->section_count, &n);
	for (size_t i = 1; i < document->section_count; i++) {
		const struct section *section = &document->sections[i];

		document->first[i] = document->slot_count;
		if (section->kind == SECTION_LISTED) {
			fields[n++] = listed_field(document, i);
			document->slot_count++;
		} else {
			int r = collect_names(document, i, err);

			if (r < 0)
				return r;
			fields[n++] = named_field(document, i);
			document->slot_count += document->names[i].count * section->row_count;
		}
	}
	document->schema = (cyaml_schema_value_t){
		.type = CYAML_MAPPING,
		.flags = CYAML_FLAG_POINTER,
		.data_size = (uint32_t)((document->slot_count + 1) * sizeof(struct slot)),
		.mapping = {.fields = fields},
	};
	return 0;
}

static void swap_bytes(char *text, char from, char to)
{
	for (; *text != '\0'; text++) {
		if (*text == from)
			*text = to;
	}
}

static void list_keys(const cyaml_schema_field_t *fields, char *ret_text, size_t size)
{
	size_t used = 0;

	ret_text[0] = '\0';
	for (; fields->key != NULL && used < size; fields++)
		used += (size_t)snprintf(ret_text + used, size - used, "%s%s", used > 0 ? ", " : "",
					 fields->key);
}

/* Follows a mark's path through the schema; fails at the first key that is not in it. */
static int find_value(const struct document *document, const char *path,
		      const cyaml_schema_value_t **ret_value, struct err *err)
{
	const cyaml_schema_value_t *value = &document->schema;
	const char *part = path;

	while (*part != '\0') {
		size_t size = strcspn(part, "/");
		const cyaml_schema_field_t *field;
		char keys[300];

		if (value->type != CYAML_MAPPING && value->type != CYAML_SEQUENCE)
			break;
		if (value->type == CYAML_SEQUENCE) {
			value = value->sequence.entry;
		} else {
			field = value->mapping.fields;
			while (field->key != NULL &&
			       (strlen(field->key) != size || strncmp(field->key, part, size) != 0))
				field++;
			if (field->key == NULL) {
				list_keys(value->mapping.fields, keys, sizeof(keys));
				return marks_refuse(&document->marks, path, err,
						    "unknown key %.*s; allowed here: %s", (int)size,
						    part, keys);
			}
			value = &field->value;
		}
		part += size + (part[size] == '/');
	}
	*ret_value = value;
	return 0;
}

static int refuse_kind(const struct document *document, const struct mark *mark, const char *want,
		       struct err *err)
{
	char name[MARK_PATH_MAX];

	(void)snprintf(name, sizeof(name), "%s", mark->path[0] != '\0' ? mark->path : "the file");
	swap_bytes(name, '/', '.');
	return marks_refuse(&document->marks, mark->path, err, "%.200s must be %s", name, want);
}

/* libcyaml refused. Finds the first place where text and schema disagree, and says it well. */
static int explain(const struct document *document, cyaml_err_t problem, struct err *err)
{
	for (size_t i = 0; i < document->marks.count; i++) {
		const struct mark *mark = &document->marks.items[i];
		const cyaml_schema_value_t *value = &document->schema;
		int r = find_value(document, mark->path, &value, err);

		if (r < 0)
			return r;
		if (value->type == CYAML_MAPPING && mark->kind != MARK_MAPPING)
			return refuse_kind(document, mark, "a mapping (key: value)", err);
		if (value->type == CYAML_SEQUENCE && mark->kind != MARK_LIST)
			return refuse_kind(document, mark, "a list ([a, b])", err);
		if (value->type == CYAML_STRING && mark->kind != MARK_SCALAR)
			return refuse_kind(document, mark, "a single value", err);
	}
	return marks_refuse(&document->marks, "", err, "%s (%s)", cyaml_strerror(problem),
			    document->why);
}

int document_load(const void *text, size_t size, const char *file, const struct section *sections,
		  size_t section_count, struct document **ret_document, struct err *err)
{
	struct document *document = xnew(struct document);
	cyaml_config_t settings;
	cyaml_data_t *data = NULL;
	cyaml_err_t problem;
	int r;

	document->sections = sections;
	document->section_count = section_count;
	text_set(&document->file, file);

	r = marks_init(&document->marks, text, size, document->file, err);
	if (r == 0)
		r = make_schema(document, err);
	if (r == 0 && document->marks.count > 0) {
		problem = cyaml_load_data(text, size, cyaml_settings(document, &settings),
					  &document->schema, &data, NULL);
		if (problem != CYAML_OK)
			r = explain(document, problem, err);
	}
	if (r < 0) {
		document_free(document);
		return r;
	}
	document->slots = data;
	*ret_document = document;
	return 0;
}

void document_free(struct document *document)
{
	cyaml_config_t settings;

	if (document == NULL)
		return;
	if (document->slots != NULL)
		(void)cyaml_free(cyaml_settings(document, &settings), &document->schema,
				 document->slots, 0);
	for (size_t i = 0; i < document->piece_count; i++)
		free(document->pieces[i]);
	for (size_t i = 0; i < SECTIONS_MAX; i++)
		text_list_done(&document->names[i]);
	free(document->pieces);
	marks_done(&document->marks);
	free(document->file);
	free(document);
}

size_t document_count(const struct document *document, size_t section)
{
	if (document->sections[section].kind == SECTION_TOP)
		return 1;
	if (document->sections[section].kind == SECTION_NAMED)
		return document->names[section].count;
	return document->slots != NULL ? document->slots[document->first[section]].count : 0;
}

const char *document_name(const struct document *document, size_t section, size_t entry)
{
	return document->names[section].items[entry];
}

/* The slots of an entry; NULL when the document is empty. */
static const struct slot *entry_slots(const struct document *document, size_t section, size_t entry)
{
	const struct slot *slots = document->slots;
	size_t rows = document->sections[section].row_count;

	if (slots == NULL)
		return NULL;
	slots += document->first[section];
	if (document->sections[section].kind == SECTION_LISTED)
		slots = (const struct slot *)(const void *)slots->items;
	return slots + entry * rows;
}

const char *document_file(const struct document *document)
{
	return document->file;
}

const char *document_text(const struct document *document, size_t section, size_t entry,
			  const char *key)
{
	const struct section *it = &document->sections[section];
	const struct slot *slots = entry_slots(document, section, entry);
	const struct setting *row = setting_find(it->rows, it->row_count, key);

	return slots != NULL && row != NULL ? slots[row - it->rows].text : NULL;
}

static void entry_path(const struct document *document, size_t section, size_t entry,
		       const char *key, char *ret_path, size_t size)
{
	const struct section *it = &document->sections[section];
	size_t used;

	if (it->kind == SECTION_TOP)
		(void)snprintf(ret_path, size, "%s", key != NULL ? key : "");
	else if (it->kind == SECTION_NAMED)
		(void)snprintf(ret_path, size, "%s/%s", it->key,
			       document_name(document, section, entry));
	else
		(void)snprintf(ret_path, size, "%s/%zu", it->key, entry);
	used = strlen(ret_path);
	if (it->kind != SECTION_TOP && key != NULL)
		(void)snprintf(ret_path + used, size - used, "/%s", key);
	swap_bytes(ret_path + (it->kind == SECTION_TOP ? 0 : used), '.', '/');
}

bool document_has(const struct document *document, size_t section, size_t entry, const char *key)
{
	char path[MARK_PATH_MAX];

	/* By the mark, not by the slot: libcyaml leaves nothing in the slot of an empty list. */
	entry_path(document, section, entry, key, path, sizeof(path));
	return marks_find(&document->marks, path) != NULL;
}

int document_blame(const struct document *document, size_t section, size_t entry, const char *key,
		   struct err *err)
{
	char path[MARK_PATH_MAX];
	char text[sizeof(err->text)];

	entry_path(document, section, entry, key, path, sizeof(path));
	memcpy(text, err->text, sizeof(text));
	return marks_refuse(&document->marks, path, err, "%s", text);
}

int document_apply(const struct document *document, size_t section, size_t entry, void *object,
		   struct err *err)
{
	const struct section *it = &document->sections[section];
	const struct slot *slots = entry_slots(document, section, entry);

	for (size_t i = 0; slots != NULL && i < it->row_count; i++) {
		const struct setting *row = &it->rows[i];
		int r = 0;

		if (slots[i].text != NULL)
			r = setting_parse(row, object, slots[i].text, err);
		else if (row->type == SETTING_LIST &&
			 document_has(document, section, entry, row->key))
			r = setting_parse_list(row, object, slots[i].items, slots[i].count, err);
		if (r < 0)
			return document_blame(document, section, entry, row->key, err);
	}
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/document.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/c.h"

#define PATH_SIZE 256
#define DEPTH_MAX 8
#define MARKS_MAX 8192 /* each key is compared with all others, so keep this small */

enum mark_kind {
	MARK_SCALAR,
	MARK_LIST,
	MARK_MAPPING,
};

/* One value of the text. A path joins keys with '/'; entries of a list are numbers:
 * "policies/tight/guard/block/0". */
struct mark {
	char *path; /* owned; "" is the document itself */
	char *text; /* owned: of a SCALAR, else NULL */
	enum mark_kind kind;
	unsigned line; /* from 1: of the key, or of the entry */
};

struct document {
	const struct section *sections; /* borrowed: tables of the caller */
	size_t section_count;
	char *file;         /* owned */
	struct mark *marks; /* owned; in the order of the text: children follow their parent */
	size_t mark_count;
};

/* One open list or mapping. */
struct level {
	bool is_mapping;
	bool has_key;     /* of a mapping: the key was read, its value comes next */
	unsigned index;   /* of a list: the next entry */
	unsigned line;    /* of the key */
	size_t path_size; /* of the path up to here */
};

struct walk {
	struct document *document;
	struct level levels[DEPTH_MAX];
	size_t depth;
	char path[PATH_SIZE];
	unsigned documents;
};

static const struct mark *find_mark(const struct document *document, const char *path)
{
	for (size_t i = 0; i < document->mark_count; i++) {
		if (strcmp(document->marks[i].path, path) == 0)
			return &document->marks[i];
	}
	return NULL;
}

/* Appends one part to a path. */
static void add_part(char *path, const char *joint, const char *part, size_t n, const char *behind)
{
	size_t used = strlen(path);

	(void)snprintf(path + used, PATH_SIZE - used, "%s%.*s%s", used > 0 ? joint : "", (int)n,
		       part, behind);
}

/* The full name of a key, for messages: "tokens[0].name" for the path tokens/0/name. */
static void name_path(const struct document *document, const char *path, char ret_name[PATH_SIZE])
{
	char above[PATH_SIZE] = "";

	ret_name[0] = '\0';
	while (*path != '\0') {
		size_t n = strcspn(path, "/");
		const struct mark *mark = find_mark(document, above);
		bool is_item = mark != NULL && mark->kind == MARK_LIST;

		add_part(ret_name, is_item ? "[" : ".", path, n, is_item ? "]" : "");
		add_part(above, "/", path, n, "");
		path += n + (path[n] == '/');
	}
}

static int __attribute__((format(printf, 4, 5)))
refuse_line(const struct document *document, unsigned long line, struct err *err,
	    const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s:%lu: %s", document->file, line, text);
}

static int add_mark(struct walk *walk, const yaml_event_t *event, unsigned line, struct err *err)
{
	struct document *document = walk->document;
	struct mark *marks;

	if (document->mark_count == MARKS_MAX)
		return refuse_line(document, line, err, "the file has too many entries");
	if ((document->mark_count & (document->mark_count - 1)) == 0) {
		marks = reallocarray(document->marks, 2 * document->mark_count + 1, sizeof(*marks));
		if (marks == NULL)
			abort();
		document->marks = marks;
	}
	document->marks[document->mark_count++] = (struct mark){
		.path = xstrdup(walk->path),
		.text = event->type == YAML_SCALAR_EVENT
				? xstrdup((const char *)event->data.scalar.value)
				: NULL,
		.kind = event->type == YAML_SCALAR_EVENT           ? MARK_SCALAR
			: event->type == YAML_SEQUENCE_START_EVENT ? MARK_LIST
								   : MARK_MAPPING,
		.line = line,
	};
	return 0;
}

static int append_path(struct walk *walk, const char *part, unsigned line, struct err *err)
{
	if (strlen(walk->path) + strlen(part) + 1 >= sizeof(walk->path))
		return refuse_line(walk->document, line, err, "the keys are too long");
	add_part(walk->path, "/", part, strlen(part), "");
	return 0;
}

static bool is_plain_key(const yaml_event_t *event)
{
	const char *key = (const char *)event->data.scalar.value;

	return strlen(key) == event->data.scalar.length && key[0] != '\0' &&
	       strpbrk(key, "/\n\r\t") == NULL;
}

static int take_key(struct walk *walk, const yaml_event_t *event, unsigned line, struct err *err)
{
	struct level *level = &walk->levels[walk->depth - 1];
	char name[PATH_SIZE];
	int r;

	if (event->type != YAML_SCALAR_EVENT || !is_plain_key(event))
		return refuse_line(walk->document, line, err, "a key must be a plain word");

	r = append_path(walk, (const char *)event->data.scalar.value, line, err);
	if (r < 0)
		return r;
	if (find_mark(walk->document, walk->path) != NULL) {
		name_path(walk->document, walk->path, name);
		return refuse_line(walk->document, line, err, "%.140s is there twice", name);
	}
	level->has_key = true;
	level->line = line;
	return 0;
}

/* A value has ended: back to the container around it. */
static void leave_value(struct walk *walk)
{
	if (walk->depth == 0)
		return;
	walk->levels[walk->depth - 1].has_key = false;
	walk->path[walk->levels[walk->depth - 1].path_size] = '\0';
}

/* A value's path is that of its key, or of its number in a list. */
static int take_value(struct walk *walk, const yaml_event_t *event, unsigned line, struct err *err)
{
	struct level *level = walk->depth > 0 ? &walk->levels[walk->depth - 1] : NULL;
	char index[16];
	int r = 0;

	if (level != NULL && level->is_mapping && !level->has_key)
		return take_key(walk, event, line, err);
	if (level == NULL && event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0)
		return 0; /* "---" and nothing else */

	if (level != NULL && level->is_mapping) {
		line = level->line;
	} else if (level != NULL) {
		(void)snprintf(index, sizeof(index), "%u", level->index++);
		r = append_path(walk, index, line, err);
	}
	if (r == 0)
		r = add_mark(walk, event, line, err);
	if (r < 0)
		return r;
	if (event->type == YAML_SCALAR_EVENT) {
		leave_value(walk);
		return 0;
	}
	if (walk->depth == DEPTH_MAX)
		return refuse_line(walk->document, line, err,
				   "lists and mappings are nested too deep");
	walk->levels[walk->depth++] = (struct level){
		.is_mapping = event->type == YAML_MAPPING_START_EVENT,
		.path_size = strlen(walk->path),
	};
	return 0;
}

static int take_event(struct walk *walk, const yaml_event_t *event, struct err *err)
{
	unsigned line = (unsigned)event->start_mark.line + 1;

	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (walk->documents++ > 0)
			return refuse_line(walk->document, line, err,
					   "only one document is allowed");
		return 0;
	case YAML_ALIAS_EVENT:
		return refuse_line(walk->document, line, err, "aliases are not allowed");
	case YAML_SCALAR_EVENT:
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return take_value(walk, event, line, err);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		walk->depth--;
		leave_value(walk);
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

static int walk_text(struct walk *walk, yaml_parser_t *parser, struct err *err)
{
	bool is_over = false;

	while (!is_over) {
		yaml_event_t event;
		int r;

		if (!yaml_parser_parse(parser, &event))
			return refuse_line(walk->document, parser->problem_mark.line + 1, err, "%s",
					   parser->problem != NULL ? parser->problem : "no YAML");
		is_over = event.type == YAML_STREAM_END_EVENT;
		r = take_event(walk, &event, err);
		yaml_event_delete(&event);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The part of a path after `key`, "" if nothing follows; NULL if the path does not begin with the
 * key. Parts are separated by '/' in a path, by '.' in a key. */
static const char *behind(const char *path, const char *key)
{
	for (; *key != '\0'; key++, path++) {
		if (*path != (*key == '.' ? '/' : *key))
			return NULL;
	}
	return *path == '\0' ? path : *path == '/' ? path + 1 : NULL;
}

/* Is this the path of a mapping that the key goes through? */
static bool is_above(const char *path, const char *key)
{
	size_t size = strlen(path);

	for (size_t i = 0; i < size; i++) {
		if (path[i] != (key[i] == '.' ? '/' : key[i]) || key[i] == '\0')
			return false;
	}
	return key[size] == '.';
}

/* Lists the keys allowed next to the last part of `rest`, a path in the section. */
static void list_keys(const struct document *document, const struct section *section,
		      const char *rest, char *ret_text, size_t size)
{
	const char *slash = strrchr(rest, '/');
	size_t prefix = slash != NULL ? (size_t)(slash - rest) + 1 : 0, used = 0, last_size = 0;
	const char *last = "";
	char above[PATH_SIZE];

	ret_text[0] = '\0';
	(void)snprintf(above, sizeof(above), "%.*s", prefix > 0 ? (int)prefix - 1 : 0, rest);
	for (size_t i = 0; i < section->row_count && used < size; i++) {
		const char *key = section->rows[i].key + prefix;
		size_t n;

		if (prefix > 0 && !is_above(above, section->rows[i].key))
			continue;
		n = strcspn(key, ".");
		if (n == last_size && strncmp(key, last, n) == 0)
			continue; /* rows of one mapping are adjacent */
		used += (size_t)snprintf(ret_text + used, size - used, "%s%.*s",
					 used > 0 ? ", " : "", (int)n, key);
		last = key;
		last_size = n;
	}
	for (size_t i = 1; section == document->sections && prefix == 0 &&
			   i < document->section_count && used < size;
	     i++)
		used += (size_t)snprintf(ret_text + used, size - used, "%s%s", used > 0 ? ", " : "",
					 document->sections[i].key);
}

/* The kind of value that a section's rows want at the path `rest`; -1: no row has it. */
static int wanted_kind(const struct section *section, const char *rest)
{
	for (size_t i = 0; i < section->row_count; i++) {
		const struct setting *row = &section->rows[i];
		const char *item = behind(rest, row->key);

		if (item != NULL)
			return row->type == SETTING_LIST && *item == '\0' ? MARK_LIST : MARK_SCALAR;
		if (is_above(rest, row->key))
			return MARK_MAPPING;
	}
	return -1;
}

/* Do the rows know this value, and has it the right kind? Its parents were checked before. */
static int check_mark(const struct document *document, const struct mark *mark, struct err *err)
{
	static const char *const kinds[] = {
		[MARK_SCALAR] = "a single value",
		[MARK_LIST] = "a list ([a, b])",
		[MARK_MAPPING] = "a mapping (key: value)",
	};
	const struct section *section = document->sections;
	const char *rest = mark->path;
	char name[PATH_SIZE], keys[300];
	int want = *rest == '\0' ? MARK_MAPPING : -1;

	for (size_t i = 1; i < document->section_count; i++) {
		const char *entry = behind(mark->path, document->sections[i].key);

		if (entry == NULL)
			continue;
		section = &document->sections[i];
		rest = entry + strcspn(entry, "/");
		if (*rest == '\0')
			want = *entry == '\0' && section->kind == SECTION_LISTED ? MARK_LIST
										 : MARK_MAPPING;
		else
			rest++;
	}
	if (want < 0)
		want = wanted_kind(section, rest);
	name_path(document, mark->path, name);
	if (want < 0) {
		list_keys(document, section, rest, keys, sizeof(keys));
		return refuse_line(document, mark->line, err,
				   "unknown key %.100s; allowed here: %s", name, keys);
	}
	if ((int)mark->kind != want)
		return refuse_line(document, mark->line, err, "%.200s must be %s",
				   name[0] != '\0' ? name : "the file", kinds[want]);
	return 0;
}

/* Is this one of the section's entries, "policies/tight" or "tokens/0"? */
static bool is_entry(const struct section *section, const struct mark *mark)
{
	const char *name = behind(mark->path, section->key);

	return name != NULL && *name != '\0' && strchr(name, '/') == NULL;
}

/* The mark of an entry of a section; NULL: no such entry. */
static const struct mark *entry_mark(const struct document *document, size_t section, size_t entry)
{
	for (size_t i = 0; i < document->mark_count; i++) {
		if (is_entry(&document->sections[section], &document->marks[i]) && entry-- == 0)
			return &document->marks[i];
	}
	return NULL;
}

static int check_marks(const struct document *document, struct err *err)
{
	for (size_t i = 1; i < document->section_count; i++) {
		const struct section *section = &document->sections[i];
		const struct mark *more = entry_mark(document, i, section->entry_max);

		if (more != NULL)
			return refuse_line(document, more->line, err, "%s: more than %zu entries",
					   section->key, section->entry_max);
	}
	for (size_t i = 0; i < document->mark_count; i++) {
		int r = check_mark(document, &document->marks[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

int document_load(const void *text, size_t size, const char *file, const struct section *sections,
		  size_t section_count, struct document **ret_document, struct err *err)
{
	struct document *document = xnew(struct document);
	struct walk walk = {.document = document};
	yaml_parser_t parser;
	int r;

	*document = (struct document){
		.sections = sections, .section_count = section_count, .file = xstrdup(file)};
	if (!yaml_parser_initialize(&parser))
		abort();
	yaml_parser_set_input_string(&parser, text, size);
	r = walk_text(&walk, &parser, err);
	yaml_parser_delete(&parser);
	if (r == 0)
		r = check_marks(document, err);
	if (r < 0) {
		document_free(document);
		return r;
	}
	*ret_document = document;
	return 0;
}

void document_free(struct document *document)
{
	if (document == NULL)
		return;
	for (size_t i = 0; i < document->mark_count; i++) {
		free(document->marks[i].path);
		free(document->marks[i].text);
	}
	free(document->marks);
	free(document->file);
	free(document);
}

size_t document_count(const struct document *document, size_t section)
{
	size_t count = 0;

	for (size_t i = 0; i < document->mark_count; i++)
		count += is_entry(&document->sections[section], &document->marks[i]);
	return count;
}

const char *document_name(const struct document *document, size_t section, size_t entry)
{
	const struct mark *mark = entry_mark(document, section, entry);

	return mark != NULL ? strchr(mark->path, '/') + 1 : "";
}

const char *document_file(const struct document *document)
{
	return document->file;
}

/* The path of a key of an entry (NULL: of the entry itself). */
static void key_path(const struct document *document, size_t section, size_t entry, const char *key,
		     char ret_path[PATH_SIZE])
{
	const struct section *it = &document->sections[section];

	ret_path[0] = '\0';
	if (it->kind != SECTION_TOP) {
		const struct mark *mark = entry_mark(document, section, entry);

		(void)snprintf(ret_path, PATH_SIZE, "%s", mark != NULL ? mark->path : "");
	}
	while (key != NULL && *key != '\0') {
		size_t n = strcspn(key, ".");

		add_part(ret_path, "/", key, n, "");
		key += n + (key[n] == '.');
	}
}

static const struct mark *find_key(const struct document *document, size_t section, size_t entry,
				   const char *key)
{
	char path[PATH_SIZE];

	key_path(document, section, entry, key, path);
	return find_mark(document, path);
}

const char *document_text(const struct document *document, size_t section, size_t entry,
			  const char *key)
{
	const struct mark *mark = find_key(document, section, entry, key);

	return mark != NULL ? mark->text : NULL;
}

bool document_has(const struct document *document, size_t section, size_t entry, const char *key)
{
	return find_key(document, section, entry, key) != NULL;
}

int document_blame(const struct document *document, size_t section, size_t entry, const char *key,
		   struct err *err)
{
	const char *about = key != NULL ? key : document->sections[section].key;
	char path[PATH_SIZE], name[PATH_SIZE];
	char text[sizeof(err->text)];
	const struct mark *mark;
	const char *rest = text;
	size_t size = strlen(about);

	key_path(document, section, entry, key, path);
	name_path(document, path, name);
	memcpy(text, err->text, sizeof(text));
	if (size > 0 && strncmp(text, about, size) == 0 && strncmp(text + size, ": ", 2) == 0)
		rest += size + 2;
	if (key == NULL)
		(void)snprintf(name, sizeof(name), "%s", about);

	/* The line of the key, or of its nearest existing parent. */
	for (mark = find_mark(document, path); mark == NULL && path[0] != '\0';
	     mark = find_mark(document, path)) {
		char *slash = strrchr(path, '/');

		path[slash != NULL ? slash - path : 0] = '\0';
	}
	return refuse_line(document, mark != NULL ? mark->line : 1, err, "%.100s%s%s", name,
			   name[0] != '\0' ? ": " : "", rest);
}

/* The entries of a list follow its mark. */
static int apply_list(const struct document *document, const struct mark *list,
		      const struct setting *row, void *object, struct err *err)
{
	const struct mark *end = document->marks + document->mark_count;
	AUTO_FREE char **items = xcalloc(document->mark_count, sizeof(*items));
	size_t count = 0, size = strlen(list->path);

	for (const struct mark *item = list + 1;
	     item < end && strncmp(item->path, list->path, size) == 0 && item->path[size] == '/';
	     item++)
		items[count++] = item->text;
	return setting_parse_list(row, object, items, count, err);
}

int document_apply(const struct document *document, size_t section, size_t entry, void *object,
		   struct err *err)
{
	const struct section *it = &document->sections[section];

	for (size_t i = 0; i < it->row_count; i++) {
		const struct setting *row = &it->rows[i];
		const struct mark *mark = find_key(document, section, entry, row->key);
		int r = 0;

		if (mark != NULL && mark->kind == MARK_LIST)
			r = apply_list(document, mark, row, object, err);
		else if (mark != NULL)
			r = setting_parse(row, object, mark->text, err);
		if (r < 0)
			return document_blame(document, section, entry, row->key, err);
	}
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/marks.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/c.h"
#include "policy/setting.h"

#define MARKS_MAX 8192 /* each key looks for its twin among all: keep this small */

/* One open list or mapping. */
struct level {
	bool is_mapping;
	bool has_key;     /* of a mapping: the key was read, its value comes next */
	unsigned index;   /* of a list: the next entry */
	unsigned line;    /* of the key */
	size_t path_size; /* of the path up to here */
};

struct walk {
	struct marks *marks;
	struct level levels[MARK_DEPTH_MAX];
	size_t depth;
	char path[MARK_PATH_MAX];
	unsigned documents;
};

static int refuse_line(const struct marks *marks, unsigned long line, struct err *err,
		       const char *text)
{
	return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s:%lu: %s", marks->file, line, text);
}

static int add_mark(struct walk *walk, enum mark_kind kind, unsigned line, struct err *err)
{
	struct marks *marks = walk->marks;
	struct mark *items;

	if (marks->count == MARKS_MAX)
		return refuse_line(marks, line, err, "the file has too many entries");
	if ((marks->count & (marks->count - 1)) == 0) {
		items = reallocarray(marks->items, marks->count > 0 ? marks->count * 2 : 1,
				     sizeof(*items));
		if (items == NULL)
			abort();
		marks->items = items;
	}
	marks->items[marks->count] = (struct mark){.kind = kind, .line = line};
	text_set(&marks->items[marks->count].path, walk->path);
	marks->count++;
	return 0;
}

static int append_path(struct walk *walk, const char *part, unsigned line, struct err *err)
{
	size_t used = strlen(walk->path);
	int n = snprintf(walk->path + used, sizeof(walk->path) - used, "%s%s", used > 0 ? "/" : "",
			 part);

	if (n < 0 || (size_t)n >= sizeof(walk->path) - used)
		return refuse_line(walk->marks, line, err, "the keys are too long");
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
	char text[160];
	int r;

	if (event->type != YAML_SCALAR_EVENT || !is_plain_key(event))
		return refuse_line(walk->marks, line, err, "a key must be a plain word");

	r = append_path(walk, (const char *)event->data.scalar.value, line, err);
	if (r < 0)
		return r;
	if (marks_find(walk->marks, walk->path) != NULL) {
		(void)snprintf(text, sizeof(text), "%.100s is there twice",
			       (const char *)event->data.scalar.value);
		return refuse_line(walk->marks, line, err, text);
	}
	level->has_key = true;
	level->line = line;
	return 0;
}

/* A value begins. Its path is that of its key, or of its number in a list. */
static int place_value(struct walk *walk, const yaml_event_t *event, unsigned *line,
		       struct err *err)
{
	enum mark_kind kind = event->type == YAML_SCALAR_EVENT           ? MARK_SCALAR
			      : event->type == YAML_SEQUENCE_START_EVENT ? MARK_LIST
									 : MARK_MAPPING;
	struct level *level = walk->depth > 0 ? &walk->levels[walk->depth - 1] : NULL;
	char index[16];
	int r;

	if (level != NULL && !level->is_mapping) {
		(void)snprintf(index, sizeof(index), "%u", level->index++);
		r = append_path(walk, index, *line, err);
		if (r < 0)
			return r;
	} else if (level != NULL) {
		*line = level->line;
	}
	return add_mark(walk, kind, *line, err);
}

/* A value ended: back to what is around it. */
static void leave_value(struct walk *walk)
{
	if (walk->depth == 0)
		return;
	walk->levels[walk->depth - 1].has_key = false;
	walk->path[walk->levels[walk->depth - 1].path_size] = '\0';
}

static int take_value(struct walk *walk, const yaml_event_t *event, unsigned line, struct err *err)
{
	int r;

	if (walk->depth > 0 && walk->levels[walk->depth - 1].is_mapping &&
	    !walk->levels[walk->depth - 1].has_key)
		return take_key(walk, event, line, err);

	if (walk->depth == 0 && event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0)
		return 0; /* "---" and nothing else */
	r = place_value(walk, event, &line, err);
	if (r < 0)
		return r;
	if (event->type == YAML_SCALAR_EVENT) {
		leave_value(walk);
		return 0;
	}
	if (walk->depth == MARK_DEPTH_MAX)
		return refuse_line(walk->marks, line, err,
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
			return refuse_line(walk->marks, line, err, "one document is enough");
		return 0;
	case YAML_ALIAS_EVENT:
		return refuse_line(walk->marks, line, err, "aliases are not used here");
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
			return refuse_line(walk->marks, parser->problem_mark.line + 1, err,
					   parser->problem != NULL ? parser->problem : "no YAML");
		is_over = event.type == YAML_STREAM_END_EVENT;
		r = take_event(walk, &event, err);
		yaml_event_delete(&event);
		if (r < 0)
			return r;
	}
	return 0;
}

int marks_init(struct marks *marks, const void *text, size_t size, const char *file,
	       struct err *err)
{
	struct walk walk = {.marks = marks};
	yaml_parser_t parser;
	int r;

	*marks = (struct marks){.file = file};
	if (!yaml_parser_initialize(&parser))
		abort();
	yaml_parser_set_input_string(&parser, text, size);
	r = walk_text(&walk, &parser, err);
	yaml_parser_delete(&parser);
	if (r < 0)
		marks_done(marks);
	return r;
}

void marks_done(struct marks *marks)
{
	if (marks == NULL)
		return;
	for (size_t i = 0; i < marks->count; i++)
		free(marks->items[i].path);
	free(marks->items);
	marks->items = NULL;
	marks->count = 0;
}

const struct mark *marks_find(const struct marks *marks, const char *path)
{
	for (size_t i = 0; i < marks->count; i++) {
		if (strcmp(marks->items[i].path, path) == 0)
			return &marks->items[i];
	}
	return NULL;
}

int marks_refuse(const struct marks *marks, const char *path, struct err *err, const char *format,
		 ...)
{
	const struct mark *mark = marks_find(marks, path);
	char above[MARK_PATH_MAX];
	char text[400];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)snprintf(above, sizeof(above), "%s", path);
	while (mark == NULL && above[0] != '\0') {
		char *slash = strrchr(above, '/');

		above[slash != NULL ? slash - above : 0] = '\0';
		mark = marks_find(marks, above);
	}
	return refuse_line(marks, mark != NULL ? mark->line : 1, err, text);
}

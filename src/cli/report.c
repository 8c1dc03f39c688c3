// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include <stdarg.h>
#include <string.h>

#include "base/c.h"

struct mark {
	const char *word;   /* JSON */
	const char *plain;  /* a pipe or a file */
	const char *pretty; /* a terminal: one column wide, coloured */
};

static const struct mark marks[] = {
	[FACT_ON] = {"on", "ok  ", "\033[32m✓\033[0m"},
	[FACT_OFF] = {"off", "NO  ", "\033[31m✗\033[0m"},
	[FACT_NOTE] = {"note", "-   ", "\033[90m–\033[0m"},
};

void report_done(struct report *report)
{
	for (size_t i = 0; i < report->count; i++)
		json_decref(report->facts[i].more);
	free(report->facts);
	*report = (struct report){0};
}

static struct fact *report_grow(struct report *report)
{
	if (report->count == report->capacity) {
		size_t capacity = report->capacity > 0 ? report->capacity * 2 : 64;
		struct fact *facts = reallocarray(report->facts, capacity, sizeof(*facts));

		if (facts == NULL)
			abort();
		report->facts = facts;
		report->capacity = capacity;
	}
	report->facts[report->count] = (struct fact){0};
	return &report->facts[report->count++];
}

struct fact *report_add(struct report *report, const char *group, const char *name,
			enum fact_state state, const char *remedy, const char *format, ...)
{
	struct fact *fact = report_grow(report);
	va_list args;

	fact->group = group;
	fact->state = state;
	(void)snprintf(fact->name, sizeof(fact->name), "%s", name);
	(void)snprintf(fact->remedy, sizeof(fact->remedy), "%s", remedy != NULL ? remedy : "");
	va_start(args, format);
	(void)vsnprintf(fact->detail, sizeof(fact->detail), format, args);
	va_end(args);
	return fact;
}

/* The first fact of each group stands for the group. */
static bool report_is_first(const struct report *report, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (strcmp(report->facts[i].group, report->facts[index].group) == 0)
			return false;
	}
	return true;
}

static int report_name_width(const struct report *report)
{
	size_t width = 8;

	for (size_t i = 0; i < report->count; i++) {
		size_t length = strlen(report->facts[i].name);

		if (length > width)
			width = length;
	}
	return (int)width;
}

static void fact_print(const struct fact *fact, int width, FILE *out, bool is_terminal)
{
	const struct mark *mark = &marks[fact->state];

	(void)fprintf(out, "  %s  %-*s  %s\n", is_terminal ? mark->pretty : mark->plain, width,
		      fact->name, fact->detail);
	if (fact->remedy[0] != '\0')
		(void)fprintf(out, "%*s%s %s\n", width + (is_terminal ? 7 : 10), "",
			      is_terminal ? "→" : "->", fact->remedy);
}

void report_print(const struct report *report, FILE *out, bool is_terminal)
{
	int width = report_name_width(report);

	for (size_t i = 0; i < report->count; i++) {
		const char *group = report->facts[i].group;

		if (!report_is_first(report, i))
			continue;

		(void)fprintf(out, is_terminal ? "%s\033[1m%s\033[0m\n" : "%s%s\n",
			      i > 0 ? "\n" : "", group);
		for (size_t j = i; j < report->count; j++) {
			if (strcmp(report->facts[j].group, group) == 0)
				fact_print(&report->facts[j], width, out, is_terminal);
		}
	}
}

static json_t *fact_to_json(const struct fact *fact)
{
	json_t *row =
		json_pack("{s:s, s:s, s:s, s:s}", "name", fact->name, "state",
			  marks[fact->state].word, "detail", fact->detail, "remedy", fact->remedy);

	/* Text from the kernel or a tool may not be UTF-8; jansson then refuses the whole row. */
	if (row == NULL)
		row = json_pack("{s:s, s:s, s:s, s:s}", "name", fact->name, "state",
				marks[fact->state].word, "detail", "(not UTF-8)", "remedy", "");
	if (row != NULL && fact->more != NULL)
		(void)json_object_update_missing(row, fact->more);
	return row;
}

void report_to_json(const struct report *report, json_t *object)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct fact *fact = &report->facts[i];
		json_t *group = json_object_get(object, fact->group);

		if (group == NULL) {
			group = json_array();
			(void)json_object_set_new(object, fact->group, group);
		}
		(void)json_array_append_new(group, fact_to_json(fact));
	}
}

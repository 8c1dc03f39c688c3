// SPDX-License-Identifier: Apache-2.0
#include "policy/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "policy/imports.h"

#define PRELOAD_COUNT_MAX 64

const struct setting runtime_rows[] = {
	{.key = "python",
	 .type = SETTING_PATH,
	 .offset = offsetof(struct runtime, python),
	 .low = 1,
	 .text = RUNTIME_PYTHON,
	 .help = "an interpreter, or the directory of a venv"},
	SETTING_STRING(struct runtime, "preload", preload, SETTING_LIST, PRELOAD_COUNT_MAX, "",
		       "modules that are imported before a run asks for them"),
	SETTING_NUMBER(struct runtime, "pool", pool, SETTING_COUNT, 0, 256, 4,
		       "sandboxes kept ready"),
	SETTING_STRING(struct runtime, "requirements", requirements, SETTING_PATH, 0, "",
		       "the file its venv was made from"),
};
const size_t runtime_row_count = ARRAY_LEN(runtime_rows);

/* In the order in which runtime_choose prefers them. */
static const struct {
	const char *name;
	uint64_t pool;
	const char *preload[24];
} built_ins[] = {
	{"bare", 4, {NULL}},
	{"base", 4, {"numpy", "pandas", "matplotlib.pyplot"}},
	{"full",
	 2,
	 {"numpy",
	  "pandas",
	  "matplotlib.pyplot",
	  "scipy.stats",
	  "sklearn.linear_model",
	  "sklearn.ensemble",
	  "seaborn",
	  "requests",
	  "httpx",
	  "bs4",
	  "lxml.etree",
	  "openpyxl",
	  "xlsxwriter",
	  "yaml",
	  "tabulate",
	  "jinja2",
	  "jsonschema",
	  "PIL.Image",
	  "sympy",
	  "plotly.graph_objects",
	  "plotly.express"}},
};

static char explore_name[] = "explore", explore_program[] = "/viv/explore", no_text[] = "";

/* Never freed or changed; the members are not const because those of other runtimes are owned. */
const struct runtime runtime_explore = {
	.name = explore_name,
	.source = no_text,
	.python = explore_program,
	.requirements = no_text,
	.is_shell = true,
};

void runtime_init(struct runtime *runtime, const char *name)
{
	*runtime = (struct runtime){0};
	text_set(&runtime->name, name);
	text_set(&runtime->source, "");
	settings_init(runtime_rows, runtime_row_count, runtime);
}

void runtime_done(struct runtime *runtime)
{
	if (runtime == NULL)
		return;
	settings_done(runtime_rows, runtime_row_count, runtime);
	free(runtime->name);
	free(runtime->source);
	runtime->name = NULL;
	runtime->source = NULL;
}

struct runtime *runtime_built_ins(size_t *ret_count)
{
	struct runtime *runtimes = xcalloc(ARRAY_LEN(built_ins), sizeof(*runtimes));

	for (size_t i = 0; i < ARRAY_LEN(built_ins); i++) {
		runtime_init(&runtimes[i], built_ins[i].name);
		runtimes[i].pool = built_ins[i].pool;
		for (const char *const *name = built_ins[i].preload; *name != NULL; name++)
			text_list_add(&runtimes[i].preload, *name);
	}
	*ret_count = ARRAY_LEN(built_ins);
	return runtimes;
}

const struct runtime *runtime_find(const struct runtime *runtimes, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(runtimes[i].name, name) == 0)
			return &runtimes[i];
	}
	return NULL;
}

/* A dotted name of identifiers; it becomes one argument of the interpreter's command line. */
static bool is_module(const char *name)
{
	bool is_start = true;

	for (; *name != '\0'; name++) {
		bool is_digit = *name >= '0' && *name <= '9';
		bool is_letter = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
				 *name == '_';

		if (*name == '.' ? is_start : !is_letter && (!is_digit || is_start))
			return false;
		is_start = *name == '.';
	}
	return !is_start;
}

int runtime_check(const struct runtime *runtime, const char **ret_key, struct err *err)
{
	size_t size = 0;

	*ret_key = "preload";
	for (size_t i = 0; i < runtime->preload.count; i++) {
		const char *name = runtime->preload.items[i];

		if (!is_module(name))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "preload: %.80s is not the name of a module; allowed: names "
				       "such as numpy or matplotlib.pyplot",
				       name);
		size += strlen(name) + 1;
	}
	if (size > RUNTIME_PRELOAD_MAX + 1)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "preload: the names are longer than %d bytes together",
			       RUNTIME_PRELOAD_MAX);
	return 0;
}

void runtime_preload_text(const struct runtime *runtime, char ret_text[RUNTIME_PRELOAD_MAX + 1])
{
	size_t used = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < runtime->preload.count && used < RUNTIME_PRELOAD_MAX; i++)
		used += (size_t)snprintf(ret_text + used, RUNTIME_PRELOAD_MAX + 1 - used, "%s%s",
					 i > 0 ? " " : "", runtime->preload.items[i]);
}

/* A top-level name that some runtime preloads. */
struct known {
	const char *name;
	size_t size;
	bool is_needed;
};

struct choice {
	struct known *known; /* owned; sorted, each once */
	size_t count;
	bool has_stranger; /* a module that no runtime preloads is needed */
};

static int compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
	int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

	if (order != 0)
		return order;
	return a_size < b_size ? -1 : a_size > b_size;
}

static int compare_known(const void *a, const void *b)
{
	const struct known *first = a, *second = b;

	return compare(first->name, first->size, second->name, second->size);
}

static struct known *find_known(const struct choice *choice, const char *name, size_t size)
{
	struct known key = {.name = name, .size = size};

	return bsearch(&key, choice->known, choice->count, sizeof(key), compare_known);
}

static void choice_init(struct choice *choice, const struct runtime *runtimes, size_t count)
{
	size_t total = 0, kept = 0;

	for (size_t i = 0; i < count; i++)
		total += runtimes[i].preload.count;
	*choice = (struct choice){.known = xcalloc(total + 1, sizeof(*choice->known))};
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < runtimes[i].preload.count; k++) {
			const char *name = runtimes[i].preload.items[k];

			choice->known[choice->count++] =
				(struct known){.name = name, .size = strcspn(name, ".")};
		}
	}

	qsort(choice->known, choice->count, sizeof(*choice->known), compare_known);
	for (size_t i = 0; i < choice->count; i++) {
		if (kept == 0 || compare_known(&choice->known[kept - 1], &choice->known[i]) != 0)
			choice->known[kept++] = choice->known[i];
	}
	choice->count = kept;
}

static void see_import(void *context, const char *name, size_t size)
{
	struct choice *choice = context;
	struct known *known = find_known(choice, name, size);

	if (known != NULL)
		known->is_needed = true;
	else if (!choice->has_stranger && !import_is_stdlib(name, size))
		choice->has_stranger = true;
}

/* How many of the needed names this runtime does not preload. */
static size_t count_missing(const struct choice *choice, const struct runtime *runtime)
{
	size_t missing = 0;

	for (size_t i = 0; i < choice->count; i++) {
		bool is_there = !choice->known[i].is_needed;

		for (size_t k = 0; k < runtime->preload.count && !is_there; k++) {
			const char *name = runtime->preload.items[k];

			is_there = compare(name, strcspn(name, "."), choice->known[i].name,
					   choice->known[i].size) == 0;
		}
		missing += !is_there;
	}
	return missing;
}

/* Built-ins come first in the table, in their own order; the rest by the size of their preload. */
static bool is_smaller(const struct runtime *a, size_t a_index, const struct runtime *b,
		       size_t b_index)
{
	if (a_index < ARRAY_LEN(built_ins) || b_index < ARRAY_LEN(built_ins))
		return a_index < b_index;
	return a->preload.count < b->preload.count;
}

const struct runtime *runtime_choose(const struct runtime *runtimes, size_t count, const void *code,
				     size_t size, bool has_data)
{
	const struct runtime *base = runtime_find(runtimes, count, "base");
	struct choice choice;
	size_t best = 0, best_missing = SIZE_MAX;

	choice_init(&choice, runtimes, count);
	imports_scan(code, size, see_import, &choice);
	if (has_data)
		see_import(&choice, "pandas", strlen("pandas"));

	for (size_t i = 0; i < count; i++) {
		size_t missing = count_missing(&choice, &runtimes[i]);

		if (choice.has_stranger && base != NULL && &runtimes[i] < base)
			continue; /* code with unknown modules likely needs those of base */
		if (missing < best_missing ||
		    (missing == best_missing &&
		     is_smaller(&runtimes[i], i, &runtimes[best], best))) {
			best = i;
			best_missing = missing;
		}
	}
	free(choice.known);
	return count > 0 ? &runtimes[best] : NULL;
}

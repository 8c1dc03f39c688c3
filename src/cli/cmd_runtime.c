// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/interview.h"
#include "cli/safe.h"
#include "cli/venv.h"
#include "policy/config.h"

#define PYTHON_FLOOR_MAJOR 3
#define PYTHON_FLOOR_MINOR 9

struct options {
	const char *config;
	const char *python;
	const char *requirements;
	struct flag_list preload;
	uint64_t pool;
	bool is_json;
};

static const struct flag flags[] = {
	FLAG_ROW_FOR("add", struct options, python, "python", 0, FLAG_TEXT, "VENV",
		     "an interpreter (3.9 or later) or the folder of a venv"),
	FLAG_ROW_FOR("add", struct options, requirements, "requirements", 0, FLAG_TEXT, "FILE",
		     "make a venv and install what this file lists, with pip, outside of any "
		     "sandbox"),
	FLAG_ROW_FOR("add", struct options, preload, "preload", 0, FLAG_LIST, "MODULE",
		     "import this module ahead of time"),
	FLAG_ROW_FOR("add", struct options, pool, "pool", 0, FLAG_COUNT, "N",
		     "sandboxes that a daemon keeps ready"),
	FLAG_ROWS_COMMON(struct options),
};

/* Common to all subcommands. */
struct desk {
	const struct options *wish; /* borrowed */
	struct config *config;      /* owned */
	struct plan plan;           /* the default policy's */
};

static json_t *list_to_json(const struct text_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		(void)json_array_append_new(array, json_string(list->items[i]));
	return array;
}

/* One row of the list, with the interpreter's answer (NULL: none). */
static json_t *row_to_json(const struct runtime *runtime, const json_t *said, const struct err *err)
{
	json_t *row = json_pack("{s:s, s:s, s:o, s:I, s:s}", "name", runtime->name, "python",
				runtime->python, "preload", list_to_json(&runtime->preload), "pool",
				(json_int_t)runtime->pool, "source", runtime->source);
	json_t *version = json_object_get(said, "version");
	json_t *packages = json_object_get(said, "packages");

	if (row == NULL)
		return json_object();
	(void)json_object_set(row, "version", version != NULL ? version : json_null());
	(void)json_object_set(row, "packages", packages != NULL ? packages : json_null());
	if (said == NULL)
		(void)json_object_set_new(row, "why", json_string(err->text));
	return row;
}

static void print_row(const json_t *row)
{
	const char *version = json_string_value(json_object_get(row, "version"));
	const char *why = json_string_value(json_object_get(row, "why"));
	const json_t *preload = json_object_get(row, "preload");
	char packages[24] = "-";
	size_t index;
	const json_t *module;

	if (json_is_integer(json_object_get(row, "packages")))
		(void)snprintf(packages, sizeof(packages), "%lld",
			       (long long)json_integer_value(json_object_get(row, "packages")));
	(void)printf("%-12s %-8s %8s  %s", json_string_value(json_object_get(row, "name")),
		     version != NULL ? version : "-", packages,
		     json_string_value(json_object_get(row, "python")));
	json_array_foreach(preload, index, module)
		(void)printf("%s%s", index == 0 ? "  " : " ", json_string_value(module));
	(void)printf("%s%s\n", why != NULL ? "  broken: " : "", why != NULL ? why : "");
}

/* Asks each runtime's interpreter once; rows that share a path share the answer. */
static void ask_all(const struct desk *desk, struct trial *trial, json_t *rows)
{
	json_auto_t *answers = json_object();
	json_auto_t *no_modules = json_array();

	for (size_t i = 0; i < desk->config->runtime_count; i++) {
		const struct runtime *runtime = &desk->config->runtimes[i];
		json_t *said = json_object_get(answers, runtime->python);
		struct err err = {0};

		if (said == NULL &&
		    interview(trial, runtime, &desk->plan, no_modules, &said, &err) == 0)
			(void)json_object_set_new(answers, runtime->python, said);
		(void)json_array_append_new(rows, row_to_json(runtime, said, &err));
	}
}

static int list(const struct desk *desk, const char *name, struct err *err)
{
	json_auto_t *object = json_object();
	json_t *rows = json_array();
	struct trial trial = {0};
	size_t index;
	const json_t *row;
	int r;

	(void)json_object_set_new(object, "runtimes", rows);
	(void)name;
	r = trial_open(&trial, err);
	if (r == 0)
		ask_all(desk, &trial, rows);
	trial_close(&trial);
	if (r < 0)
		return r;

	if (desk->wish->is_json) {
		safe_print_json(object);
		return 0;
	}
	(void)printf("%-12s %-8s %8s  %s\n", "NAME", "VERSION", "PACKAGES", "PYTHON  PRELOAD");
	json_array_foreach(rows, index, row)
		print_row(row);
	return 0;
}

/* Checks that the interpreter is new enough and could import what it should preload. */
static int check_answer(const struct runtime *runtime, const json_t *said, struct err *err)
{
	const char *version = json_string_value(json_object_get(said, "version"));
	const json_t *lacks = json_object_get(said, "lacks");
	long major = 0;
	long minor = 0;
	char *end = NULL;

	major = strtol(version, &end, 10);
	if (*end == '.')
		minor = strtol(end + 1, NULL, 10);
	if (major < PYTHON_FLOOR_MAJOR ||
	    (major == PYTHON_FLOOR_MAJOR && minor < PYTHON_FLOOR_MINOR))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "Python %s is too old: %d.%d or later",
			       version, PYTHON_FLOOR_MAJOR, PYTHON_FLOOR_MINOR);

	for (size_t i = 0; i < runtime->preload.count; i++) {
		const char *module = runtime->preload.items[i];
		const char *why = json_string_value(json_object_get(lacks, module));

		if (why != NULL)
			return err_set(err, ERR_BAD_REQUEST, EINVAL, "cannot preload %s: %.300s",
				       module, why);
	}
	return 0;
}

static int try_runtime(const struct desk *desk, const struct runtime *runtime, json_t **ret_said,
		       struct err *err)
{
	json_auto_t *modules = list_to_json(&runtime->preload);
	json_t *said = NULL;
	struct trial trial = {0};
	int r;

	r = trial_open(&trial, err);
	if (r == 0)
		r = interview(&trial, runtime, &desk->plan, modules, &said, err);
	trial_close(&trial);
	if (r == 0)
		r = check_answer(runtime, said, err);
	if (r < 0) {
		json_decref(said);
		return r;
	}
	*ret_said = said;
	return 0;
}

static void set_text(char **member, const char *text)
{
	free(*member);
	*member = xstrdup(text);
}

/* Fills the runtime from the flags. --requirements makes a venv; its path goes to ret_made. */
static int describe(const struct desk *desk, struct runtime *runtime,
		    char ret_made[RUNTIME_PATH_MAX], struct err *err)
{
	const struct options *wish = desk->wish;
	AUTO_FREE char *real = NULL;
	char path[RUNTIME_PATH_MAX];
	const char *key = "";
	int r;

	if (!name_is_valid(runtime->name))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "%s: a name is letters, digits, '-', '_' and '.', at most 32",
			       runtime->name);
	if ((wish->python == NULL) == (wish->requirements == NULL))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "add takes either --python VENV or --requirements FILE");
	for (size_t i = 0; i < wish->preload.count; i++)
		text_list_add(&runtime->preload, wish->preload.items[i]);
	if (wish->pool > 0)
		runtime->pool = wish->pool;

	if (wish->requirements != NULL) {
		r = venv_make(runtime->name, wish->requirements, ret_made, err);
		if (r < 0)
			return r;
		set_text(&runtime->python, ret_made);
		real = realpath(wish->requirements, NULL);
		if (real != NULL)
			set_text(&runtime->requirements, real);
	} else {
		r = venv_absolute(wish->python, path, err);
		if (r < 0)
			return r;
		set_text(&runtime->python, path);
	}
	r = runtime_check(runtime, &key, err);
	return r < 0 ? err_wrap(err, "%s", key) : 0;
}

/* A daemon reads its runtimes when it starts. True if one runs that does not know this runtime. */
static bool is_daemon_behind(const struct desk *desk, const char *name, bool is_replaced)
{
	const struct client_where where = {.config = desk->config, .is_local = true};
	struct client *client = NULL;
	json_auto_t *answer = NULL;
	const json_t *runtime;
	struct err err = {0};
	bool is_known = false;
	size_t index;

	if (client_open(&where, &client, &err) < 0)
		return false;
	answer = client_json(client, "GET", "/v1/runtimes", NULL, &err);
	client_close(client);
	/* A daemon that refuses us may still lack the runtime. */
	if (answer == NULL)
		return err.kind == ERR_UNAUTHORIZED || err.kind == ERR_FORBIDDEN;
	json_array_foreach(json_object_get(answer, "runtimes"), index, runtime) {
		const char *known = json_string_value(json_object_get(runtime, "name"));

		is_known = is_known || (known != NULL && strcmp(known, name) == 0);
	}
	return !is_known || is_replaced;
}

static int add(const struct desk *desk, const char *name, struct err *err)
{
	const struct runtime *old =
		runtime_find(desk->config->runtimes, desk->config->runtime_count, name);
	char made[RUNTIME_PATH_MAX] = "";
	char file[RUNTIME_PATH_MAX] = "";
	struct runtime runtime = {0};
	json_auto_t *said = NULL;
	int r;

	runtime_init(&runtime, name);
	r = describe(desk, &runtime, made, err);
	if (r == 0)
		r = try_runtime(desk, &runtime, &said, err);
	if (r == 0)
		r = runtime_save(&runtime, file, err);
	if (r < 0) {
		venv_remove(made);
	} else {
		if (old != NULL && strcmp(old->python, runtime.python) != 0)
			venv_remove(old->python);
		if (desk->wish->is_json) {
			json_auto_t *row = row_to_json(&runtime, said, err);

			(void)json_object_set_new(row, "source", json_string(file));
			safe_print_json(row);
		} else {
			(void)printf("added %s: Python %s, %s\n%s", name,
				     json_string_value(json_object_get(said, "version")), file,
				     is_daemon_behind(desk, name, old != NULL)
					     ? "The running daemon will know it after a restart; "
					       "`viv run --no-daemon` knows it now.\n"
					     : "");
		}
	}
	runtime_done(&runtime);
	return r;
}

static int rm(const struct desk *desk, const char *name, struct err *err)
{
	const struct runtime *old =
		runtime_find(desk->config->runtimes, desk->config->runtime_count, name);
	char file[RUNTIME_PATH_MAX] = "";
	int r;

	r = runtime_remove(name, file, err);
	if (r < 0 && err->kind == ERR_NOT_FOUND && old != NULL)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "rm: %s is built in or comes from the config, and cannot be removed "
			       "here",
			       name);
	if (r < 0)
		return r;
	if (old != NULL)
		venv_remove(old->python);
	if (desk->wish->is_json) {
		json_auto_t *object = json_pack("{s:s, s:s}", "removed", name, "source", file);

		safe_print_json(object);
	} else {
		(void)printf("removed %s: %s\n", name, file);
	}
	return 0;
}

static int desk_open(struct desk *desk, struct err *err)
{
	const struct policy *policy = NULL;
	struct policy_grant grant;
	int r;

	r = config_load(desk->wish->config, &desk->config, err);
	if (r < 0)
		return r;
	policy = config_policy(desk->config, "default", err);
	if (policy == NULL)
		return -err->num;
	r = policy_narrow(policy, NULL, &grant, err);
	if (r < 0)
		return r;
	desk->plan = grant.plan;
	return 0;
}

struct runtime_verb {
	struct cmd_verb row;
	int (*run)(const struct desk *desk, const char *name, struct err *err);
};

static const struct runtime_verb verbs[] = {
	{{"list", "", "ask each interpreter, inside a sandbox, for its version and packages", 0, 0},
	 list},
	{{"add", "NAME", "an interpreter, a venv, or a new venv with what a file lists", 1, 1},
	 add},
	{{"rm", "NAME", "forget it; a venv that add made is deleted, too", 1, 1}, rm},
};

static int run(const struct cmd *cmd, const void *options, const struct operands *operands)
{
	struct desk desk = {.wish = options};
	struct err err = {0};
	ptrdiff_t verb = cmd_choose_verb(cmd, operands, &err);
	int r = verb < 0 ? (int)verb : desk_open(&desk, &err);

	if (r == 0)
		r = verbs[verb].run(&desk, operands->count > 1 ? operands->items[1] : NULL, &err);
	config_free(desk.config);
	return r < 0 ? cmd_fail(cmd, &err) : CMD_OK;
}

const struct cmd cmd_runtime = {
	.name = "runtime",
	.operands = "list|add NAME|rm NAME",
	.summary = "list, add and remove Python environments",
	.about = "A runtime is an interpreter, the packages it sees, and the modules that it "
		 "imports\n"
		 "ahead of time. It is built outside the sandbox and is read-only inside.\n"
		 "\n"
		 "add takes an existing interpreter or venv (--python), or makes a venv and "
		 "installs\n"
		 "the packages that a file lists (--requirements). The runtime is kept only if it\n"
		 "runs in a sandbox on this host and can import its preload.",
	.examples = "  viv runtime list\n"
		    "  viv runtime add geo --requirements geo.txt --preload shapely\n"
		    "  viv run --runtime geo map.py\n"
		    "  viv runtime rm geo",
	CMD_VERBS(verbs),
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};

// SPDX-License-Identifier: Apache-2.0
#include "cli/interview.h"

#include <errno.h>
#include <string.h>

#include "base/c.h"

#define IMPORT_TIMEOUT_MS 120000 /* everything of `full`, from a cold disk */

/* Imports each module of `_args` and prints the outcome as JSON in its last line. */
static const char question[] =
	"import importlib, importlib.metadata, json, sys\n"
	"found, lacks = {}, {}\n"
	"for name in _args:\n"
	"    try:\n"
	"        importlib.import_module(name)\n"
	"        found[name] = str(getattr(sys.modules[name.split('.')[0]], '__version__', ''))\n"
	"    except BaseException as e:\n"
	"        lacks[name] = (type(e).__name__ + ': ' + str(e))[:200]\n"
	"count = len({d.metadata['Name'] for d in importlib.metadata.distributions()})\n"
	"sys.stdout.write('\\n' + json.dumps({'version': '%d.%d.%d' % sys.version_info[:3],\n"
	"    'found': found, 'lacks': lacks, 'packages': count}) + '\\n')\n";

/* The last line is the answer; a package may have printed before it. */
static json_t *parse_last_line(const char *text)
{
	const char *line = text;

	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
		if (at[1] != '\0')
			line = at + 1;
	}
	return json_loads(line, 0, NULL);
}

/* Says why there is no answer: the verdict, and the last line of stderr. */
static int explain(const struct run *run, struct err *err)
{
	struct run_facts facts = run_facts(run);
	AUTO_FREE char *errors = trial_output(run, 2);
	size_t length = strlen(errors);
	const char *last = NULL;

	while (length > 0 && errors[length - 1] == '\n')
		errors[--length] = '\0';
	last = strrchr(errors, '\n');
	last = last != NULL ? last + 1 : errors;
	if (facts.verdict.kind == VERDICT_BACKEND)
		return err_set(err, ERR_UNSUPPORTED, ENOEXEC, "%.400s", facts.verdict.message);
	return err_set(err, ERR_BAD_REQUEST, ENOEXEC,
		       "this Python cannot load the runner (%s%s%.300s)",
		       verdict_name(facts.verdict.kind), last[0] != '\0' ? ": " : "", last);
}

int interview(struct trial *trial, const struct runtime *runtime, const struct plan *plan,
	      json_t *modules, json_t **ret_said, struct err *err)
{
	struct run_request request = trial_request(runtime, plan, question, IMPORT_TIMEOUT_MS);
	AUTO_FREE char *args = json_dumps(modules, JSON_COMPACT | JSON_ENSURE_ASCII);
	AUTO_FREE char *text = NULL;
	struct run *run = NULL;
	json_t *said = NULL;
	int r;

	if (args == NULL)
		return err_set(err, ERR_BAD_REQUEST, EILSEQ, "a module's name is not UTF-8");
	request.args = (struct run_bytes){.data = args, .size = strlen(args), .fd = -1};
	r = trial_run(trial, &request, &run, err);
	if (r < 0)
		return r;

	text = trial_output(run, 1);
	if (run_facts(run).verdict.kind == VERDICT_OK)
		said = parse_last_line(text);
	if (!json_is_string(json_object_get(said, "version")))
		r = explain(run, err);
	run_free(run);
	if (r < 0) {
		json_decref(said);
		return r;
	}

	*ret_said = said;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "session/remedy.h"

#include <stdio.h>
#include <string.h>

#include "base/c.h"

#define OTHER_POLICY "`viv policy list` shows them, `viv session new --policy NAME` takes one"

/* A percent sign stands for the detail. NULL: as over HTTP; in a session: as on the command line.
 */
static const struct row {
	const char *key;
	const char *words[REMEDY_PLACES]; /* in the order of enum remedy_place */
} rows[] = {
	{"timeout",
	 {"raise timeout_ms (the policy allows up to %) or do less in one run",
	  "raise --timeout (the policy allows up to %) or do less in one run", NULL,
	  "raise --timeout of `viv session run` (the policy allows up to %) or do less in one "
	  "run"}},
	{"timeout_max",
	 {"do less in one run: the policy allows no more than %; its timeout_max decides, and GET "
	  "/v1/policies lists others",
	  "do less in one run: the policy allows no more than %; `viv policy list` shows others, "
	  "--policy takes one",
	  "do less in one run: the policy allows no more than %",
	  "do less in one run: the policy allows no more than %, others may: " OTHER_POLICY}},
	{"memory",
	 {"load less at a time (chunks, fewer columns, smaller types), raise limits.memory up to "
	  "the policy's, or use a policy with more (GET /v1/policies lists them)",
	  "load less at a time (chunks, fewer columns, smaller types), raise --memory up to the "
	  "policy's, or use a policy with more (`viv policy list` shows them)",
	  "load less at a time (chunks, fewer columns, smaller types), or raise limits.memory up "
	  "to the policy's",
	  "load less at a time (chunks, fewer columns, smaller types), or work in a session whose "
	  "policy has more: " OTHER_POLICY}},
	{"output", {"print less, or write to a file below /workspace"}},
	{"disk",
	 {"write less, delete files in /workspace and /tmp, or raise limits.disk up to the "
	  "policy's",
	  "write less, delete files in /workspace and /tmp, or use a policy with more disk", NULL,
	  "write less, delete files in /workspace and /tmp, or work in a session whose policy has "
	  "more disk: " OTHER_POLICY}},
	{"disk_inputs",
	 {"send less, or raise limits.disk up to the policy's",
	  "give it less, or use a policy with more disk", NULL,
	  "give it less, or work in a session whose policy has more disk: " OTHER_POLICY}},
	{"crash",
	 {"a C library crashed: try smaller input, another version of it, or another way"}},
	{"syscall", {"the code asked for a system call that no sandbox has"}},
	{"backend",
	 {"`viv doctor` on the host shows what it lacks",
	  "`viv doctor` shows what this host lacks"}},
	{"remote", {"look at the machine that backends.remote.url names"}},
	{"denied", {"a person decides what runs under this policy: ask, or send other code"}},
	{"guard",
	 {"remove it, or use a policy whose guard allows it", NULL, NULL,
	  "remove it, or work in a session whose policy allows it: " OTHER_POLICY}},
	{"module",
	 {"% is not in this runtime; GET /v1/packages lists what is, and on the host `viv runtime "
	  "add NAME --requirements FILE` makes a runtime that has it",
	  "% is not in this runtime; --runtime takes another (`viv runtime list`), and `viv "
	  "runtime add NAME --requirements FILE` makes one that has it",
	  "% is not in this runtime, and nothing can be installed from here: do without it, or "
	  "ask whoever runs this server for a runtime that has it",
	  "% is not in this runtime; `viv session new --runtime NAME` takes another (`viv runtime "
	  "list`), for a session that is kept `viv session restart ID --runtime NAME`, and `viv "
	  "runtime add NAME --requirements FILE` makes one that has it"}},
	{"stdin",
	 {"give the run \"stdin\": a text, or \"live\" to send it later",
	  "give it your own with --stdin", "give the argument stdin",
	  "give it your own with `viv session run --stdin`"}},
	{"no_data",
	 {"% is there when \"data\" comes with the run, and none did",
	  "% is there when --data names a file, and none was named",
	  "% is there when the argument data is given, and it was not",
	  "% is there when `viv session run --data` names a file, and none was named"}},
	{"fresh",
	 {"% is not there: no \"data\" came, and this is the first run since the session was "
	  "started; what an earlier one had is gone, so send it again",
	  "% is not there: no data came, and this is the first run since the session was started; "
	  "what an earlier one had is gone, so give it again"}},
	{"damaged",
	 {"the code has changed what Python itself stands on (builtins, sys.modules): leave it as "
	  "it is; a session that has not gone back by itself goes on with POST "
	  "/v1/sessions/{id}/rollback to an older checkpoint, or /restart",
	  "the code has changed what Python itself stands on (builtins, sys.modules): leave it as "
	  "it is",
	  NULL,
	  "the code has changed what Python itself stands on (builtins, sys.modules): leave it as "
	  "it is; a session that has not gone back by itself goes on with `viv session rollback "
	  "ID CHECKPOINT`, or `viv session restart ID`"}},
	{"descriptors", {"close files that are open"}},
	{"network",
	 {"this sandbox has no network; send what the code needs as \"files\" or \"data\"",
	  "this sandbox has no network; give it what the code needs with --file or --data",
	  "this sandbox has no network; give what the code needs in the arguments files or data",
	  "this sandbox has no network; give it what the code needs with `viv session put` or `viv "
	  "session run --data`"}},
	{"read_only", {"only /workspace and /tmp can be written"}},
};

static const struct row *find(const char *key, size_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strlen(rows[i].key) == size && memcmp(rows[i].key, key, size) == 0)
			return &rows[i];
	}
	return NULL;
}

const char *remedy_key(const char *key, size_t size)
{
	const struct row *row = find(key, size);

	return row != NULL ? row->key : NULL;
}

void remedy_say(const char *key, const char *detail, enum remedy_place place, char *text,
		size_t room)
{
	const struct row *row = key != NULL ? find(key, strlen(key)) : NULL;
	const char *words = row != NULL ? row->words[place] : "";
	size_t at = 0;

	if (words == NULL && place == REMEDY_SESSION)
		words = row->words[REMEDY_CLI];
	if (words == NULL)
		words = row->words[REMEDY_HTTP];
	text[0] = '\0';
	for (; *words != '\0' && at + 1 < room; words++) {
		int n = *words == '%' ? snprintf(text + at, room - at, "%s", detail)
				      : snprintf(text + at, room - at, "%c", *words);

		at += (size_t)n;
	}
}

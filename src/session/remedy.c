// SPDX-License-Identifier: Apache-2.0
#include "session/remedy.h"

#include <stdio.h>
#include <string.h>

#include "base/c.h"

#define OTHER_POLICY "`viv policy list` shows them, `viv session new --policy NAME` takes one"
#define MEMORY_TAKEN "chunks, fewer columns, smaller types; files in /workspace and /tmp count, too"

/* A percent sign stands for the detail. NULL: the words for HTTP or, for REMEDY_SESSION, those for
 * the command line. */
static const struct row {
	const char *key;
	const char *words[REMEDY_PLACES]; /* in the order of enum remedy_place */
} rows[] = {
	{"timeout",
	 {"raise timeout_ms (the policy allows up to %) or do less in one run",
	  "raise --timeout (the policy allows up to %) or do less in one run", NULL,
	  "raise --timeout of `viv session run` (the policy allows up to %) or do less in one "
	  "run",
	  "do less in one run, or give it more time if the request can (the policy allows up to "
	  "%)"}},
	{"timeout_max",
	 {"do less in one run: the policy allows no more than %; its timeout_max decides, and GET "
	  "/v1/policies lists others",
	  "do less in one run: the policy allows no more than %; `viv policy list` shows others, "
	  "--policy takes one",
	  "do less in one run: the policy allows no more than %",
	  "do less in one run: the policy allows no more than %, others may: " OTHER_POLICY,
	  "do less in one run: the policy allows no more than %"}},
	{"memory",
	 {"load less at a time (" MEMORY_TAKEN "), or use a policy with more (GET /v1/policies "
	  "lists them); limits.memory, if the request lowered it, can be raised up to the policy's",
	  "load less at a time (" MEMORY_TAKEN "), or use a policy with more (`viv policy list` "
	  "shows them); --memory, if it was given, can be raised up to the policy's",
	  "load less at a time (" MEMORY_TAKEN "); limits.memory, if the call lowered it, can be "
	  "raised up to the policy's",
	  "load less at a time (" MEMORY_TAKEN
	  "), or work in a session whose policy has more: " OTHER_POLICY,
	  "load less at a time (" MEMORY_TAKEN ")"}},
	{"output", {"print less, or write to a file below /workspace"}},
	{"disk",
	 {"write less, delete files in /workspace and /tmp, or use a policy with more disk (GET "
	  "/v1/policies lists them); limits.disk, if the request lowered it, can be raised up to "
	  "the policy's",
	  "write less, delete files in /workspace and /tmp, or use a policy with more disk (`viv "
	  "policy list` shows them)",
	  "write less, or delete files in /workspace and /tmp; limits.disk, if the call lowered "
	  "it, can be raised up to the policy's",
	  "write less, delete files in /workspace and /tmp, or work in a session whose policy has "
	  "more disk: " OTHER_POLICY,
	  "write less, or delete files in /workspace and /tmp"}},
	{"disk_inputs",
	 {"send less, or use a policy with more disk (GET /v1/policies lists them); limits.disk, "
	  "if the request lowered it, can be raised up to the policy's",
	  "give it less, or use a policy with more disk (`viv policy list` shows them)",
	  "send less; limits.disk, if the call lowered it, can be raised up to the policy's",
	  "give it less, or work in a session whose policy has more disk: " OTHER_POLICY,
	  "send less"}},
	{"crash",
	 {"a C library crashed: try smaller input, another version of it, or another way"}},
	{"syscall", {"the code asked for a system call that no sandbox has"}},
	{"backend",
	 {"`viv doctor` on the host shows what it lacks",
	  "`viv doctor` shows what this host lacks"}},
	{"again", {"run it again"}},
	{"unread",
	 {"POST /v1/sessions/{id}/rollback goes back to another state (GET "
	  "/v1/sessions/{id}/checkpoints lists them); if the files can be read, POST "
	  "/v1/sessions/{id}/restart begins anew with them",
	  "`viv session rollback ID CHECKPOINT` goes back to another state (`viv session "
	  "checkpoints ID` lists them); if the files can be read, `viv session restart ID` begins "
	  "anew with them",
	  "rollback goes back to another state, list_checkpoints lists them", NULL,
	  "go back to another state of the session, or work in another session"}},
	{"gone",
	 {"the session is gone: make another one",
	  "the session is gone: `viv session new` makes another one",
	  "the session is gone: make another one"}},
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
	  "runtime add NAME --requirements FILE` makes one that has it",
	  "% is not in this runtime, and nothing can be installed from here: do without it, or ask "
	  "whoever runs this server for a runtime that has it"}},
	{"stdin",
	 {"give the run \"stdin\": a text, or \"live\" to send it later",
	  "give it your own with --stdin", "give the argument stdin",
	  "give it your own with `viv session run --stdin`", "send the run its input"}},
	{"no_data",
	 {"% is there when the run is sent with \"data\", and this one was not",
	  "% is there when --data names a file, and none was named",
	  "% is there when the argument data is given, and it was not",
	  "% is there when `viv session run --data` names a file, and none was named"}},
	{"fresh",
	 {"% is not there: the run was sent without \"data\", and it is the first since the "
	  "session was started; the data of earlier runs is gone, so send it again",
	  "% is not there: the run got no data, and it is the first since the session was started; "
	  "the data of earlier runs is gone, so give it again"}},
	{"damaged",
	 {"the code has changed what Python itself stands on (builtins, sys.modules): leave it as "
	  "it is; a session that has not gone back by itself goes on with POST "
	  "/v1/sessions/{id}/rollback to an older checkpoint, or /restart",
	  "the code has changed what Python itself stands on (builtins, sys.modules): leave it as "
	  "it is",
	  NULL,
	  "the code has changed what Python itself stands on (builtins, sys.modules): leave it as "
	  "it is; a session that has not gone back by itself goes on with `viv session rollback "
	  "ID CHECKPOINT`, or `viv session restart ID`",
	  "the code has changed what Python itself stands on (builtins, sys.modules): leave it as "
	  "it is"}},
	{"descriptors", {"close files that are open"}},
	{"network",
	 {"this sandbox has no network; send what the code needs as \"files\" or \"data\"",
	  "this sandbox has no network; give it what the code needs with --file or --data",
	  "this sandbox has no network; give what the code needs in the arguments files or data",
	  "this sandbox has no network; give it what the code needs with `viv session put` or `viv "
	  "session run --data`",
	  "this sandbox has no network; send what the code needs along with it"}},
	{"permissions",
	 {"the permissions of the file, or of its folder, forbid it; os.chmod changes them"}},
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

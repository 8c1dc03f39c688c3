// SPDX-License-Identifier: Apache-2.0
/* Runs that a person must allow; they are held before admission. Where there are several tokens,
 * none decides on its own runs. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/c.h"
#include "base/log.h"
#include "op/announce.h"
#include "op/inputs.h"
#include "op/op_run.h"
#include "op/run_log.h"

#define MESSAGE_MAX 700

/* ---- the beginning ---- */

static const char *skip(const char *at, const char *end, const char *what)
{
	while (at < end && *at != '\0' && strchr(what, *at) != NULL)
		at++;
	return at;
}

static bool is_utf8(const char *at, const char *end)
{
	const char *name = at;

	while (at < end && (isalnum((unsigned char)*at) || *at == '-' || *at == '_' || *at == '.'))
		at++;
	return (at - name == 5 && strncasecmp(name, "utf-8", 5) == 0) ||
	       (at - name == 5 && strncasecmp(name, "utf_8", 5) == 0) ||
	       (at - name == 4 && strncasecmp(name, "utf8", 4) == 0);
}

static bool is_utf8_line(const char *at, const char *end)
{
	static const char word[] = "coding";

	at = skip(at, end, " \t\f\v\r");
	if (at >= end || *at != '#')
		return true;
	while ((at = memmem(at, (size_t)(end - at), word, strlen(word))) != NULL) {
		at += strlen(word);
		if (at < end && (*at == ':' || *at == '=') &&
		    !is_utf8(skip(at + 1, end, " \t"), end))
			return false;
	}
	return true;
}

/* A comment in the first two lines can declare the encoding of the code (PEP 263). A person is
 * shown the code as UTF-8, and in another encoding a comment can hide code: in UTF-7, +AAo- is a
 * newline. This check rejects more declarations than Python would follow, never fewer. */
static bool is_read_as_shown(const struct run_bytes *code)
{
	const char *line = code->data;
	const char *end = line + code->size;

	for (int i = 0; i < 2 && line < end; i++) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!is_utf8_line(line, stop != NULL ? stop : end))
			return false;
		line = stop != NULL ? stop + 1 : end;
	}
	return true;
}

int served_keep(struct served_run *served, struct run_request *request, struct err *err)
{
	struct buf inputs;
	int r;

	/* A person can only allow what is shown in full. */
	if (request->code.data == NULL || request->code.size > RUN_LOG_CODE_MAX)
		return err_field(err, ERR_TOO_LARGE, EFBIG, "code",
				 "under the policy %s a person must read it first, so it may have "
				 "at most %u KiB",
				 served->policy->name, RUN_LOG_CODE_MAX >> 10);
	if (!request->kind.runtime->is_shell && request->args.size > INPUTS_ARGS_MAX)
		return err_field(
			err, ERR_TOO_LARGE, EFBIG, "args",
			"under the policy %s a person must read them first, so they may have "
			"at most %u KiB",
			served->policy->name, INPUTS_ARGS_MAX >> 10);
	if (!request->is_command && !is_read_as_shown(&request->code))
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "code",
				 "declares an encoding other than UTF-8, but under the policy %s a "
				 "person reads it as UTF-8; remove the `coding` comment",
				 served->policy->name);
	/* Loading a pickle runs code that nobody can read beforehand. */
	if (request->saved.data != NULL)
		return err_field(
			err, ERR_FORBIDDEN, EPERM, "saved_state",
			"under the policy %s a person allows what runs, but "
			"nobody can read what a saved state would do; use a session instead",
			served->policy->name);
	buf_init(&inputs, INPUTS_MAX);
	r = inputs_put(request, &inputs);
	if (r == 0)
		served->inputs = xtext(buf_string(&inputs));
	buf_done(&inputs);
	if (r < 0)
		return err_field(err, ERR_TOO_LARGE, EFBIG, "env",
				 "the names of the run's inputs are too long to show");
	request->is_held = true;
	request->held_ms = (uint32_t)served->policy->approve_ms;
	served->held_ms = wall_ms();
	served->until_ms = served->held_ms + request->held_ms;
	return 0;
}

/* ---- the decision ---- */

int served_check_decider(const struct served_run *served, const struct op_caller *caller,
			 struct err *err)
{
	bool is_own = caller->token != NULL && strcmp(caller->name, served->token) == 0;

	if (!caller->may_decide && served->engine->config->token_count > 0)
		return err_set(
			err, ERR_FORBIDDEN, EPERM,
			"this token decides nothing; use one with `oversee: true`, or ask as the "
			"daemon's own user on its unix socket");
	if (caller->has_wrong_key)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "the key in the header Vivarium-Approve is wrong; the right one is "
			       "in <state_dir>/approve.key");
	if (!caller->may_decide)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "send the header Vivarium-Approve with the key of "
			       "<state_dir>/approve.key, or ask as the daemon's own user on its "
			       "unix socket");
	/* With a single token nobody else could decide. */
	if (is_own && served->engine->config->token_count > 1)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "a token cannot decide on its own runs: %s asked for this one",
			       served->token);
	if (!served->is_held || !run_is_held(served->run))
		return err_set(err, ERR_CONFLICT, EALREADY, "the run is not held: %s",
			       served->decided_by[0] != '\0' ? "it has been decided already"
							     : "it waits for no decision");
	return 0;
}

static void note_decider(struct served_run *served, const struct op_caller *caller,
			 const char *what)
{
	if (caller->token != NULL)
		(void)snprintf(served->decided_by, sizeof(served->decided_by), "%s", caller->name);
	else
		(void)snprintf(served->decided_by, sizeof(served->decided_by), "%s",
			       strcmp(caller->peer, "unix") == 0 ? "the daemon's user"
								 : "the holder of the key");
	log_event(LOG_LEVEL_INFO, what, "run=%s by=%s peer=%s", served->id, served->decided_by,
		  caller->peer);
}

int served_allow(struct served_run *served, const struct op_caller *caller, struct err *err)
{
	struct engine *engine = served->engine;
	int r = served_check_decider(served, caller, err);

	if (r < 0)
		return r;
	if (engine->is_stopping)
		return err_set(err, ERR_BUSY, ESHUTDOWN, "the daemon is stopping");
	if (engine->pool == NULL)
		return err_set(err, ERR_BUSY, EAGAIN, POOL_AWAY "; the run stays held");
	note_decider(served, caller, "run.allow");
	served->is_held = false;
	log_set_held(served->log, false);
	if (admission_allow(engine->admission, &served->ticket) == ADMISSION_NOW) {
		served_begin(served);
		return 0;
	}
	run_allow_later(served->run);
	announce_run(engine, served->log);
	return 0;
}

int served_deny(struct served_run *served, const struct op_caller *caller, const char *why,
		struct err *err)
{
	char message[MESSAGE_MAX];
	int r = served_check_decider(served, caller, err);

	if (r < 0)
		return r;
	note_decider(served, caller, "run.deny");
	(void)snprintf(message, sizeof(message), "denied by %s%s%s; nothing ran",
		       served->decided_by, why != NULL && why[0] != '\0' ? ": " : "",
		       why != NULL ? why : "");
	run_deny(served->run, message, false); /* also frees `served` */
	return 0;
}

static struct served_run *first_held(const struct engine *engine)
{
	struct served_run *served = NULL;

	LIST_FOREACH(served, &engine->runs, entry) {
		if (served->is_held && served->run != NULL)
			break;
	}
	return served;
}

void served_deny_held(struct engine *engine, const char *message)
{
	struct served_run *served = NULL;

	/* Starts from the head again: the end of one run may end others. */
	while ((served = first_held(engine)) != NULL)
		run_deny(served->run, message, true);
}

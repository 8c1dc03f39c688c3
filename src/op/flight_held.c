// SPDX-License-Identifier: Apache-2.0
/* Runs that a person must allow: held before they are admitted. Whoever asks never decides. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/c.h"
#include "base/log.h"
#include "op/announce.h"
#include "op/flight.h"
#include "op/inputs.h"

#define MESSAGE_MAX 700

/* ---- the beginning ---- */

bool flight_is_to_be_held(const struct op_call *call, const struct flight_kind *kind,
			  const struct session *session)
{
	const struct op_run_args *args = call->args; /* of a run; another kind has its own */
	const char *asked = kind == NULL ? args->policy : kind->policy(call);
	const struct policy *policy = NULL;
	struct err err = {0};

	if (kind == NULL && args->is_probe)
		return false;
	if (session != NULL)
		policy = session_policy(session);
	else
		policy = op_policy(call->engine->config, &call->caller, asked, &err);
	return policy != NULL && policy->approve;
}

uint64_t flight_bytes(const struct op_call *call, const struct flight_kind *kind)
{
	const struct op_run_args *args = call->args;

	if (kind != NULL)
		return KIB; /* a command and names */
	return KIB + args->code.size + args->command.size + args->args.size + args->data.size +
	       args->files_json.size + args->stdin_bytes.size + args->saved.size;
}

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

/* A comment in the first two lines can say how the code is written (PEP 263), and in another
 * encoding than the one it is shown in a comment can be code: in utf-7 +AAo- ends a line. This sees
 * more in such a comment than Python does, never less. */
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

int flight_keep(struct flight *flight, struct run_request *request, struct err *err)
{
	struct buf inputs;
	int r;

	/* Nobody can allow what he cannot see whole. */
	if (request->code.data == NULL || request->code.size > FLIGHT_CODE_MAX)
		return err_set(err, ERR_TOO_LARGE, EFBIG,
			       "code: under the policy %s a person reads it first; at most %u KiB",
			       flight->policy->name, FLIGHT_CODE_MAX >> 10);
	if (!request->kind.runtime->is_shell && request->args.size > INPUTS_ARGS_MAX)
		return err_set(
			err, ERR_TOO_LARGE, EFBIG,
			"args: under the policy %s a person reads them first; at most %u KiB",
			flight->policy->name, INPUTS_ARGS_MAX >> 10);
	if (!request->is_command && !is_read_as_shown(&request->code))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "code: it says that it is not utf-8, and under the policy %s a "
			       "person reads it as that; take the comment with `coding` out",
			       flight->policy->name);
	/* A pickle runs when it is read, and says nothing to who looks at it. */
	if (request->saved.data != NULL)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "saved_state: under the policy %s a person allows what runs, and "
			       "nobody can read what a saved state would do; use a session instead",
			       flight->policy->name);
	buf_init(&inputs, INPUTS_MAX);
	r = inputs_put(request, &inputs);
	if (r == 0)
		flight->inputs = xtext(buf_string(&inputs));
	buf_done(&inputs);
	if (r < 0)
		return err_set(err, ERR_TOO_LARGE, EFBIG,
			       "env: the names of what comes with the code are too long to show");
	request->is_held = true;
	request->held_ms = (uint32_t)flight->policy->approve_ms;
	flight->held_ms = wall_ms();
	flight->until_ms = flight->held_ms + request->held_ms;
	return 0;
}

/* ---- the decision ---- */

int flight_check_decider(const struct flight *flight, const struct op_caller *caller,
			 struct err *err)
{
	bool is_own = caller->token != NULL && strcmp(caller->name, flight->token) == 0;

	if (!caller->may_decide && flight->engine->config->token_count > 0)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "this token decides nothing; one with `oversee: true` does, or the "
			       "daemon's own user on its unix socket");
	if (!caller->may_decide)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "send the header Vivarium-Approve with the key of "
			       "<state_dir>/approve.key, or ask as the daemon's own user on its "
			       "unix socket");
	/* Where there is one token, there is no other that could ask. */
	if (is_own && flight->engine->config->token_count > 1)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "nobody decides on his own runs: %s asked for this one",
			       flight->token);
	if (!flight->is_held || !run_is_held(flight->run))
		return err_set(err, ERR_CONFLICT, EALREADY, "the run is not held: %s",
			       flight->decided_by[0] != '\0' ? "it was decided already"
							     : "it is on its way");
	return 0;
}

static void note_decider(struct flight *flight, const struct op_caller *caller, const char *what)
{
	if (caller->token != NULL)
		(void)snprintf(flight->decided_by, sizeof(flight->decided_by), "%s", caller->name);
	else
		(void)snprintf(flight->decided_by, sizeof(flight->decided_by), "%s",
			       strcmp(caller->peer, "unix") == 0 ? "the daemon's user"
								 : "the holder of the key");
	log_event(LOG_LEVEL_INFO, what, "run=%s by=%s peer=%s", flight->id, flight->decided_by,
		  caller->peer);
}

void flight_begin(struct flight *flight)
{
	struct err why = {0};

	flight->admitted_ns = now_ns();
	if (flight->engine->pool != NULL) {
		run_allow(flight->run, flight->engine->pool);
		return;
	}
	(void)err_set(&why, ERR_BUSY, EAGAIN, "viv-launch is being started again");
	run_abandon(flight->run, false, &why);
}

int flight_allow(struct flight *flight, const struct op_caller *caller, struct err *err)
{
	struct engine *engine = flight->engine;
	int r = flight_check_decider(flight, caller, err);

	if (r < 0)
		return r;
	if (engine->is_stopping)
		return err_set(err, ERR_BUSY, ESHUTDOWN, "the daemon is stopping");
	if (engine->pool == NULL)
		return err_set(err, ERR_BUSY, EAGAIN,
			       "viv-launch is being started again; the run stays held");
	note_decider(flight, caller, "run.allow");
	flight->is_held = false;
	log_set_held(flight->log, false);
	if (admission_allow(engine->admission, &flight->ticket) == ADMISSION_NOW) {
		flight_begin(flight);
		return 0;
	}
	run_allow_later(flight->run);
	announce_run(engine, flight->log);
	return 0;
}

int flight_deny(struct flight *flight, const struct op_caller *caller, const char *why,
		struct err *err)
{
	char message[MESSAGE_MAX];
	int r = flight_check_decider(flight, caller, err);

	if (r < 0)
		return r;
	note_decider(flight, caller, "run.deny");
	(void)snprintf(message, sizeof(message), "denied by %s%s%s; nothing ran",
		       flight->decided_by, why != NULL && why[0] != '\0' ? ": " : "",
		       why != NULL ? why : "");
	run_deny(flight->run, message); /* the flight goes with it */
	return 0;
}

static struct flight *first_held(const struct engine *engine)
{
	struct flight *flight = NULL;

	LIST_FOREACH(flight, &engine->flights, entry) {
		if (flight->is_held && flight->run != NULL)
			break;
	}
	return flight;
}

void flights_deny_held(struct engine *engine, const char *message)
{
	struct flight *flight = NULL;

	/* From the first again: the end of one may be the end of others. */
	while ((flight = first_held(engine)) != NULL)
		run_deny(flight->run, message);
}

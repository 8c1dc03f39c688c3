// SPDX-License-Identifier: Apache-2.0
#include "session/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "policy/number.h"

#define OUTPUT_FACTOR 16U /* how far past its limit a stream may go */

/* Name, exit status where the verdict itself decides it (-1: the code's own), may a runner claim
 * it? */
static const struct kind_row {
	const char *name;
	int exit_status;
	bool is_testimony;
} kinds[] = {
	[VERDICT_NONE] = {"none", 125, false},
	[VERDICT_OK] = {"ok", 0, true},
	[VERDICT_EXCEPTION] = {"exception", 1, true},
	[VERDICT_EXIT] = {"exit", -1, true},
	[VERDICT_TIMEOUT] = {"timeout", 124, false},
	[VERDICT_MEMORY] = {"memory", 137, false},
	[VERDICT_KILLED] = {"killed", -1, false},
	[VERDICT_OUTPUT] = {"output", 1, false},
	[VERDICT_DISK] = {"disk", 1, true},
	[VERDICT_GUARD] = {"guard", 126, true},
	[VERDICT_DENIED] = {"denied", 126, false},
	[VERDICT_INTERRUPTED] = {"interrupted", 130, true},
	[VERDICT_CANCELLED] = {"cancelled", 143, false},
	[VERDICT_BACKEND] = {"backend", 125, false},
};

/* Names of exceptions by which libraries say that they reached nobody. One that a local socket can
 * raise, too, has no place here. */
static const char *const unreached[] = {
	"gaierror",
	"herror",
	"URLError",
	"ConnectionError",
	"ConnectError",
	"NewConnectionError",
	"MaxRetryError",
	"NameResolutionError",
	"ClientConnectorError",
	"ClientConnectorDNSError",
	"APIConnectionError",
	"EndpointConnectionError",
	"ServerNotFoundError",
};

const char *verdict_name(enum verdict_kind kind)
{
	return kinds[kind].name;
}

enum verdict_kind verdict_claimed(const char *name, size_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (kinds[i].is_testimony && strlen(kinds[i].name) == size &&
		    memcmp(kinds[i].name, name, size) == 0)
			return (enum verdict_kind)i;
	}
	return VERDICT_NONE;
}

int verdict_exit_status(const struct verdict *verdict)
{
	int status = kinds[verdict->kind].exit_status;

	return status >= 0 ? status : verdict->exit_code & 0xff;
}

static void say(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(char *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, VERDICT_TEXT_MAX, format, args);
	va_end(args);
}

void verdict_set_remedy(struct verdict *verdict, const char *key, const char *detail)
{
	verdict->remedy_key = remedy_key(key, strlen(key));
	(void)snprintf(verdict->remedy_detail, sizeof(verdict->remedy_detail), "%s", detail);
	remedy_say(verdict->remedy_key, verdict->remedy_detail, REMEDY_HTTP, verdict->remedy,
		   sizeof(verdict->remedy));
}

void verdict_remedy(const struct verdict *verdict, enum remedy_place place, char *text, size_t room)
{
	if (verdict->remedy_key != NULL)
		remedy_say(verdict->remedy_key, verdict->remedy_detail, place, text, room);
	else
		(void)snprintf(text, room, "%s", verdict->remedy);
}

static void set_kind(struct verdict *verdict, enum verdict_kind kind)
{
	verdict->kind = kind;
	verdict->exit_code = kinds[kind].exit_status;
}

static void set_timeout(struct verdict *verdict, const struct verdict_facts *facts)
{
	char time[32];
	char most[32];

	set_kind(verdict, VERDICT_TIMEOUT);
	number_format(NUMBER_MS, facts->timeout_ms, time, sizeof(time));
	number_format(NUMBER_MS, facts->timeout_max_ms, most, sizeof(most));
	verdict->limit = "timeout_ms";
	verdict->limit_value = facts->timeout_ms;
	say(verdict->message, "stopped after %s: the run took longer than its timeout", time);
	verdict_set_remedy(verdict,
			   facts->timeout_max_ms > facts->timeout_ms ? "timeout" : "timeout_max",
			   most);
}

static void set_memory(struct verdict *verdict, const struct verdict_facts *facts)
{
	char most[32];
	char peak[32] = "not known";

	set_kind(verdict, VERDICT_MEMORY);
	number_format(NUMBER_BYTES, facts->memory_max, most, sizeof(most));
	verdict->limit = "memory";
	verdict->limit_value = facts->memory_max;
	verdict->peak = facts->exit.peak;
	if (verdict->peak > 0)
		(void)snprintf(peak, sizeof(peak), "%.1f MiB", (double)verdict->peak / (double)MIB);
	say(verdict->message, "out of memory: the limit is %s, the peak was %s", most, peak);
	verdict_set_remedy(verdict, "memory", "");
}

static void set_locks(struct verdict *verdict)
{
	set_kind(verdict, VERDICT_MEMORY);
	verdict->limit = "locks";
	verdict->limit_value = PLAN_LOCKS_MAX;
	say(verdict->message,
	    "ended: it held more than %d file locks, which are memory of the "
	    "kernel",
	    PLAN_LOCKS_MAX);
	say(verdict->remedy, "lock files as a whole, or fewer ranges of them");
}

static void set_output(struct verdict *verdict, const struct verdict_facts *facts)
{
	char most[32];

	set_kind(verdict, VERDICT_OUTPUT);
	number_format(NUMBER_BYTES, facts->output_max, most, sizeof(most));
	verdict->limit = "output";
	verdict->limit_value = facts->output_max;
	say(verdict->message, "ended: it wrote more than %u times the output limit of %s",
	    OUTPUT_FACTOR, most);
	verdict_set_remedy(verdict, "output", "");
}

static void set_killed(struct verdict *verdict, int number, const char *why)
{
	const char *name = sigabbrev_np(number);

	verdict->kind = VERDICT_KILLED;
	verdict->signal = number;
	verdict->exit_code = 128 + number;
	if (why != NULL)
		say(verdict->message, "SIG%s: %s", name != NULL ? name : "?", why);
	else
		say(verdict->message, "SIG%s: the interpreter was ended by a signal",
		    name != NULL ? name : "?");
	if (number == SIGSEGV || number == SIGBUS || number == SIGABRT || number == SIGILL)
		verdict_set_remedy(verdict, "crash", "");
	else if (number == SIGSYS)
		verdict_set_remedy(verdict, "syscall", "");
}

/* The interpreter ended without a word: its exit status is all there is. */
static void set_exit(struct verdict *verdict, const struct box_exit *exit, bool is_session)
{
	if (exit->signal != 0) {
		set_killed(verdict, exit->signal, NULL);
		return;
	}
	set_kind(verdict, exit->code == 0 && !is_session ? VERDICT_OK : VERDICT_EXIT);
	verdict->exit_code = exit->code;
	if (verdict->kind == VERDICT_EXIT)
		say(verdict->message, "exited with status %d", exit->code);
}

static void set_backend(struct verdict *verdict, const struct err *why)
{
	set_kind(verdict, VERDICT_BACKEND);
	say(verdict->message, "%s",
	    why->kind != ERR_NONE ? why->text : "the sandbox ended and nobody knows why");
	verdict_set_remedy(verdict, "backend", "");
}

/* "key" or "key:detail", from a sandbox: the words are our own, whatever it says. */
static void take_remedy(struct verdict *verdict, const char *claim)
{
	size_t size = strcspn(claim, ":");
	const char *key = remedy_key(claim, size);

	if (key != NULL)
		verdict_set_remedy(verdict, key, claim[size] == ':' ? claim + size + 1 : "");
}

static bool is_unreached(const char *error_type)
{
	for (size_t i = 0; i < ARRAY_LEN(unreached); i++) {
		if (strcmp(error_type, unreached[i]) == 0)
			return true;
	}
	return false;
}

/* That there is no network is a fact, and no claim: where the wall does not stand, it is not the
 * reason. */
static void check_network(struct verdict *verdict, const struct verdict_facts *facts,
			  const struct verdict_testimony *testimony)
{
	bool is_claimed =
		verdict->remedy_key != NULL && strcmp(verdict->remedy_key, "network") == 0;

	if (is_claimed && !facts->is_offline) {
		verdict->remedy_key = NULL;
		verdict->remedy[0] = '\0';
	} else if (verdict->remedy_key == NULL && facts->is_offline &&
		   is_unreached(testimony->error_type)) {
		verdict_set_remedy(verdict, "network", "");
	}
}

static void set_testimony(struct verdict *verdict, const struct verdict_facts *facts,
			  const struct verdict_testimony *testimony)
{
	verdict->kind = testimony->kind;
	verdict->is_by_runner = true;
	verdict->exit_code = kinds[testimony->kind].exit_status;
	if (verdict->exit_code < 0)
		verdict->exit_code = testimony->exit_code;
	(void)snprintf(verdict->message, sizeof(verdict->message), "%s", testimony->message);
	take_remedy(verdict, testimony->remedy);
	if (testimony->kind == VERDICT_DISK) {
		verdict->limit = "disk";
		if (verdict->remedy_key == NULL)
			verdict_set_remedy(verdict, "disk", "");
	}
	if (testimony->kind != VERDICT_EXCEPTION)
		return;
	check_network(verdict, facts, testimony);
	if (verdict->message[0] == '\0' && testimony->error_type[0] != '\0')
		say(verdict->message, "%s: %s", testimony->error_type, testimony->error_message);
}

struct verdict verdict_of(const struct verdict_facts *facts,
			  const struct verdict_testimony *testimony)
{
	const struct box_exit *exit = &facts->exit;
	struct verdict verdict = {0};

	if (facts->is_denied) {
		set_kind(&verdict, VERDICT_DENIED);
		say(verdict.message, "%s",
		    facts->denial[0] != '\0' ? facts->denial : facts->why.text);
		if (facts->denial[0] != '\0')
			verdict_set_remedy(&verdict, "denied", "");
	} else if (facts->is_interrupted) {
		set_kind(&verdict, VERDICT_INTERRUPTED);
		say(verdict.message, "interrupted");
	} else if (facts->is_cancelled) {
		set_kind(&verdict, VERDICT_CANCELLED);
		say(verdict.message, "cancelled");
	} else if (facts->is_output_exceeded) {
		set_output(&verdict, facts);
	} else if (facts->has_exit && exit->cause == BOX_CAUSE_LOCKS) {
		set_locks(&verdict);
	} else if (facts->has_exit && (exit->cause == BOX_CAUSE_MEMORY || exit->oom_kills > 0)) {
		set_memory(&verdict, facts);
	} else if (facts->is_timed_out || (facts->has_exit && exit->cause == BOX_CAUSE_DEADLINE)) {
		set_timeout(&verdict, facts);
	} else if (facts->is_protocol_broken) {
		set_killed(&verdict, SIGKILL, facts->why.text);
	} else if (testimony->is_given && facts->has_exit) {
		set_testimony(&verdict, facts, testimony);
	} else if (facts->has_exit && exit->cause == BOX_CAUSE_SELF) {
		set_exit(&verdict, exit, facts->is_session);
	} else {
		set_backend(&verdict, &facts->why);
	}
	return verdict;
}

bool verdict_is_fact(const struct verdict_facts *facts)
{
	return facts->is_denied || facts->is_interrupted || facts->is_cancelled ||
	       facts->is_output_exceeded || facts->is_timed_out || facts->why.kind != ERR_NONE;
}

int verdict_put(const struct verdict *verdict, struct buf *buf)
{
	int r = buf_format(buf, "{\"kind\":\"%s\",\"exit_code\":%d,\"signal\":",
			   verdict_name(verdict->kind), verdict->exit_code);

	if (r == 0)
		r = verdict->signal != 0 ? buf_format(buf, "%d", verdict->signal)
					 : buf_text(buf, "null");
	if (r == 0)
		r = buf_text(buf, ",\"message\":");
	if (r == 0)
		r = json_put_text(buf, verdict->message);
	if (r == 0)
		r = buf_text(buf, ",\"remedy\":");
	if (r == 0)
		r = json_put_text(buf, verdict->remedy);
	if (r == 0 && verdict->remedy_key != NULL)
		r = buf_format(buf, ",\"remedy_key\":\"%s\"", verdict->remedy_key);
	else if (r == 0)
		r = buf_text(buf, ",\"remedy_key\":null");
	if (r == 0 && verdict->remedy_detail[0] != '\0')
		r = buf_text(buf, ",\"remedy_detail\":");
	if (r == 0 && verdict->remedy_detail[0] != '\0')
		r = json_put_text(buf, verdict->remedy_detail);
	if (r == 0 && verdict->limit != NULL)
		r = buf_format(buf, ",\"limit\":\"%s\"", verdict->limit);
	else if (r == 0)
		r = buf_text(buf, ",\"limit\":null");
	if (r == 0 && verdict->limit_value > 0)
		r = buf_format(buf, ",\"limit_value\":%llu",
			       (unsigned long long)verdict->limit_value);
	if (r == 0)
		r = verdict->peak > 0
			    ? buf_format(buf, ",\"peak\":%llu", (unsigned long long)verdict->peak)
			    : buf_text(buf, ",\"peak\":null");
	if (r == 0)
		r = buf_format(buf, ",\"by\":\"%s\"}",
			       verdict->is_by_remote   ? "remote"
			       : verdict->is_by_runner ? "runner"
						       : "supervisor");
	return r;
}

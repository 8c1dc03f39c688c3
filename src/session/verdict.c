// SPDX-License-Identifier: Apache-2.0
#include "session/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "policy/number.h"

#define OUTPUT_FACTOR 16U /* how far past its limit a stream may go */

static const char *const kind_names[] = {
	[VERDICT_NONE] = "", /* not over yet */
	[VERDICT_OK] = "ok",
	[VERDICT_EXCEPTION] = "exception",
	[VERDICT_EXIT] = "exit",
	[VERDICT_TIMEOUT] = "timeout",
	[VERDICT_MEMORY] = "memory",
	[VERDICT_KILLED] = "killed",
	[VERDICT_OUTPUT] = "output",
	[VERDICT_DISK] = "disk",
	[VERDICT_GUARD] = "guard",
	[VERDICT_DENIED] = "denied",
	[VERDICT_INTERRUPTED] = "interrupted",
	[VERDICT_CANCELLED] = "cancelled",
	[VERDICT_BACKEND] = "backend",
	[VERDICT_BACKEND + 1] = NULL,
};

/* The exit status if the verdict decides it (-1: the code's own), and whether a runner may claim
 * this verdict. */
static const struct kind_row {
	int exit_status;
	bool is_testimony;
} kinds[] = {
	[VERDICT_NONE] = {125, false},      [VERDICT_OK] = {0, true},
	[VERDICT_EXCEPTION] = {1, true},    [VERDICT_EXIT] = {-1, true},
	[VERDICT_TIMEOUT] = {124, false},   [VERDICT_MEMORY] = {137, false},
	[VERDICT_KILLED] = {-1, false},     [VERDICT_OUTPUT] = {1, false},
	[VERDICT_DISK] = {1, true},         [VERDICT_GUARD] = {126, true},
	[VERDICT_DENIED] = {126, false},    [VERDICT_INTERRUPTED] = {130, true},
	[VERDICT_CANCELLED] = {143, false}, [VERDICT_BACKEND] = {125, false},
};

/* Names of exceptions that libraries raise when they cannot reach a host. Exceptions that a local
 * socket can also raise must not be here. */
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
	return kind != VERDICT_NONE ? kind_names[kind] : "none";
}

enum verdict_kind verdict_claimed(const char *name, size_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (kinds[i].is_testimony && strlen(kind_names[i]) == size &&
		    memcmp(kind_names[i], name, size) == 0)
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
	    "ended: the run held more than %d file locks, which take kernel memory",
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
	say(verdict->message, "ended: the run wrote more than %u times the output limit of %s",
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

/* The interpreter ended without testimony: only its exit status is known. */
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
	    why->kind != ERR_NONE ? why->text : "the sandbox ended for an unknown reason");
	/* A run that never began, or that ended with its daemon or backend, says nothing about the
	 * host; nor does a run whose session has an unreadable state. */
	verdict_set_remedy(verdict,
			   why->kind == ERR_CONFLICT && why->num == EBADMSG ? "unread"
			   : why->num == ECANCELED || why->num == EPIPE     ? "again"
									    : "backend",
			   "");
}

/* Takes a claim "key" or "key:detail" from a sandbox: only the key and the detail are used, the
 * words are ours. */
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

/* Whether there is a network is a fact, not a claim: without the net wall, a missing network is not
 * the reason. */
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
	verdict->by = VERDICT_BY_RUNNER;
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

static void set_denied(struct verdict *verdict, const struct verdict_facts *facts)
{
	bool is_reasoned = facts->denial[0] != '\0';

	set_kind(verdict, VERDICT_DENIED);
	say(verdict->message, "%s", is_reasoned ? facts->denial : facts->why.text);
	if (is_reasoned)
		verdict_set_remedy(verdict, facts->is_undecided ? "again" : "denied", "");
}

static void set_cancelled(struct verdict *verdict, const struct err *why)
{
	set_kind(verdict, VERDICT_CANCELLED);
	say(verdict->message, "%s", why->kind != ERR_NONE ? why->text : "cancelled");
	if (why->num == ESHUTDOWN)
		verdict_set_remedy(verdict, "gone", "");
	else if (why->num == ECANCELED) /* by a stop of the daemon, not by a client */
		verdict_set_remedy(verdict, "again", "");
}

struct verdict verdict_of(const struct verdict_facts *facts,
			  const struct verdict_testimony *testimony)
{
	const struct box_exit *exit = &facts->exit;
	struct verdict verdict = {0};

	if (facts->is_denied) {
		set_denied(&verdict, facts);
	} else if (facts->is_interrupted) {
		set_kind(&verdict, VERDICT_INTERRUPTED);
		say(verdict.message, "interrupted");
	} else if (facts->is_cancelled) {
		set_cancelled(&verdict, &facts->why);
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

static const char *find_limit(const char *text, size_t size)
{
	static const char *const limits[] = {"memory", "timeout_ms", "output", "disk", "locks"};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (strlen(limits[i]) == size && memcmp(limits[i], text, size) == 0)
			return limits[i];
	}
	return NULL;
}

static const char *const by_names[] = {"supervisor", "runner", "remote", NULL};

#define MEMBER(member) .offset = offsetof(struct verdict, member)
#define TEXT(member) MEMBER(member), .room = sizeof(((struct verdict *)0)->member)
#define SIZE_READ_MAX (1LL << 50)

const struct field verdict_fields[] = {
	{"kind", FIELD_NAMED, MEMBER(kind), .names = kind_names},
	{"exit_code", FIELD_INT, MEMBER(exit_code), .max = 255},
	{"signal", FIELD_INT, FIELD_OR_NULL, MEMBER(signal), .max = 64},
	{"message", FIELD_TEXT, TEXT(message)},
	{"remedy", FIELD_TEXT, TEXT(remedy)},
	{"remedy_key", FIELD_WORD, FIELD_OR_NULL, MEMBER(remedy_key), .find = remedy_key},
	{"remedy_detail", FIELD_TEXT, FIELD_OR_NOT, TEXT(remedy_detail)},
	{"limit", FIELD_WORD, FIELD_OR_NULL, MEMBER(limit), .find = find_limit},
	{"limit_value", FIELD_SIZE, FIELD_OR_NOT, MEMBER(limit_value), .max = SIZE_READ_MAX},
	{"peak", FIELD_SIZE, FIELD_OR_NULL, MEMBER(peak), .max = SIZE_READ_MAX},
	{"by", FIELD_NAMED, MEMBER(by), .names = by_names},
	{0},
};

struct verdict verdict_read(const char *object, size_t size)
{
	struct verdict verdict = {.exit_code = -1};

	fields_read(verdict_fields, object, size, &verdict);
	if (verdict.kind == VERDICT_NONE)
		return (struct verdict){0};
	if (verdict.exit_code < 0) {
		verdict.exit_code = 0;
		verdict.exit_code = verdict_exit_status(&verdict);
	}
	return verdict;
}

// SPDX-License-Identifier: Apache-2.0
#include "op/announce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "op/object.h"
#include "op/run_row.h"
#include "session/engine.h"
#include "session/session.h"

#define KEEPALIVE_MS 15000U
#define SILENCE_MAX (ANNOUNCE_HEARD_MS / KEEPALIVE_MS)

struct line {
	char *token; /* owned: the token that the line is about */
	char *text;  /* owned, with its newline; NULL: none */
	size_t size;
};

struct announcer {
	struct line lines[ANNOUNCE_KEEP];
	uint64_t first;     /* only lines with higher numbers may be kept */
	uint64_t seq;       /* number of the last line */
	char boot[ID_SIZE]; /* differs with each start */
	LIST_HEAD(, announce_reader) readers;
	uint32_t reader_count;
	uint32_t silence; /* keepalives without a reader; at SILENCE_MAX no lines are made */
	uv_timer_t wake, keepalive;
	int handles;
	bool is_stopped;
};

/* ---- life ---- */

static void handle_closed(uv_handle_t *handle)
{
	struct announcer *announcer = handle->data;

	if (--announcer->handles > 0)
		return;
	for (size_t i = 0; i < ANNOUNCE_KEEP; i++) {
		free(announcer->lines[i].token);
		free(announcer->lines[i].text);
	}
	free(announcer);
}

static struct announce_reader *first_due(struct announcer *announcer)
{
	struct announce_reader *reader = NULL;

	LIST_FOREACH(reader, &announcer->readers, entry) {
		if (reader->is_due)
			break;
	}
	return reader;
}

/* Wakes each waiting reader once. A woken reader reads at once and may close any other, so each
 * search starts at the head of the list. */
static void wake_due(uv_timer_t *timer)
{
	struct announcer *announcer = timer->data;
	struct announce_reader *reader = NULL;

	LIST_FOREACH(reader, &announcer->readers, entry) {
		reader->is_due = reader->is_waiting;
		reader->is_waiting = false;
	}
	while ((reader = first_due(announcer)) != NULL) {
		reader->is_due = false;
		reader->ready(reader->user);
	}
}

static void wake_soon(struct announcer *announcer)
{
	if (!uv_is_active((uv_handle_t *)&announcer->wake))
		(void)uv_timer_start(&announcer->wake, wake_due, 0, 0);
}

static void keepalive_due(uv_timer_t *timer)
{
	struct announcer *announcer = timer->data;
	struct announce_reader *reader = NULL;

	if (!LIST_EMPTY(&announcer->readers))
		announcer->silence = 0;
	else if (announcer->silence < SILENCE_MAX)
		announcer->silence++;
	LIST_FOREACH(reader, &announcer->readers, entry) {
		reader->owes_keepalive = reader->is_quiet;
		reader->is_quiet = true;
	}
	wake_soon(announcer);
}

struct announcer *announcer_new(uv_loop_t *loop)
{
	struct announcer *announcer = xnew(struct announcer);
	uv_timer_t *const timers[] = {&announcer->wake, &announcer->keepalive};

	/* Numbers start at microseconds since 1970, above every number that an earlier daemon
	 * gave. */
	announcer->first = wall_us();
	announcer->seq = announcer->first;
	announcer->silence = SILENCE_MAX;
	id_new("boot_", announcer->boot);
	for (size_t i = 0; i < ARRAY_LEN(timers); i++) {
		(void)uv_timer_init(loop, timers[i]);
		timers[i]->data = announcer;
		announcer->handles++;
	}
	uv_unref((uv_handle_t *)&announcer->keepalive);
	(void)uv_timer_start(&announcer->keepalive, keepalive_due, KEEPALIVE_MS, KEEPALIVE_MS);
	return announcer;
}

void announcer_stop(struct announcer *announcer)
{
	if (announcer == NULL)
		return;
	announcer->is_stopped = true;
	wake_soon(announcer);
}

void announcer_close(struct announcer *announcer)
{
	if (announcer == NULL)
		return;
	while (!LIST_EMPTY(&announcer->readers))
		announce_close(LIST_FIRST(&announcer->readers));
	uv_close((uv_handle_t *)&announcer->wake, handle_closed);
	uv_close((uv_handle_t *)&announcer->keepalive, handle_closed);
}

/* ---- what happened ---- */

static struct line *line_at(struct announcer *announcer, uint64_t seq)
{
	return &announcer->lines[seq % ANNOUNCE_KEEP];
}

/* Is there a reader, or was there one lately? If not, the line is only numbered, and all earlier
 * lines count as gone: making a line costs more than most of what it reports. */
static bool is_heard(const struct engine *engine)
{
	struct announcer *announcer = engine->announcer;

	if (announcer == NULL)
		return false;
	if (announcer->silence == SILENCE_MAX)
		announcer->first = ++announcer->seq;
	return announcer->silence < SILENCE_MAX;
}

/* Opens a line: its number and its type. */
static void begin(struct object *object, const struct engine *engine, const char *type)
{
	object_init(object, ANNOUNCE_LINE_MAX);
	object_number(object, "seq", engine->announcer->seq + 1);
	object_text(object, "type", type);
}

/* Consumes the object. If the line cannot be made, every reader gets `reset`. */
static void put(const struct engine *engine, const char *token, struct object *object)
{
	struct announcer *announcer = engine->announcer;
	struct line *line = line_at(announcer, ++announcer->seq);
	struct announce_reader *reader = NULL;

	object_close(object, '}');
	(void)buf_text(&object->buf, "\n");
	free(STEAL(line->token));
	free(STEAL(line->text));
	if (object->buf.failed == 0) {
		line->token = strdup(token);
		line->size = object->buf.size;
		line->text = malloc(line->size);
	}
	if (line->text != NULL && line->token != NULL) {
		memcpy(line->text, object->buf.data, line->size);
	} else {
		free(STEAL(line->text));
		LIST_FOREACH(reader, &announcer->readers, entry)
			reader->is_lost = true;
	}
	object_done(object);
	wake_soon(announcer);
}

void announce_session(struct engine *engine, const struct session *session)
{
	struct object object;
	struct buf text;

	if (!is_heard(engine))
		return;
	buf_init(&text, ANNOUNCE_LINE_MAX);
	begin(&object, engine, "session");
	if (session_put(session, &text) == 0)
		object_json(&object, "session", (const char *)text.data, text.size);
	else
		object.buf.failed = -EMSGSIZE;
	buf_done(&text);
	put(engine, session_token(session), &object);
}

static void announce_gone(struct engine *engine, const char *type, const char *token,
			  const char *id)
{
	struct object object;

	if (!is_heard(engine))
		return;
	begin(&object, engine, type);
	object_text(&object, "id", id);
	put(engine, token, &object);
}

void announce_session_gone(struct engine *engine, const char *token, const char *id)
{
	announce_gone(engine, "session_gone", token, id);
}

void announce_run(struct engine *engine, struct log *log)
{
	const char *owner = log_owner(log);
	struct object object;

	if (!is_heard(engine) || owner == NULL)
		return;
	begin(&object, engine, "run");
	run_row_put(&object, "run", engine, log);
	put(engine, owner, &object);
}

void announce_conversation(struct engine *engine, const char *token, const char *id,
			   uint64_t version)
{
	struct object object;

	if (!is_heard(engine))
		return;
	begin(&object, engine, "conversation");
	object_text(&object, "id", id);
	object_number(&object, "version", version);
	put(engine, token, &object);
}

void announce_conversation_gone(struct engine *engine, const char *token, const char *id)
{
	announce_gone(engine, "conversation_gone", token, id);
}

/* ---- readers ---- */

static int check_room(const struct announcer *announcer, const struct op_caller *caller,
		      struct err *err)
{
	const struct announce_reader *reader = NULL;
	uint32_t own = 0;

	if (announcer->reader_count >= ANNOUNCE_READERS_MAX)
		return err_set(err, ERR_BUSY, EBUSY, "%u clients follow the events already",
			       ANNOUNCE_READERS_MAX);
	if (caller->token == NULL)
		return 0;
	LIST_FOREACH(reader, &announcer->readers, entry)
		own += reader->caller.token == caller->token;
	return own < ANNOUNCE_TOKEN_READERS_MAX
		       ? 0
		       : err_set(err, ERR_QUOTA, EBUSY,
				 "this token follows the events %u times already", own);
}

/* Are all lines after this number still kept? */
static bool is_kept(const struct announcer *announcer, uint64_t after)
{
	return after >= announcer->first && after <= announcer->seq &&
	       announcer->seq - after <= ANNOUNCE_KEEP;
}

int announce_open(struct announcer *announcer, const struct op_caller *caller, uint64_t after,
		  struct announce_reader *reader, struct err *err)
{
	int r = check_room(announcer, caller, err);

	if (r < 0)
		return -EBUSY;
	reader->announcer = announcer;
	reader->caller = *caller;
	reader->is_quiet = true;
	reader->is_lost = after != 0 && !is_kept(announcer, after);
	reader->after = after == 0 || reader->is_lost ? announcer->seq : after;
	LIST_INSERT_HEAD(&announcer->readers, reader, entry);
	announcer->reader_count++;
	announcer->silence = 0;
	return 0;
}

void announce_close(struct announce_reader *reader)
{
	if (reader->announcer == NULL)
		return;
	LIST_REMOVE(reader, entry);
	reader->announcer->reader_count--;
	reader->announcer = NULL;
}

static int put_plain(const struct announce_reader *reader, const char *type, struct buf *buf)
{
	return buf_format(buf, "{\"seq\":%llu,\"type\":\"%s\"}\n",
			  (unsigned long long)reader->after, type);
}

int announce_hello(const struct announce_reader *reader, struct buf *buf)
{
	return buf_format(buf, "{\"seq\":%llu,\"type\":\"hello\",\"boot\":\"%s\"}\n",
			  (unsigned long long)reader->after, reader->announcer->boot);
}

/* Moves to the next line that the reader may see; NULL: there is none. */
static const struct line *step(struct announce_reader *reader)
{
	struct announcer *announcer = reader->announcer;

	while (reader->after < announcer->seq) {
		const struct line *line = line_at(announcer, ++reader->after);

		if (line->text != NULL && op_may_see(&reader->caller, line->token))
			return line;
	}
	return NULL;
}

int announce_next(struct announce_reader *reader, struct buf *buf)
{
	struct announcer *announcer = reader->announcer;
	const struct line *line = NULL;
	int r = 0;

	if (announcer == NULL || announcer->is_stopped)
		return -ENODATA;
	if (reader->is_lost || !is_kept(announcer, reader->after)) {
		reader->is_lost = false;
		reader->after = announcer->seq;
		r = put_plain(reader, "reset", buf);
		reader->is_quiet = false;
		return r < 0 ? -ENODATA : 1;
	}
	line = step(reader);
	if (line == NULL && !reader->owes_keepalive) {
		reader->is_waiting = true;
		return 0;
	}
	r = line != NULL ? buf_append(buf, line->text, line->size)
			 : put_plain(reader, "keepalive", buf);
	reader->owes_keepalive = false;
	reader->is_quiet = line == NULL && reader->is_quiet;
	return r < 0 ? -ENODATA : 1;
}

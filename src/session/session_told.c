// SPDX-License-Identifier: Apache-2.0
/* The end of a run in its session, as its result tells it: the checkpoint that was made, or why
 * there is none; the one that was gone back to, and which runs that undoes; what a session that
 * was woken lacks. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/session_state.h"

#define BLOCKER_JSON_MAX 400U

static void put_why(struct buf *buf, const char *name, const char *text)
{
	struct buf why;

	/* The runner's words: with what JSON makes of them they must fit, or are not repeated. */
	buf_init(&why, BLOCKER_JSON_MAX);
	if (json_put_text(&why, text) < 0) {
		buf_consume(&why, why.size);
		(void)buf_text(&why, "\"something that cannot be named\"");
	}
	(void)buf_format(buf, "\"%s\":%s", name, buf_string(&why));
	buf_done(&why);
}

static void put_kept(struct session *session, struct buf *buf)
{
	if (session->blocker[0] == '\0') {
		(void)buf_format(buf, "\"id\":\"%s\"",
				 session->needs_checkpoint ? session->next : session->current);
		return;
	}
	put_why(buf, "skipped", session->blocker);
	if (session->current[0] != '\0')
		(void)buf_format(buf, ",\"last\":\"%s\"", session->current);
	else
		(void)buf_text(buf, ",\"last\":null");
}

static void put_note(struct buf *buf, struct buf *text)
{
	struct buf note;

	buf_init(&note, RUN_LEFT_MAX / 2);
	if (json_put_text(&note, buf_string(text)) == 0)
		(void)buf_format(buf, ",\"note\":%s", buf_string(&note));
	buf_done(&note);
	buf_done(text);
}

/* One sentence for people: which state it is, which runs are undone, and why it is no newer. */
static void put_note_back(const struct session *session, const struct checkpoint *to,
			  struct buf *buf)
{
	bool is_files = !session->files_dirty && to != NULL && to->files != FILES_SKIPPED;
	struct buf text;

	buf_init(&text, RUN_LEFT_MAX / 4);
	(void)buf_format(&text, "rolled back: variables%s are what they were ",
			 is_files ? " and files" : "");
	if (session->back_count <= 1)
		(void)buf_text(&text, "before this run");
	else if (to != NULL && to->run[0] != '\0')
		(void)buf_format(&text, "after %s; %u runs are undone, this one and %u before it",
				 to->run, session->back_count, session->back_count - 1);
	else
		(void)buf_format(&text,
				 "when the session began; %u runs are undone, this one and %u "
				 "before it",
				 session->back_count, session->back_count - 1);
	if (session->back_why[0] != '\0')
		(void)buf_format(&text, ". No newer state was kept: %s", session->back_why);
	if (!is_files)
		(void)buf_text(&text, ". Files stay as they are");
	put_note(buf, &text);
}

static void put_note_woken(const struct session *session, struct buf *buf)
{
	json_auto_t *woken = json_loads(session->woken, 0, NULL);
	const json_t *missing = json_object_get(woken, "missing");
	const json_t *fact = NULL;
	struct buf text;
	size_t i = 0;

	buf_init(&text, RUN_LEFT_MAX / 4);
	if (json_is_true(json_object_get(woken, "variables")))
		(void)buf_text(&text, "the session was woken from its state on disk");
	else if (json_is_true(json_object_get(woken, "files")))
		(void)buf_text(&text, "the session was restarted: its files are there, its "
				      "variables are not");
	else
		(void)buf_text(&text, "the session was restarted, and was not kept on disk: its "
				      "files and variables are gone");
	json_array_foreach(missing, i, fact)
		(void)buf_format(&text, "%s%s", i == 0 ? "; could not be kept: " : ", ",
				 json_string_value(json_object_get(fact, "name")));
	put_note(buf, &text);
}

static void put_back(const struct session *session, struct buf *buf)
{
	const struct checkpoint *last = session_last_checkpoint(session);

	(void)buf_format(buf, "\"id\":\"%s\"", last != NULL ? last->id : "");
	/* Files that could not be brought back are told, not left to be found. */
	if (session->files_dirty || (last != NULL && last->files == FILES_SKIPPED))
		(void)buf_text(buf, ",\"files\":\"skipped\"");
	(void)buf_append(buf, session->back.data, session->back.size);
	put_note_back(session, last, buf);
}

void session_put_left(struct session *session, bool lives, struct buf *buf)
{
	(void)buf_text(buf, ",\"checkpoint\":{");
	if (lives)
		put_kept(session, buf);
	else
		put_back(session, buf);
	if (session->woken != NULL)
		(void)buf_format(buf, ",\"woken\":%s", session->woken);
	if (session->woken != NULL && lives)
		put_note_woken(session, buf);
	free(STEAL(session->woken));
	(void)buf_text(buf, "}");
}

void session_note_run(struct session *session, const char *run)
{
	if (session->since_count < SESSION_SINCE_MAX)
		(void)snprintf(session->since[session->since_count++], ID_SIZE, "%s", run);
}

void session_note_lost_run(struct session *session, const char *run)
{
	if (run[0] == '\0' || session->since_count == SESSION_SINCE_MAX)
		return;
	memmove(session->since[1], session->since[0], sizeof(session->since) - ID_SIZE);
	(void)snprintf(session->since[0], ID_SIZE, "%s", run);
	session->since_count++;
}

static void put_undone(struct buf *buf, const char *run)
{
	bool is_first = buf->data[buf->size - 1] == '[';

	(void)buf_format(buf, "%s\"%s\"", is_first ? "" : ",", run);
}

/* Which runs go with the head, and why the state that comes back is no newer. */
void session_note_back(struct session *session, const struct checkpoint *to)
{
	bool is_older = strcmp(session->current, to->id) != 0;
	struct buf *back = &session->back;

	session->back_count = session->since_count;
	session->back_why[0] = '\0';
	buf_consume(back, back->size);
	(void)buf_text(back, ",\"undone\":[");
	if (is_older && session->last_run[0] != '\0' && session->since_count == 0 &&
	    strcmp(session->last_run, to->run) != 0) {
		put_undone(back, session->last_run);
		session->back_count++;
	}
	for (uint32_t i = 0; i < session->since_count; i++)
		put_undone(back, session->since[i]);
	if (session->run != NULL && !run_is_look(session->run)) {
		put_undone(back, run_facts(session->run).id);
		session->back_count++;
	}
	(void)buf_text(back, "]");
	if (session->since_count > 0 && session->blocker[0] != '\0')
		(void)snprintf(session->back_why, sizeof(session->back_why), "%s",
			       session->blocker);
	else if (is_older)
		(void)snprintf(session->back_why, sizeof(session->back_why),
			       "the newer checkpoint had ended");
	if (session->back_why[0] != '\0') {
		(void)buf_text(back, ",");
		put_why(back, "why", session->back_why);
	}
}

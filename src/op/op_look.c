// SPDX-License-Identifier: Apache-2.0
#include "op/op_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "session/testimony.h"

#define QUESTION_MAX (8UL * MIB)
#define ANSWER_MAX (24UL * MIB)

/* A question that waits for its answer. */
struct question {
	struct op_call *call; /* borrowed until answered */
	struct buf answer;
	void (*answered)(struct op_call *call, const char *json, size_t size,
			 const struct look_state *state);
};

void op_look_init(struct object *question, const char *kind)
{
	object_init(question, QUESTION_MAX);
	object_text(question, "kind", kind);
}

/* A sandbox may claim only these kinds of error; any other is a conflict. */
static enum err_kind kind_of(struct span answer)
{
	static const enum err_kind kinds[] = {ERR_BAD_REQUEST, ERR_NOT_FOUND, ERR_TOO_LARGE,
					      ERR_UNSUPPORTED};
	char name[32];

	span_text(span_member(answer, "kind"), name, sizeof(name));
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(name, err_kind_name(kinds[i])) == 0)
			return kinds[i];
	}
	return ERR_CONFLICT;
}

bool op_look_failed(const char *json, size_t size, struct err *err)
{
	struct span answer = {json, size};
	struct span error = span_member(answer, "error");
	char text[sizeof(err->text)];
	char field[32];

	if (error.size == 0)
		return false;
	span_text(error, text, sizeof(text));
	(void)err_set(err, kind_of(answer), EIO, "%s", text);
	span_text(span_member(answer, "field"), field, sizeof(field));
	if (strncmp(text, field, strlen(field)) == 0)
		err->field = (uint32_t)strlen(field);
	return true;
}

static void take_answer(void *user, const char *json, size_t size)
{
	struct question *question = user;

	buf_consume(&question->answer, question->answer.size);
	(void)buf_append(&question->answer, json, size);
}

static void is_done(void *user, const struct look_state *state, const struct err *why)
{
	struct question *question = user;
	struct op_call *call = question->call;
	struct buf answer = question->answer;
	struct err err = {0};

	if (why != NULL)
		err = *why;
	else if (answer.size == 0)
		(void)err_set(&err, ERR_CONFLICT, EIO, "the session gave no answer");
	else
		(void)op_look_failed((const char *)answer.data, answer.size, &err);
	if (err.kind != ERR_NONE)
		op_fail(call, &err);
	else
		question->answered(call, (const char *)answer.data, answer.size, state);
	buf_done(&answer);
	free(question);
}

void op_look(struct op_call *call, struct session *session, struct object *take_question,
	     const struct look_ask *ask,
	     void (*answered)(struct op_call *call, const char *json, size_t size,
			      const struct look_state *state))
{
	static const struct look_calls calls = {.answer = take_answer, .done = is_done};
	struct question *question = xnew(struct question);
	struct look_ask full = *ask;
	struct err err = {0};
	int r = take_question->buf.failed;

	full.json = buf_string(&take_question->buf);
	question->call = call;
	question->answered = answered;
	buf_init(&question->answer, ANSWER_MAX);
	if (r < 0)
		(void)err_set(&err, ERR_TOO_LARGE, -r, "the question is too long");
	else
		r = session_look(session, &full, &calls, question, NULL, &err);
	object_done(take_question);
	if (r < 0) {
		free(question);
		op_fail(call, &err);
	}
}

static bool has_members(const char *json, size_t size)
{
	for (size_t i = 1; i < size; i++) {
		if (json[i] != ' ')
			return json[i] != '}';
	}
	return false;
}

void op_look_pass(struct op_call *call, const char *json, size_t size,
		  const struct look_state *state)
{
	bool is_old = state->id[0] != '\0';
	struct err err = {0};
	struct buf body;

	buf_init(&body, size + 4 * KIB);
	buf_append(&body, json, is_old ? size - 1 : size);
	if (is_old)
		buf_format(&body, "%s\"as_of\":\"%s\"", has_members(json, size) ? "," : "",
			   state->id);
	if (is_old && state->blocker[0] != '\0')
		json_put(&body, ",'checkpoint_blocked_by':%s", state->blocker);
	buf_text(&body, is_old ? "}\n" : "\n");
	if (body.failed == 0) {
		op_answer(call, 0, &body);
	} else {
		(void)err_set(&err, ERR_INTERNAL, -body.failed, "no memory for the answer");
		op_fail(call, &err);
	}
	buf_done(&body);
}

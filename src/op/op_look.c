// SPDX-License-Identifier: Apache-2.0
#include "op/op_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "session/testimony.h"

#define QUESTION_MAX (8UL * MIB)
#define ANSWER_MAX (24UL * MIB)

/* One that waits for its answer. */
struct question {
	struct op_call *call; /* borrowed until answered */
	struct buf answer;
	void (*answered)(struct op_call *call, const char *json, size_t size, const char *as_of);
};

void op_look_init(struct object *question, const char *kind)
{
	object_init(question, QUESTION_MAX);
	object_text(question, "kind", kind);
}

/* What a sandbox may say of itself; whatever else it says is a conflict. */
static enum err_kind kind_of(const char *json, size_t size)
{
	static const enum err_kind kinds[] = {ERR_BAD_REQUEST, ERR_NOT_FOUND, ERR_TOO_LARGE,
					      ERR_UNSUPPORTED};
	const char *value = NULL;
	size_t value_size = 0;
	char name[32] = "";

	if (json_find(json, size, "kind", &value, &value_size))
		testimony_text(value, value_size, name, sizeof(name));
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(name, err_kind_name(kinds[i])) == 0)
			return kinds[i];
	}
	return ERR_CONFLICT;
}

bool op_look_failed(const char *json, size_t size, struct err *err)
{
	const char *value = NULL;
	size_t value_size = 0;
	char text[sizeof(err->text)] = "";

	if (!json_find(json, size, "error", &value, &value_size))
		return false;
	testimony_text(value, value_size, text, sizeof(text));
	(void)err_set(err, kind_of(json, size), EIO, "%s", text);
	return true;
}

static void take_answer(void *user, const char *json, size_t size)
{
	struct question *question = user;

	buf_consume(&question->answer, question->answer.size);
	(void)buf_append(&question->answer, json, size);
}

static void is_done(void *user, const char *as_of, const struct err *why)
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
		question->answered(call, (const char *)answer.data, answer.size, as_of);
	buf_done(&answer);
	free(question);
}

void op_look(struct op_call *call, struct session *session, struct object *take_question,
	     const struct look_ask *ask,
	     void (*answered)(struct op_call *call, const char *json, size_t size,
			      const char *as_of))
{
	static const struct look_calls calls = {.answer = take_answer, .done = is_done};
	struct question *question = xnew(struct question);
	struct look_ask full = *ask;
	struct err err = {0};
	int r = take_question->r;

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

void op_look_pass(struct op_call *call, const char *json, size_t size, const char *as_of)
{
	struct err err = {0};
	struct buf body;

	buf_init(&body, size + KIB);
	buf_append(&body, json, as_of[0] != '\0' ? size - 1 : size);
	if (as_of[0] != '\0')
		buf_format(&body, "%s\"as_of\":\"%s\"}", has_members(json, size) ? "," : "", as_of);
	buf_text(&body, "\n");
	if (body.failed == 0) {
		op_answer(call, 0, &body);
	} else {
		(void)err_set(&err, ERR_INTERNAL, -body.failed, "no memory for the answer");
		op_fail(call, &err);
	}
	buf_done(&body);
}

// SPDX-License-Identifier: Apache-2.0
#include "op/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/testimony.h"

static bool find(struct outcome_text in, const char *name, struct outcome_text *ret_text)
{
	return in.data != NULL &&
	       json_find(in.data, in.size, name, &ret_text->data, &ret_text->size);
}

/* What is empty is not there. */
static struct outcome_text member(struct outcome_text in, const char *name)
{
	struct outcome_text text = {0};

	if (!find(in, name, &text) || text.data[0] == 'n' ||
	    (text.size == 2 && memcmp(text.data, "\"\"", 2) == 0))
		return (struct outcome_text){0};
	return text;
}

static struct outcome_text member_if(struct outcome_text in, const char *name, char first)
{
	struct outcome_text text = member(in, name);

	return text.data != NULL && text.data[0] == first ? text : (struct outcome_text){0};
}

static double number(struct outcome_text in, const char *name)
{
	struct outcome_text text = member(in, name);
	char digits[32] = "";

	if (text.data == NULL || text.size >= sizeof(digits))
		return 0;
	memcpy(digits, text.data, text.size);
	return strtod(digits, NULL);
}

void outcome_read(const char *json, size_t size, struct outcome *ret_outcome)
{
	struct outcome_text whole = {json, size};
	struct outcome_text verdict = member_if(whole, "verdict", '{');
	struct outcome_text saved = member_if(whole, "saved_state", '{');
	struct outcome_text kind = member_if(verdict, "kind", '"');
	struct outcome_text value = {0};

	(void)find(member_if(whole, "result", '{'), "application/json", &value);
	*ret_outcome = (struct outcome){
		.wall_ms = number(member_if(whole, "usage", '{'), "wall_ms"),
		.out = member_if(whole, "stdout", '"'),
		.err = member_if(whole, "stderr", '"'),
		.value = value,
		.saved = member_if(saved, "base64", '"'),
		.lost = member_if(saved, "lost", '['),
		.packages = member_if(saved, "packages", '['),
		.error = member_if(member_if(whole, "error", '{'), "traceback", '"'),
		.message = member_if(verdict, "message", '"'),
	};
	if (kind.data != NULL)
		testimony_text(kind.data, kind.size, ret_outcome->kind, sizeof(ret_outcome->kind));
	ret_outcome->is_ok = strcmp(ret_outcome->kind, "ok") == 0;
}

/* A string without its quotes. */
static int put_inside(struct buf *buf, struct outcome_text text)
{
	return text.data != NULL ? buf_append(buf, text.data + 1, text.size - 2) : 0;
}

static bool ends_line(struct outcome_text text)
{
	return text.data == NULL ||
	       (text.size >= 4 && memcmp(text.data + text.size - 3, "\\n", 2) == 0);
}

int outcome_put_failure(const struct outcome *outcome, struct buf *buf)
{
	bool is_memory = strcmp(outcome->kind, "memory") == 0;
	bool is_exit = strcmp(outcome->kind, "exit") == 0;
	int r = buf_text(buf, "\"");

	if (r == 0)
		r = put_inside(buf, outcome->err);
	if (r == 0 && !ends_line(outcome->err))
		r = buf_text(buf, "\\n");
	if (r == 0 && outcome->error.data == NULL && (is_memory || is_exit))
		r = buf_text(buf, is_memory ? "MemoryError: " : "SystemExit: ");
	if (r == 0)
		r = put_inside(buf,
			       outcome->error.data != NULL ? outcome->error : outcome->message);
	return r == 0 ? buf_text(buf, "\"") : r;
}

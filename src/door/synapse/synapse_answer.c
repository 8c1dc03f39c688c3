// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "door/synapse/synapse.h"

#define STDOUT_CHARS 20000
#define STDERR_CHARS 5000
#define TRANSFORM_CHARS 500

int synapse_put_stderr(struct buf *buf, const struct ending *ending, size_t chars)
{
	bool is_own = ending_is(ending, "ok") || ending_is(ending, "exit") ||
		      ending_is(ending, "exception");
	const struct escaped parts[] = {ending->err, ending->traceback, ending->message,
					escaped_plain("\\n")};

	/* If the code ended by itself, no message of ours is needed. */
	return escaped_put(buf, parts, is_own ? 2 : ARRAY_LEN(parts), chars);
}

int synapse_put_test(struct buf *body, uint64_t seconds, const struct ending *ending)
{
	if (ending_is(ending, "timeout"))
		return buf_format(body,
				  "{\"exit_code\":-1,\"stdout\":\"\",\"stderr\":\"Execution timed "
				  "out after %llus\"}",
				  (unsigned long long)seconds);
	buf_format(body, "{\"exit_code\":%d,\"stdout\":", ending->exit_code);
	escaped_put(body, &ending->out, 1, STDOUT_CHARS);
	buf_text(body, ",\"stderr\":");
	synapse_put_stderr(body, ending, STDERR_CHARS);
	buf_text(body, "}");
	return body->failed;
}

/* Appends the output as it is if it is JSON. 1: it is; 0: it is not. */
static int put_printed(struct buf *body, const struct ending *ending)
{
	size_t before = body->size;
	int r = escaped_decode(body, escaped_trim(ending->out));

	if (r == 0 && json_is_valid(body->data + before, body->size - before))
		return 1;
	buf_cut(body, before);
	return r;
}

int synapse_put_custom(struct buf *body, uint64_t seconds, const struct ending *ending)
{
	int r = 0;

	if (ending_is(ending, "timeout"))
		return buf_format(body,
				  "{\"error\":\"Python tool execution timed out after %llus\"}",
				  (unsigned long long)seconds);
	if (ending->exit_code == 0 && !ending->is_out_cut) {
		r = put_printed(body, ending);
		if (r != 0)
			return r < 0 ? r : 0;
		buf_text(body, "{\"output\":");
		escaped_put(body, &ending->out, 1, SIZE_MAX);
		buf_text(body, "}");
		return body->failed;
	}
	if (ending->exit_code == 0)
		buf_text(body,
			 "{\"error\":\"Python tool printed more than can be kept\",\"stderr\":");
	else
		buf_format(body, "{\"error\":\"Python tool exited with code %d\",\"stderr\":",
			   ending->exit_code);
	synapse_put_stderr(body, ending, STDERR_CHARS);
	buf_text(body, ",\"stdout\":");
	escaped_put(body, &ending->out, 1, STDOUT_CHARS);
	buf_text(body, "}");
	return body->failed;
}

/* ---- a transform ---- */

/* `result`, taken out of its list; size 0: it is None, or the code did not get that far. */
static struct span result_of(const struct ending *ending)
{
	struct span value = ending->value;

	if (value.size <= 2 || value.at[0] != '[' ||
	    (value.size == 6 && memcmp(value.at, "[null]", 6) == 0))
		return (struct span){0};
	return (struct span){.at = value.at + 1, .size = value.size - 2};
}

/* A cut result is an error: a caller that went on with it would use a wrong value. */
static const char *lost_of(const struct ending *ending)
{
	if (ending->value.size == 0 && ending->is_value_cut)
		return "result is larger than can be kept";
	if (result_of(ending).size == 0 && ending->is_out_cut)
		return "more was printed than can be kept";
	return NULL;
}

static int put_failure(struct buf *body, uint64_t seconds, const struct ending *ending)
{
	char lead[80];
	char late[80];
	struct escaped parts[4] = {{0}, ending->err, ending->traceback, {0}};

	(void)snprintf(lead, sizeof(lead), "Transform failed (exit %d): ", ending->exit_code);
	if (ending_is(ending, "timeout")) {
		(void)snprintf(lead, sizeof(lead), "Transform failed (exit -1): ");
		(void)snprintf(late, sizeof(late), "Execution timed out after %llus",
			       (unsigned long long)seconds);
		parts[1] = escaped_plain(late);
	} else if (ending->exit_code == 0) {
		parts[1] = escaped_plain(lost_of(ending));
	} else if (ending->err.size + ending->traceback.size == 0) {
		parts[3] = ending->message;
	}
	parts[0] = escaped_plain(lead);
	buf_text(body, "{\"detail\":");
	escaped_put(body, parts, ARRAY_LEN(parts), strlen(lead) + TRANSFORM_CHARS);
	buf_text(body, "}");
	return body->failed;
}

int synapse_put_transform(struct buf *body, uint64_t seconds, const struct ending *ending,
			  unsigned *ret_status)
{
	struct span result = result_of(ending);
	int r;

	*ret_status = 200;
	if (ending->exit_code != 0 || lost_of(ending) != NULL) {
		*ret_status = 500;
		return put_failure(body, seconds, ending);
	}
	if (result.size > 0)
		return buf_append(body, result.at, result.size);
	r = put_printed(body, ending);
	if (r != 0)
		return r < 0 ? r : 0;
	if (escaped_trim(ending->out).size == 0)
		return buf_text(body, "null");
	return escaped_put(body, &ending->out, 1, SIZE_MAX);
}

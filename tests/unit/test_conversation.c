// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "document/conversation.h"
#include "unit.h"

#define COUNT 300

struct list {
	char ids[COUNT][40];
	size_t count;
};

static void note(void *user, const struct conversation *conversation)
{
	struct list *list = user;

	assert_true(list->count < COUNT);
	(void)snprintf(list->ids[list->count++], sizeof(list->ids[0]), "%s",
		       conversation_id(conversation));
}

/* So many in one go that several fall into one millisecond. */
static void the_order_of_changes_outlives_the_process(void **state)
{
	static struct list before, after;
	const struct conversation_change change = {.name = "one"};
	struct conversations *conversations = NULL;
	struct conversation *conversation = NULL;
	struct err err = {0};
	char path[64];

	(void)state;
	scratch_make(path);
	assert_ok(conversations_open(path, &conversations, &err), err);
	for (size_t i = 0; i < COUNT; i++)
		assert_ok(conversation_new(conversations, "", &change, &conversation, &err), err);
	conversations_each(conversations, "", note, &before);
	conversations_close(conversations);

	assert_ok(conversations_open(path, &conversations, &err), err);
	conversations_each(conversations, "", note, &after);
	conversations_close(conversations);
	assert_int_equal(before.count, COUNT);
	assert_memory_equal(&before, &after, sizeof(before));
	scratch_remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_changes_outlives_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

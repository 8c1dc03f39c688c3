// SPDX-License-Identifier: Apache-2.0
#include "fake_box.h"
#include "session/sandbox.h"

struct taken {
	struct sandbox *sandbox;
	struct err why;
	int calls;
};

static void on_taken(void *user, struct sandbox *sandbox, const struct err *why)
{
	struct taken *taken = user;

	taken->sandbox = sandbox;
	taken->calls++;
	if (why != NULL)
		taken->why = *why;
}

static void take(struct fake *fake, const struct box_kind *kind, struct taken *taken)
{
	struct pool_ticket *ticket = NULL;
	struct err err = {0};

	assert_ok(pool_take(fake->pool, kind, on_taken, taken, &ticket, &err), err);
}

static uint32_t ready_of(const struct fake *fake, const struct box_kind *kind)
{
	uint32_t ready = 0;
	uint32_t coming = 0;

	pool_ready(fake->pool, kind, &ready, &coming);
	return ready;
}

static void keeps_as_many_ready_as_it_is_told(void **state)
{
	struct fake fake;
	struct pool_settings settings = {0};
	struct taken taken = {0};
	struct box_kind kind;
	struct err err = {0};

	(void)state;
	fake_open(&fake, &settings);
	kind = fake_kind(&fake, false);
	assert_ok(pool_keep(fake.pool, &kind, 3, &err), err);
	fake_until(&fake, ready_of(&fake, &kind) == 3);
	assert_int_equal(fake.spawn_count, 3);

	/* A ready sandbox is given at once. */
	take(&fake, &kind, &taken);
	assert_int_equal(taken.calls, 1);
	assert_non_null(taken.sandbox);
	sandbox_end(taken.sandbox);
	fake_until(&fake, ready_of(&fake, &kind) == 3);
	assert_int_equal(fake.spawn_count, 4);
	assert_int_equal(fake.kill_count, 1);

	assert_ok(pool_keep(fake.pool, &kind, 0, &err), err);
	fake_until(&fake, fake.kill_count == 4);
	fake_done(&fake);
}

static void refill_waits_while_a_run_is_busy(void **state)
{
	struct fake fake;
	struct pool_settings settings = {.busy_defer_ms = 100000};
	struct taken taken = {0};
	struct box_kind kind;
	struct err err = {0};

	(void)state;
	fake_open(&fake, &settings);
	kind = fake_kind(&fake, false);
	assert_ok(pool_keep(fake.pool, &kind, 4, &err), err);
	fake_until(&fake, ready_of(&fake, &kind) == 4);
	take(&fake, &kind, &taken);
	for (int i = 0; i < 20; i++)
		fake_turn(&fake);
	assert_int_equal(fake.spawn_count, 4);
	sandbox_end(taken.sandbox);
	fake_until(&fake, ready_of(&fake, &kind) == 4);
	fake_done(&fake);
}

static void a_nearly_empty_shelf_is_filled_all_the_same(void **state)
{
	struct fake fake;
	struct pool_settings settings = {.busy_defer_ms = 100};
	struct taken taken[3] = {0};
	struct box_kind kind;
	struct err err = {0};

	(void)state;
	fake_open(&fake, &settings);
	kind = fake_kind(&fake, false);
	assert_ok(pool_keep(fake.pool, &kind, 4, &err), err);
	fake_until(&fake, ready_of(&fake, &kind) == 4);
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		take(&fake, &kind, &taken[i]);
	fake_until(&fake, fake.spawn_count > 4);
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		sandbox_end(taken[i].sandbox);
	fake_done(&fake);
}

static void kinds_are_not_mixed(void **state)
{
	struct fake fake;
	struct pool_settings settings = {0};
	struct taken taken = {0};
	struct box_kind kind;
	struct box_kind other;
	struct err err = {0};

	(void)state;
	fake_open(&fake, &settings);
	kind = fake_kind(&fake, false);
	assert_ok(pool_keep(fake.pool, &kind, 1, &err), err);
	fake_until(&fake, ready_of(&fake, &kind) == 1);

	/* Another trust is another kind. */
	other = kind;
	other.trust = "somebody else";
	take(&fake, &other, &taken);
	assert_int_equal(taken.calls, 0);
	fake_until(&fake, taken.calls == 1);
	sandbox_end(taken.sandbox);

	/* So are other limits. */
	taken.calls = 0;
	other = kind;
	other.plan.memory /= 2;
	take(&fake, &other, &taken);
	fake_until(&fake, taken.calls == 1);
	assert_int_equal(ready_of(&fake, &kind), 1);
	sandbox_end(taken.sandbox);
	fake_done(&fake);
}

static void whoever_waits_is_told_after_a_few_failures(void **state)
{
	struct fake fake;
	struct pool_settings settings = {0};
	struct taken taken = {0};
	struct box_kind kind;

	(void)state;
	fake_open(&fake, &settings);
	fake.fails_spawns = true;
	kind = fake_kind(&fake, false);
	take(&fake, &kind, &taken);
	fake_until(&fake, taken.calls == 1);
	assert_null(taken.sandbox);
	assert_contains(taken.why.text, "it never stood");
	assert_int_equal(fake.spawn_count, 3);
	fake_done(&fake);
}

static void refill_backs_off_when_spawning_fails(void **state)
{
	struct fake fake;
	struct pool_settings settings = {.busy_defer_ms = 1};
	struct box_kind kind;
	struct err err = {0};

	(void)state;
	fake_open(&fake, &settings);
	fake.fails_spawns = true;
	kind = fake_kind(&fake, false);
	assert_ok(pool_keep(fake.pool, &kind, 1, &err), err);
	fake_until(&fake, fake.spawn_count > 0);
	/* Without backing off these turns would spawn about as often as they turn. */
	for (int i = 0; i < 50; i++)
		fake_turn(&fake);
	assert_true(fake.spawn_count <= 3);
	fake_done(&fake);
}

static void a_dead_one_is_replaced(void **state)
{
	struct fake fake;
	struct pool_settings settings = {0};
	const struct box_exit exit = {.cause = BOX_CAUSE_SELF, .signal = SIGKILL};
	struct box_kind kind;
	struct err err = {0};

	(void)state;
	fake_open(&fake, &settings);
	kind = fake_kind(&fake, false);
	assert_ok(pool_keep(fake.pool, &kind, 1, &err), err);
	fake_until(&fake, ready_of(&fake, &kind) == 1);
	fake_exit(&fake, &fake.sandboxes[0], &exit);
	fake_until(&fake, ready_of(&fake, &kind) == 0);
	fake_until(&fake, ready_of(&fake, &kind) == 1);
	fake_done(&fake);
}

static void one_that_speaks_out_of_turn_is_not_used(void **state)
{
	struct fake fake;
	struct pool_settings settings = {0};
	struct box_kind kind;
	struct err err = {0};

	(void)state;
	fake_open(&fake, &settings);
	kind = fake_kind(&fake, false);
	assert_ok(pool_keep(fake.pool, &kind, 1, &err), err);
	fake_until(&fake, ready_of(&fake, &kind) == 1);
	fake_say(&fake.sandboxes[0], FRAME_DONE, "{\"kind\":\"ok\"}");
	fake_until(&fake, fake.kill_count == 1);
	fake_done(&fake);
}

static void giving_up_a_place_in_the_queue_is_final(void **state)
{
	struct fake fake;
	struct pool_settings settings = {0};
	struct pool_ticket *ticket = NULL;
	struct taken taken = {0};
	struct box_kind kind;
	struct err err = {0};

	(void)state;
	fake_open(&fake, &settings);
	kind = fake_kind(&fake, true);
	assert_ok(pool_take(fake.pool, &kind, on_taken, &taken, &ticket, &err), err);
	assert_non_null(ticket);
	pool_untake(ticket);
	for (int i = 0; i < 20; i++)
		fake_turn(&fake);
	assert_int_equal(taken.calls, 0);
	assert_int_equal(fake.spawn_count, 0);
	fake_done(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_as_many_ready_as_it_is_told),
		cmocka_unit_test(refill_waits_while_a_run_is_busy),
		cmocka_unit_test(a_nearly_empty_shelf_is_filled_all_the_same),
		cmocka_unit_test(kinds_are_not_mixed),
		cmocka_unit_test(whoever_waits_is_told_after_a_few_failures),
		cmocka_unit_test(refill_backs_off_when_spawning_fails),
		cmocka_unit_test(a_dead_one_is_replaced),
		cmocka_unit_test(one_that_speaks_out_of_turn_is_not_used),
		cmocka_unit_test(giving_up_a_place_in_the_queue_is_final),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

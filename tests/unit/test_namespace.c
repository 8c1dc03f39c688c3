// SPDX-License-Identifier: Apache-2.0
#include "fake_launch.h"
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

static void another_trust_has_a_zygote_of_its_own(void **state)
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

	/* Another trust has a zygote of its own. */
	other = kind;
	other.trust = "somebody else";
	take(&fake, &other, &taken);
	assert_int_equal(taken.calls, 0);
	fake_until(&fake, taken.calls == 1);
	assert_int_equal(fake.zygote_count, 2);
	sandbox_end(taken.sandbox);

	/* Other limits are another sandbox, from the same zygote. */
	taken.calls = 0;
	other = kind;
	other.plan.memory /= 2;
	take(&fake, &other, &taken);
	fake_until(&fake, taken.calls == 1);
	assert_int_equal(fake.zygote_count, 2);
	assert_int_equal(ready_of(&fake, &kind), 1);
	sandbox_end(taken.sandbox);
	fake_done(&fake);
}

static void a_cold_one_needs_no_zygote(void **state)
{
	struct fake fake;
	struct pool_settings settings = {0};
	struct taken taken = {0};
	struct box_kind kind;

	(void)state;
	fake_open(&fake, &settings);
	kind = fake_kind(&fake, true);
	take(&fake, &kind, &taken);
	fake_until(&fake, taken.calls == 1);
	assert_int_equal(fake.zygote_count, 0);
	assert_int_equal(fake.sandboxes[0].zygote, -1);
	sandbox_end(taken.sandbox);
	fake_done(&fake);
}

static void the_next_zygote_is_up_before_the_last_retires(void **state)
{
	struct fake fake;
	struct pool_settings settings = {.zygote_forks_max = 3};
	struct box_kind kind;

	(void)state;
	fake_open(&fake, &settings);
	kind = fake_kind(&fake, false);
	for (int i = 0; i < 8; i++) {
		struct taken taken = {0};

		take(&fake, &kind, &taken);
		fake_until(&fake, taken.calls == 1);
		assert_non_null(taken.sandbox);
		assert_true(fake.zygote_count > fake.retire_count);
		sandbox_end(taken.sandbox);
	}
	assert_true(fake.retire_count >= 2);
	/* Each served what it may, and the one it is replaced by served the rest. */
	assert_int_equal(fake.sandboxes[0].zygote, fake.sandboxes[2].zygote);
	assert_int_not_equal(fake.sandboxes[0].zygote, fake.sandboxes[4].zygote);
	fake_done(&fake);
}

static void a_zygote_retires_when_nothing_comes_from_it_any_more(void **state)
{
	struct fake fake;
	struct pool_settings settings = {.zygote_forks_max = 2};
	struct taken taken[2] = {0};
	struct box_kind kind;

	(void)state;
	fake_open(&fake, &settings);
	fake.is_slow = true;
	kind = fake_kind(&fake, false);
	take(&fake, &kind, &taken[0]);
	take(&fake, &kind, &taken[1]);
	fake_until(&fake, fake.zygote_count == 2);
	for (int i = 0; i < 20; i++)
		fake_turn(&fake);
	assert_int_equal(fake.spawn_count, 2);
	fake_hello(&fake, &fake.sandboxes[0]);
	fake_until(&fake, taken[0].calls == 1);
	assert_int_equal(fake.retire_count, 0);
	fake_hello(&fake, &fake.sandboxes[1]);
	fake_until(&fake, fake.retire_count == 1);
	sandbox_end(taken[0].sandbox);
	sandbox_end(taken[1].sandbox);
	fake_done(&fake);
}

static void a_lost_launch_is_told(void **state)
{
	struct fake fake;
	struct pool_settings settings = {0};
	struct taken taken = {0};
	struct box_kind kind;

	(void)state;
	fake_open(&fake, &settings);
	fake.is_slow = true;
	kind = fake_kind(&fake, true);
	take(&fake, &kind, &taken);
	fake_until(&fake, fake.spawn_count == 1);
	drop_fd(&fake.socket);
	fake_until(&fake, taken.calls == 1);
	assert_null(taken.sandbox);
	assert_contains(taken.why.text, "viv-launch");
	fake_done(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_trust_has_a_zygote_of_its_own),
		cmocka_unit_test(a_cold_one_needs_no_zygote),
		cmocka_unit_test(the_next_zygote_is_up_before_the_last_retires),
		cmocka_unit_test(a_zygote_retires_when_nothing_comes_from_it_any_more),
		cmocka_unit_test(a_lost_launch_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

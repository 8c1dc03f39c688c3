// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <sys/stat.h>

#include "base/c.h"
#include "session/admission.h"
#include "unit.h"

#define HEX62 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd"
#define S 1000000000ULL
#define TICKETS 16

static const char text[] =
	"limits: {concurrent_runs: 2, queue: 6, held: 8, sessions: 3, body: 1KiB}\n"
	"tokens:\n"
	"  - {name: a, sha256: " HEX62 "01, quotas: {concurrent_runs: 4, sessions: 2}}\n"
	"  - {name: b, sha256: " HEX62 "02, quotas: {runs_per_minute: 2}}\n";

struct hall;

struct guest {
	struct admission_ticket ticket;
	struct hall *hall;
	char name;
	bool leaves_at_once;
};

struct hall {
	struct config *config;
	struct admission *admission;
	struct guest guests[TICKETS];
	size_t guest_count;
	char started[TICKETS + 1]; /* names, in the order of their start */
	struct guest *begun[TICKETS];
	unsigned depth; /* of starts inside starts */
	uint64_t now;
};

static void start(void *user)
{
	struct guest *guest = user;
	struct hall *hall = guest->hall;

	hall->begun[strlen(hall->started)] = guest;
	hall->started[strlen(hall->started)] = guest->name;
	/* One inside the other, a long queue would be a deep stack. */
	assert_int_equal(hall->depth++, 0);
	if (guest->leaves_at_once)
		admission_leave(hall->admission, &guest->ticket);
	hall->depth--;
}

static int make(void **state)
{
	struct hall *hall = xnew(struct hall);
	struct err err = {0};

	assert_ok(config_parse(text, strlen(text), "test.yaml", &hall->config, &err), err);
	hall->admission = admission_new(hall->config, NULL);
	hall->now = 1000 * S;
	*state = hall;
	return 0;
}

static int end(void **state)
{
	struct hall *hall = *state;

	admission_free(hall->admission);
	config_free(hall->config);
	free(hall);
	return 0;
}

static const struct config_token *token(const struct hall *hall, char name)
{
	return name == '-' ? NULL : &hall->config->tokens[name - 'a'];
}

/* A run of this token ('-': of none); the guest is the last one. */
static enum admission_answer ask(struct hall *hall, char name, struct admission_refusal *ret)
{
	struct guest *guest = &hall->guests[hall->guest_count];
	enum admission_answer answer;

	*guest = (struct guest){
		.hall = hall, .name = name, .ticket = {.start = start, .user = guest}};
	answer = admission_run(hall->admission, token(hall, name), hall->now, &guest->ticket, ret);
	if (answer != ADMISSION_REFUSED)
		hall->guest_count++;
	return answer;
}

static void assert_answer(struct hall *hall, char name, enum admission_answer answer)
{
	struct admission_refusal refusal = {0};

	assert_int_equal(ask(hall, name, &refusal), answer);
}

static void assert_refused(struct hall *hall, char name, enum err_kind kind, uint32_t retry_after_s,
			   const char *reason)
{
	struct admission_refusal refusal = {0};

	assert_int_equal(ask(hall, name, &refusal), ADMISSION_REFUSED);
	assert_int_equal(refusal.retry_after_s, retry_after_s);
	assert_string_equal(refusal.reason, reason);
	assert_int_equal(refusal.err.kind, kind);
	assert_true(refusal.err.text[0] != '\0');
}

static void leave(struct hall *hall, size_t guest)
{
	admission_leave(hall->admission, &hall->guests[guest].ticket);
}

static void runs_start_at_once_while_there_is_room(void **state)
{
	struct hall *hall = *state;

	assert_answer(hall, '-', ADMISSION_NOW);
	assert_answer(hall, 'a', ADMISSION_NOW);
	assert_answer(hall, '-', ADMISSION_WAIT);
	assert_int_equal(admission_counts(hall->admission).running, 2);
	assert_int_equal(admission_counts(hall->admission).waiting, 1);
	leave(hall, 0);
	assert_string_equal(hall->started, "-");
	assert_int_equal(admission_counts(hall->admission).running, 2);
	leave(hall, 1);
	leave(hall, 2);
	leave(hall, 2);
	assert_int_equal(admission_counts(hall->admission).running, 0);
	assert_answer(hall, '-', ADMISSION_NOW);
	assert_string_equal(hall->started, "-");
}

static void tokens_take_turns_and_each_is_first_come_first_served(void **state)
{
	struct hall *hall = *state;
	static const char order[] = {'-', '-', '-', '-', '-', 'a', 'a', 'b'};

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		assert_answer(hall, order[i], i < 2 ? ADMISSION_NOW : ADMISSION_WAIT);
	leave(hall, 0);
	leave(hall, 1);
	for (size_t i = 0; i < 6; i++)
		admission_leave(hall->admission, &hall->begun[i]->ticket);
	assert_string_equal(hall->started, "-ab-a-");
	assert_ptr_equal(hall->begun[0], &hall->guests[2]);
	assert_ptr_equal(hall->begun[3], &hall->guests[3]);
	assert_ptr_equal(hall->begun[5], &hall->guests[4]);
	assert_int_equal(admission_counts(hall->admission).running, 0);
	assert_int_equal(admission_counts(hall->admission).waiting, 0);
}

static void a_full_queue_is_the_machines(void **state)
{
	struct hall *hall = *state;

	for (size_t i = 0; i < 8; i++)
		assert_answer(hall, '-', i < 2 ? ADMISSION_NOW : ADMISSION_WAIT);
	assert_refused(hall, '-', ERR_BUSY, 1, "queue");
	assert_refused(hall, 'a', ERR_BUSY, 1, "queue");
	leave(hall, 0);
	assert_answer(hall, 'a', ADMISSION_WAIT);
	assert_refused(hall, '-', ERR_BUSY, 1, "queue");
}

static void a_quota_is_the_tokens_and_counts_waiting_runs(void **state)
{
	struct hall *hall = *state;

	for (size_t i = 0; i < 4; i++)
		assert_answer(hall, 'a', i < 2 ? ADMISSION_NOW : ADMISSION_WAIT);
	assert_refused(hall, 'a', ERR_QUOTA, 1, "token_runs");
	assert_answer(hall, '-', ADMISSION_WAIT);
	leave(hall, 3);
	assert_answer(hall, 'a', ADMISSION_WAIT);
	assert_refused(hall, 'a', ERR_QUOTA, 1, "token_runs");
}

static void a_minutes_runs_are_a_bucket(void **state)
{
	struct hall *hall = *state;

	assert_answer(hall, 'b', ADMISSION_NOW);
	assert_answer(hall, 'b', ADMISSION_NOW);
	leave(hall, 0);
	leave(hall, 1);
	assert_refused(hall, 'b', ERR_QUOTA, 30, "rate");
	hall->now += 28 * S + S / 2;
	assert_refused(hall, 'b', ERR_QUOTA, 2, "rate");
	hall->now += S;
	assert_refused(hall, 'b', ERR_QUOTA, 1, "rate");
	hall->now += S / 2;
	assert_answer(hall, 'b', ADMISSION_NOW);
	assert_refused(hall, 'b', ERR_QUOTA, 30, "rate");

	/* A long rest fills it, and not more than that. */
	hall->now += 100000 * S;
	assert_answer(hall, 'b', ADMISSION_NOW);
	assert_answer(hall, 'b', ADMISSION_WAIT);
	assert_refused(hall, 'b', ERR_QUOTA, 30, "rate");
	assert_answer(hall, 'a', ADMISSION_WAIT);
}

static void what_is_refused_is_not_charged(void **state)
{
	struct hall *hall = *state;

	for (size_t i = 0; i < 8; i++)
		assert_answer(hall, '-', i < 2 ? ADMISSION_NOW : ADMISSION_WAIT);
	for (size_t i = 0; i < 5; i++)
		assert_refused(hall, 'b', ERR_BUSY, 1, "queue");
	for (size_t i = 0; i < 8; i++)
		leave(hall, i);
	assert_answer(hall, 'b', ADMISSION_NOW);
	assert_answer(hall, 'b', ADMISSION_NOW);
	assert_refused(hall, 'b', ERR_QUOTA, 30, "rate");
}

static void what_is_taken_back_is_not_charged(void **state)
{
	struct hall *hall = *state;

	for (size_t i = 0; i < 5; i++) {
		assert_answer(hall, 'b', ADMISSION_NOW);
		admission_take_back(hall->admission, &hall->guests[i].ticket);
	}
	assert_int_equal(admission_counts(hall->admission).running, 0);
	assert_answer(hall, 'b', ADMISSION_NOW);
	assert_answer(hall, 'b', ADMISSION_NOW);
	assert_refused(hall, 'b', ERR_QUOTA, 30, "rate");
}

static void a_run_may_stop_waiting(void **state)
{
	struct hall *hall = *state;
	static const char order[] = {'-', '-', 'a', 'b', 'a'};

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		assert_answer(hall, order[i], i < 2 ? ADMISSION_NOW : ADMISSION_WAIT);
	leave(hall, 3);
	leave(hall, 2);
	assert_int_equal(admission_counts(hall->admission).waiting, 1);
	assert_string_equal(hall->started, "");
	leave(hall, 0);
	leave(hall, 1);
	assert_string_equal(hall->started, "a");
	leave(hall, 4);
	assert_int_equal(admission_counts(hall->admission).running, 0);
}

static void a_run_may_end_inside_its_start(void **state)
{
	struct hall *hall = *state;

	for (size_t i = 0; i < 6; i++)
		assert_answer(hall, "--aba-"[i], i < 2 ? ADMISSION_NOW : ADMISSION_WAIT);
	for (size_t i = 2; i < 6; i++)
		hall->guests[i].leaves_at_once = i != 5;
	leave(hall, 0);
	assert_string_equal(hall->started, "ab-");
	leave(hall, 5);
	assert_string_equal(hall->started, "ab-a");
	leave(hall, 1);
	assert_int_equal(admission_counts(hall->admission).running, 0);
	assert_int_equal(admission_counts(hall->admission).waiting, 0);
}

static bool hold(struct hall *hall, char name, uint64_t bytes, struct admission_refusal *refusal)
{
	struct guest *guest = &hall->guests[hall->guest_count];
	bool is_held;

	*guest = (struct guest){
		.hall = hall, .name = name, .ticket = {.start = start, .user = guest}};
	is_held = admission_hold(hall->admission, token(hall, name), hall->now, bytes,
				 &guest->ticket, refusal);
	hall->guest_count += is_held;
	return is_held;
}

static void what_is_held_is_its_tokens_and_takes_no_place(void **state)
{
	struct hall *hall = *state;
	struct admission_refusal refusal = {0};

	for (size_t i = 0; i < 4; i++)
		assert_true(hold(hall, 'a', 10, &refusal));
	assert_false(hold(hall, 'a', 10, &refusal));
	assert_int_equal(refusal.err.kind, ERR_QUOTA);
	assert_refused(hall, 'a', ERR_QUOTA, 1, "token_runs");
	assert_answer(hall, '-', ADMISSION_NOW);
	assert_int_equal(admission_counts(hall->admission).held, 4);
	/* Allowed: one finds a place, the next waits, and neither is refused. */
	assert_int_equal(admission_allow(hall->admission, &hall->guests[0].ticket), ADMISSION_NOW);
	assert_int_equal(admission_allow(hall->admission, &hall->guests[1].ticket), ADMISSION_WAIT);
	assert_string_equal(hall->started, "");
	leave(hall, 4);
	assert_string_equal(hall->started, "a");
	for (size_t i = 0; i < 4; i++)
		leave(hall, i);
	assert_int_equal(admission_counts(hall->admission).held, 0);
	assert_int_equal(admission_counts(hall->admission).held_bytes, 0);
	assert_int_equal(admission_counts(hall->admission).running, 0);
	assert_true(hold(hall, 'a', 10, &refusal));
}

static void what_is_held_is_bounded_in_number_bytes_and_rate(void **state)
{
	struct hall *hall = *state;
	struct admission_refusal refusal = {0};

	assert_true(hold(hall, 'b', 1000, &refusal));
	assert_false(hold(hall, 'b', 1000, &refusal)); /* a body holds 1 KiB */
	assert_int_equal(refusal.err.kind, ERR_QUOTA);
	assert_true(hold(hall, 'a', 1000, &refusal));
	assert_false(hold(hall, '-', 1000, &refusal)); /* all of them two bodies */
	assert_int_equal(refusal.err.kind, ERR_BUSY);
	assert_string_equal(refusal.reason, "held");
	assert_true(hold(hall, 'b', 1, &refusal));
	assert_false(hold(hall, 'b', 1, &refusal)); /* it has had its two of a minute */
	assert_string_equal(refusal.reason, "rate");
	for (size_t i = 0; i < 5; i++)
		assert_true(hold(hall, '-', 1, &refusal));
	assert_false(hold(hall, '-', 1, &refusal)); /* eight in all */
	assert_int_equal(refusal.err.kind, ERR_BUSY);
}

static void what_was_there_before_takes_its_place(void **state)
{
	struct hall *hall = *state;
	struct guest *guest = &hall->guests[0];

	for (size_t i = 0; i < 3; i++) {
		guest[i] = (struct guest){.hall = hall, .ticket = {.start = start}};
		admission_run_kept(hall->admission, token(hall, 'a'), &guest[i].ticket);
	}
	hall->guest_count = 3;
	assert_int_equal(admission_counts(hall->admission).running, 3);
	assert_answer(hall, 'a', ADMISSION_WAIT);
	assert_refused(hall, 'a', ERR_QUOTA, 1, "token_runs");
	leave(hall, 0);
	assert_string_equal(hall->started, "");
	leave(hall, 1);
	assert_string_equal(hall->started, "a");
}

static void sessions_are_counted_for_the_token_and_in_all(void **state)
{
	struct hall *hall = *state;
	struct admission *admission = hall->admission;
	struct admission_refusal refusal = {0};

	assert_int_equal(admission_session(admission, token(hall, 'a'), 0, &refusal), 0);
	admission_session_kept(admission, token(hall, 'a'));
	assert_int_equal(admission_session(admission, token(hall, 'a'), 0, &refusal), -EBUSY);
	assert_int_equal(refusal.err.kind, ERR_QUOTA);
	assert_string_equal(refusal.reason, "token_sessions");
	assert_int_equal(admission_session(admission, NULL, 0, &refusal), 0);
	assert_int_equal(admission_session(admission, token(hall, 'b'), 0, &refusal), -EBUSY);
	assert_int_equal(refusal.err.kind, ERR_BUSY);
	assert_string_equal(refusal.reason, "sessions");
	assert_true(refusal.retry_after_s > 0);
	assert_int_equal(admission_counts(admission).sessions, 3);
	admission_session_leave(admission, token(hall, 'a'));
	assert_int_equal(admission_session(admission, token(hall, 'a'), 0, &refusal), 0);
}

static void short_memory_refuses_new_work_only(void **state)
{
	struct hall *hall = *state;
	struct admission_refusal refusal = {0};
	struct pressure *pressure;
	char directory[64], path[80];
	FILE *file;

	scratch_make(directory);
	(void)snprintf(path, sizeof(path), "%s/meminfo", directory);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs("MemTotal: 1000000 kB\nMemAvailable: 1 kB\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	pressure = pressure_new(directory, 20);

	admission_free(hall->admission);
	hall->admission = admission_new(hall->config, pressure);
	assert_refused(hall, '-', ERR_BUSY, 5, "memory");
	assert_refused(hall, 'b', ERR_BUSY, 5, "memory");
	assert_int_equal(admission_session(hall->admission, NULL, 0, &refusal), -EBUSY);
	assert_int_equal(refusal.err.kind, ERR_BUSY);
	assert_contains(refusal.err.text, "short of memory");
	assert_int_equal(admission_counts(hall->admission).sessions, 0);
	pressure_free(pressure);
	scratch_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(runs_start_at_once_while_there_is_room, make, end),
		cmocka_unit_test_setup_teardown(
			tokens_take_turns_and_each_is_first_come_first_served, make, end),
		cmocka_unit_test_setup_teardown(a_full_queue_is_the_machines, make, end),
		cmocka_unit_test_setup_teardown(a_quota_is_the_tokens_and_counts_waiting_runs, make,
						end),
		cmocka_unit_test_setup_teardown(a_minutes_runs_are_a_bucket, make, end),
		cmocka_unit_test_setup_teardown(what_is_refused_is_not_charged, make, end),
		cmocka_unit_test_setup_teardown(what_is_taken_back_is_not_charged, make, end),
		cmocka_unit_test_setup_teardown(a_run_may_stop_waiting, make, end),
		cmocka_unit_test_setup_teardown(a_run_may_end_inside_its_start, make, end),
		cmocka_unit_test_setup_teardown(what_is_held_is_its_tokens_and_takes_no_place, make,
						end),
		cmocka_unit_test_setup_teardown(what_is_held_is_bounded_in_number_bytes_and_rate,
						make, end),
		cmocka_unit_test_setup_teardown(what_was_there_before_takes_its_place, make, end),
		cmocka_unit_test_setup_teardown(sessions_are_counted_for_the_token_and_in_all, make,
						end),
		cmocka_unit_test_setup_teardown(short_memory_refuses_new_work_only, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

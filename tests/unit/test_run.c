// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "fake_box.h"
#include "session/head.h"

/* A run against a played sandbox, and what came of it. */
struct scene {
	struct fake fake;
	struct run *run;
	struct fake_sandbox *sandbox; /* the one that has the code */
	struct buf out, facts;
	bool is_done;
	struct run_request request;
};

static void on_output(void *user, int stream, const void *bytes, size_t size)
{
	struct scene *scene = user;

	assert_int_equal(buf_format(&scene->out, "%d:", stream), 0);
	assert_int_equal(buf_append(&scene->out, bytes, size), 0);
}

static void on_fact(void *user, const char *type, const char *value, size_t size)
{
	struct scene *scene = user;

	assert_int_equal(buf_format(&scene->facts, "%s=%.*s after %zu;", type, (int)size, value,
				    scene->out.size),
			 0);
}

static void on_done(void *user, struct run *run)
{
	struct scene *scene = user;

	assert_ptr_equal(run, scene->run);
	scene->is_done = true;
}

static const struct run_calls calls = {.output = on_output, .fact = on_fact, .done = on_done};

static int scene_open(void **state)
{
	struct scene *scene = xnew(struct scene);
	struct pool_settings settings = {0};

	fake_open(&scene->fake, &settings);
	buf_init(&scene->out, 1U << 20);
	buf_init(&scene->facts, 1U << 20);
	scene->request = (struct run_request){
		.code = {.data = "code", .size = 4, .fd = -1},
		.kind = fake_kind(&scene->fake, true),
		.timeout_ms = 30000,
		.timeout_max_ms = 60000,
		.output_max = 1000,
		.keep_events = true,
	};
	*state = scene;
	return 0;
}

static int scene_close(void **state)
{
	struct scene *scene = *state;

	run_free(scene->run);
	fake_done(&scene->fake);
	buf_done(&scene->out);
	buf_done(&scene->facts);
	free(scene);
	return 0;
}

static struct fake_sandbox *find_asked(struct fake *fake, uint16_t asked)
{
	for (size_t i = 0; i < fake->spawn_count; i++) {
		if (fake->sandboxes[i].is_live && fake->sandboxes[i].asked == asked)
			return &fake->sandboxes[i];
	}
	return NULL;
}

/* Until the played sandbox has the code. */
static void start(struct scene *scene)
{
	struct err err = {0};

	assert_ok(run_start(scene->fake.pool, &scene->request, &calls, scene, &scene->run, &err),
		  err);
	fake_until(&scene->fake, (scene->sandbox = find_asked(&scene->fake, FRAME_RUN)) != NULL);
}

static const struct verdict *finish(struct scene *scene)
{
	static struct verdict verdict;

	fake_until(&scene->fake, scene->is_done);
	verdict = run_facts(scene->run).verdict;
	return &verdict;
}

static void a_run_begins_and_ends(void **state)
{
	struct scene *scene = *state;
	struct run_facts facts;
	struct err err = {0};
	struct buf json;

	start(scene);
	assert_true(scene->sandbox->is_begun);
	assert_int_equal(scene->sandbox->timeout_ms, 30000);
	fake_print(scene->sandbox, 1, "out\n", 4);
	fake_print(scene->sandbox, 2, "err\n", 4);
	fake_say(scene->sandbox, FRAME_EVENT,
		 "{\"type\":\"result\",\"result\":{\"text/plain\":\"5\"}}");
	fake_say(scene->sandbox, FRAME_DONE, "{\"kind\":\"ok\"}");
	assert_int_equal(finish(scene)->kind, VERDICT_OK);

	facts = run_facts(scene->run);
	assert_int_equal(facts.walls, WALLS_ALL);
	assert_int_equal(facts.usage.peak_memory, 1000);
	assert_int_equal(facts.usage.output_bytes, 8);
	buf_init(&json, 1U << 20);
	assert_ok(run_result(scene->run, &json, NULL, &err), err);
	assert_true(json_is_valid(json.data, json.size));
	assert_contains(buf_string(&json), "\"stdout\":\"out\\n\",\"stderr\":\"err\\n\"");
	assert_contains(buf_string(&json), "\"result\":{\"text/plain\":\"5\"}");
	assert_contains(buf_string(&json), "\"limits\":\"cgroup v2\"");
	buf_done(&json);
}

static void output_comes_before_the_event_behind_it(void **state)
{
	struct scene *scene = *state;
	const char *event = "{\"type\":\"display\",\"data\":{\"a\":1}}";

	start(scene);
	fake_print(scene->sandbox, 1, "before", 6);
	fake_send(scene->sandbox, FRAME_EVENT, FRAME_FLAG_WAIT, scene->sandbox->nonce, event,
		  strlen(event));
	buf_consume(&scene->sandbox->in, scene->sandbox->in.size);
	fake_until(&scene->fake, scene->sandbox->in.size >= sizeof(struct frame_header));
	assert_int_equal(((const struct frame_header *)(const void *)scene->sandbox->in.data)->type,
			 FRAME_ACK);
	assert_string_equal(buf_string(&scene->facts), "display={\"a\":1} after 8;");
	fake_say(scene->sandbox, FRAME_DONE, "{\"kind\":\"ok\"}");
	(void)finish(scene);
}

static void a_character_is_never_split_over_events(void **state)
{
	struct scene *scene = *state;
	struct events *events = NULL;
	const char *text = NULL;
	uint64_t seq = 1;
	size_t size = 0;

	start(scene);
	events = run_events(scene->run);
	fake_print(scene->sandbox, 1, "a\xe2\x82", 3);
	fake_until(&scene->fake, events->seq == 2);
	fake_print(scene->sandbox, 1, "\xac\xff", 2);
	fake_until(&scene->fake, events->seq == 3);
	fake_print(scene->sandbox, 1, "\xf0\x9f", 2);
	fake_say(scene->sandbox, FRAME_DONE, "{\"kind\":\"ok\"}");
	(void)finish(scene);

	assert_true(events_next(events, 1, &seq, &text, &size));
	assert_memory_equal(text + size - 11, "\"text\":\"a\"}", 11);
	assert_true(events_next(events, 2, &seq, &text, &size));
	assert_non_null(strstr(text, "\"text\":\"\\u20ac\\ufffd\",\"base64\":\"4oKs/w==\"}"));
	/* Bytes that never became a character are sent at the end, before the verdict. */
	assert_true(events_next(events, 3, &seq, &text, &size));
	assert_non_null(strstr(text, "\"text\":\"\\ufffd\\ufffd\",\"base64\":\"8J8=\"}"));
	assert_int_equal(events->seq, 5);
}

static void output_is_cut_and_far_too_much_ends_the_run(void **state)
{
	struct scene *scene = *state;
	static char bytes[16001];
	struct run_facts facts;

	memset(bytes, 'x', sizeof(bytes));
	start(scene);
	fake_print(scene->sandbox, 1, bytes, 16000);
	fake_until(&scene->fake, run_facts(scene->run).usage.output_bytes == 16000);
	assert_int_equal(scene->fake.kill_count, 0);
	fake_print(scene->sandbox, 1, bytes, 1);
	assert_int_equal(finish(scene)->kind, VERDICT_OUTPUT);
	facts = run_facts(scene->run);
	assert_int_equal(facts.out->size, 1000);
	assert_true(facts.truncated.out);
	assert_false(facts.truncated.err);
}

static void another_nonce_is_not_heard(void **state)
{
	struct scene *scene = *state;
	const char *forged = "{\"kind\":\"exit\",\"exit_code\":9}";

	start(scene);
	fake_send(scene->sandbox, FRAME_DONE, 0, scene->sandbox->nonce + 1, forged, strlen(forged));
	fake_say(scene->sandbox, FRAME_DONE, "{\"kind\":\"ok\"}");
	fake_say(scene->sandbox, FRAME_DONE, forged);
	assert_int_equal(finish(scene)->kind, VERDICT_OK);
}

/* Each of these is sent by no runner: the sandbox is ended, the verdict says so. */
static void nonsense_ends_the_run(void **state)
{
	static const struct {
		uint16_t type;
		const char *payload;
	} rows[] = {
		{FRAME_EVENT, "{\"type\":\"display\",\"data\":{\"a\":}}"},
		{FRAME_EVENT, "{\"type\":\"verdict\",\"verdict\":{}}"},
		{FRAME_EVENT, "{\"type\":\"stdout\",\"text\":\"x\"}"},
		{FRAME_EVENT, "{\"type\":\"chart\"}"},
		{FRAME_EVENT, "[]"},
		{FRAME_DONE, "{\"kind\":\"timeout\"}"},
		{FRAME_DONE, "{}"},
		{FRAME_HELLO, ""},
		{FRAME_RUN, "xxxxxxxx"},
		{FRAME_FILE, ""},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct verdict *verdict = NULL;

		start(scene);
		fake_say(scene->sandbox, rows[i].type, rows[i].payload);
		verdict = finish(scene);
		if (verdict->kind != VERDICT_KILLED || verdict->by == VERDICT_BY_RUNNER)
			fail_msg("%s: %s", rows[i].payload, verdict_name(verdict->kind));
		run_free(STEAL(scene->run));
		scene->is_done = false;
	}
}

static void bytes_that_are_no_frame_end_the_run(void **state)
{
	struct scene *scene = *state;

	start(scene);
	assert_int_equal(
		send(scene->sandbox->fds[3], "\xff\xff\xff\xff garbage garbage garbage", 28, 0),
		28);
	assert_int_equal(finish(scene)->kind, VERDICT_KILLED);
	assert_contains(finish(scene)->message, "channel");
}

static void events_without_end_are_dropped_then_ended(void **state)
{
	struct scene *scene = *state;
	const char *event = "{\"type\":\"display\",\"data\":{}}";

	scene->request.keep_events = false;
	start(scene);
	for (int i = 0; i < 200000 && scene->sandbox->is_live; i++) {
		struct frame_header header = {.size = (uint32_t)strlen(event),
					      .type = FRAME_EVENT,
					      .nonce = scene->sandbox->nonce,
					      .counter = ++scene->sandbox->counter};
		struct iovec parts[] = {
			{.iov_base = &header, .iov_len = sizeof(header)},
			{.iov_base = (void *)(uintptr_t)event, .iov_len = strlen(event)},
		};
		struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

		buf_consume(&scene->facts, scene->facts.size);
		while (scene->sandbox->is_live &&
		       sendmsg(scene->sandbox->fds[3], &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			fake_turn(&scene->fake);
	}
	assert_int_equal(finish(scene)->kind, VERDICT_OUTPUT);
	assert_true(run_facts(scene->run).truncated.events);
}

static void an_exit_without_a_word_is_a_fact(void **state)
{
	struct scene *scene = *state;
	const struct box_exit exit = {.cause = BOX_CAUSE_SELF, .code = 41};

	start(scene);
	fake_print(scene->sandbox, 1, "last words", 10);
	fake_exit(&scene->fake, scene->sandbox, &exit);
	assert_int_equal(finish(scene)->kind, VERDICT_EXIT);
	assert_int_equal(finish(scene)->exit_code, 41);
	assert_string_equal(buf_string(&scene->out), "1:last words");
}

static void what_was_said_before_the_exit_counts(void **state)
{
	struct scene *scene = *state;
	const struct box_exit exit = {.cause = BOX_CAUSE_SELF, .code = 1};

	start(scene);
	fake_say(scene->sandbox, FRAME_DONE, "{\"kind\":\"ok\"}");
	fake_exit(&scene->fake, scene->sandbox, &exit);
	assert_int_equal(finish(scene)->kind, VERDICT_OK);
}

static void a_killed_child_outweighs_an_ok(void **state)
{
	struct scene *scene = *state;

	scene->fake.end.oom_kills = 1;
	start(scene);
	fake_say(scene->sandbox, FRAME_DONE, "{\"kind\":\"ok\"}");
	assert_int_equal(finish(scene)->kind, VERDICT_MEMORY);
}

static void a_held_pipe_does_not_delay_the_end(void **state)
{
	struct scene *scene = *state;
	int held;

	start(scene);
	held = fcntl(scene->sandbox->fds[1], F_DUPFD_CLOEXEC, 0);
	assert_true(held >= 0);
	fake_say(scene->sandbox, FRAME_DONE, "{\"kind\":\"ok\"}");
	assert_int_equal(finish(scene)->kind, VERDICT_OK);
	(void)close(held);
}

static void cancelling_ends_it(void **state)
{
	struct scene *scene = *state;

	start(scene);
	run_cancel(scene->run, false);
	assert_int_equal(finish(scene)->kind, VERDICT_CANCELLED);
	run_cancel(scene->run, true);
	assert_int_equal(finish(scene)->kind, VERDICT_CANCELLED);
}

static void cancelling_works_before_there_is_a_sandbox(void **state)
{
	struct scene *scene = *state;
	struct err err = {0};

	assert_ok(run_start(scene->fake.pool, &scene->request, &calls, scene, &scene->run, &err),
		  err);
	run_cancel(scene->run, true);
	assert_int_equal(finish(scene)->kind, VERDICT_INTERRUPTED);
}

static void a_lost_backend_is_told(void **state)
{
	struct scene *scene = *state;

	start(scene);
	fake_lose(&scene->fake);
	assert_int_equal(finish(scene)->kind, VERDICT_BACKEND);
	assert_contains(finish(scene)->message, "the fake is gone");
}

static void a_missing_wall_refuses(void **state)
{
	struct scene *scene = *state;
	struct err err = {0};

	scene->fake.walls = WALLS_ALL & ~(1U << WALL_SECCOMP);
	assert_ok(run_start(scene->fake.pool, &scene->request, &calls, scene, &scene->run, &err),
		  err);
	assert_int_equal(finish(scene)->kind, VERDICT_BACKEND);
	assert_contains(finish(scene)->message, "walls");
	assert_null(find_asked(&scene->fake, FRAME_RUN));
}

static void a_refused_check_means_nothing_runs(void **state)
{
	struct scene *scene = *state;
	struct fake_sandbox *checker = NULL;
	struct err err = {0};

	scene->request.guard_runtime = &scene->fake.runtime;
	assert_ok(run_start(scene->fake.pool, &scene->request, &calls, scene, &scene->run, &err),
		  err);
	fake_until(&scene->fake, (checker = find_asked(&scene->fake, FRAME_CHECK)) != NULL);
	fake_say(checker, FRAME_DONE, "{\"kind\":\"guard\",\"message\":\"Blocked import\"}");
	assert_int_equal(finish(scene)->kind, VERDICT_GUARD);
	assert_string_equal(finish(scene)->message, "Blocked import");
	assert_null(find_asked(&scene->fake, FRAME_RUN));
}

static void a_passed_check_lets_it_run(void **state)
{
	struct scene *scene = *state;
	struct fake_sandbox *checker = NULL;
	struct err err = {0};

	scene->request.guard_runtime = &scene->fake.runtime;
	assert_ok(run_start(scene->fake.pool, &scene->request, &calls, scene, &scene->run, &err),
		  err);
	fake_until(&scene->fake, (checker = find_asked(&scene->fake, FRAME_CHECK)) != NULL);
	assert_null(find_asked(&scene->fake, FRAME_RUN));
	fake_say(checker, FRAME_DONE, "{\"kind\":\"ok\"}");
	fake_until(&scene->fake, (scene->sandbox = find_asked(&scene->fake, FRAME_RUN)) != NULL);
	fake_say(scene->sandbox, FRAME_DONE, "{\"kind\":\"ok\"}");
	assert_int_equal(finish(scene)->kind, VERDICT_OK);
}

static void a_checker_that_dies_refuses(void **state)
{
	struct scene *scene = *state;
	struct fake_sandbox *checker = NULL;
	const struct box_exit exit = {.cause = BOX_CAUSE_DEADLINE, .signal = SIGKILL};
	struct err err = {0};

	scene->request.guard_runtime = &scene->fake.runtime;
	assert_ok(run_start(scene->fake.pool, &scene->request, &calls, scene, &scene->run, &err),
		  err);
	fake_until(&scene->fake, (checker = find_asked(&scene->fake, FRAME_CHECK)) != NULL);
	fake_exit(&scene->fake, checker, &exit);
	assert_int_equal(finish(scene)->kind, VERDICT_GUARD);
}

static void sandbox_taken(void *user, struct sandbox *sandbox, const struct err *why)
{
	struct sandbox **taken = user;

	(void)why;
	*taken = sandbox;
}

static void sandbox_gone(void *user, const struct box_exit *facts, const struct err *why)
{
	(void)user;
	(void)facts;
	(void)why;
}

static int refuse_kind(struct backend_instance *instance, const struct box_kind *kind,
		       struct err *err)
{
	(void)instance;
	(void)kind;
	return err_set(err, ERR_INTERNAL, EIO, "no such kind");
}

/* In a session its head is there at once: it gets no code that nobody has checked. */
static void a_check_that_cannot_be_asked_means_nothing_runs(void **state)
{
	static const struct head_calls head_calls = {0};
	static const struct run_host host = {0};
	struct scene *scene = *state;
	struct sandbox *sandbox = NULL;
	struct pool_ticket *ticket = NULL;
	struct runtime checker;
	struct head *head = NULL;
	struct err err = {0};

	assert_ok(pool_take(scene->fake.pool, &scene->request.kind, sandbox_taken, &sandbox,
			    &ticket, &err),
		  err);
	fake_until(&scene->fake, sandbox != NULL);
	sandbox_take(sandbox, sandbox_gone, NULL);
	head = head_first(sandbox, &head_calls, NULL);

	runtime_init(&checker, "checker");
	scene->request.guard_runtime = &checker;
	scene->fake.row.prepare = refuse_kind;
	assert_ok(run_prepare(scene->fake.pool, &scene->request, &host, NULL, &calls, scene,
			      &scene->run, &err),
		  err);
	run_begin(scene->run, head);
	assert_int_equal(finish(scene)->kind, VERDICT_BACKEND);
	assert_false(run_has_begun(scene->run));
	fake_turn(&scene->fake);
	assert_null(find_asked(&scene->fake, FRAME_RUN));
	head_free(head);
	sandbox_end(sandbox);
	fake_until(&scene->fake, !scene->fake.sandboxes[0].is_live);
	runtime_done(&checker);
}

#define SCENE(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(a_run_begins_and_ends),
		SCENE(output_comes_before_the_event_behind_it),
		SCENE(a_character_is_never_split_over_events),
		SCENE(output_is_cut_and_far_too_much_ends_the_run),
		SCENE(another_nonce_is_not_heard),
		SCENE(nonsense_ends_the_run),
		SCENE(bytes_that_are_no_frame_end_the_run),
		SCENE(events_without_end_are_dropped_then_ended),
		SCENE(an_exit_without_a_word_is_a_fact),
		SCENE(what_was_said_before_the_exit_counts),
		SCENE(a_killed_child_outweighs_an_ok),
		SCENE(a_held_pipe_does_not_delay_the_end),
		SCENE(cancelling_ends_it),
		SCENE(cancelling_works_before_there_is_a_sandbox),
		SCENE(a_lost_backend_is_told),
		SCENE(a_missing_wall_refuses),
		SCENE(a_refused_check_means_nothing_runs),
		SCENE(a_passed_check_lets_it_run),
		SCENE(a_checker_that_dies_refuses),
		SCENE(a_check_that_cannot_be_asked_means_nothing_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* Two backends in one pool: the choice is carried to the box, and a pin is kept or refused. */
#include "backend/choose.h"
#include "fake_box.h"
#include "session/head.h"
#include "session/sandbox.h"

struct scene {
	struct fake weak, strong; /* "fake", 60, and "strong", 70 */
	struct config *config;
	struct run *run;
	bool is_done;
	struct run_request request;
};

static void on_done(void *user, struct run *run)
{
	struct scene *scene = user;

	(void)run;
	scene->is_done = true;
}

static const struct run_calls calls = {.done = on_done};

static int scene_open(void **state)
{
	struct scene *scene = xnew(struct scene);
	struct pool_settings settings = {0};
	struct err err = {0};

	if (config_parse("", 0, "vivarium.yaml", &scene->config, &err) < 0)
		fail_msg("%s", err.text);
	settings.config = scene->config;
	fake_row(&scene->strong, "strong", 70);
	fake_open_two(&scene->weak, &scene->strong, &settings);
	scene->request = (struct run_request){
		.code = {.data = "code", .size = 4, .fd = -1},
		.kind = fake_kind(&scene->weak, true),
		.timeout_ms = 30000,
		.timeout_max_ms = 60000,
		.output_max = 1000,
	};
	scene->request.kind.backend = NULL; /* it is to be chosen */
	*state = scene;
	return 0;
}

static int scene_close(void **state)
{
	struct scene *scene = *state;

	run_free(scene->run);
	fake_done(&scene->weak);
	config_free(scene->config);
	free(scene);
	return 0;
}

static void turn(struct scene *scene)
{
	fake_turn(&scene->weak);
	fake_turn_backend(&scene->strong);
}

#define until(scene, condition)                                                                    \
	do {                                                                                       \
		int turns_ = 0;                                                                    \
		while (!(condition)) {                                                             \
			if (turns_++ > FAKE_TURNS)                                                 \
				fail_msg("never: %s", #condition);                                 \
			turn(scene);                                                               \
		}                                                                                  \
	} while (0)

/* Runs it in the first sandbox of `by`, and looks that the result names it. */
static void run_by(struct scene *scene, struct fake *by)
{
	struct fake *other = by == &scene->weak ? &scene->strong : &scene->weak;
	struct err err = {0};

	assert_ok(run_start(scene->weak.pool, &scene->request, &calls, scene, &scene->run, &err),
		  err);
	until(scene, by->spawn_count == 1 && by->sandboxes[0].asked == FRAME_RUN);
	fake_say(&by->sandboxes[0], FRAME_DONE, "{\"kind\":\"ok\"}");
	until(scene, scene->is_done);
	assert_int_equal(run_facts(scene->run).verdict.kind, VERDICT_OK);
	assert_string_equal(run_facts(scene->run).backend, by->row.name);
	assert_int_equal(other->spawn_count, 0);
}

static void refused(struct scene *scene, enum err_kind kind)
{
	struct err err = {0};

	assert_true(run_start(scene->weak.pool, &scene->request, &calls, scene, &scene->run, &err) <
		    0);
	assert_int_equal(err.kind, kind);
	for (int i = 0; i < 20; i++)
		turn(scene);
	assert_int_equal(scene->weak.spawn_count + scene->strong.spawn_count, 0);
}

static void the_strongest_is_taken(void **state)
{
	struct scene *scene = *state;

	run_by(scene, &scene->strong);
}

static void a_pin_of_the_request_is_kept(void **state)
{
	struct scene *scene = *state;

	scene->request.backend = "fake";
	run_by(scene, &scene->weak);
}

static void a_pin_of_the_config_is_kept(void **state)
{
	struct scene *scene = *state;

	text_set(&scene->config->backend_pin, "fake");
	run_by(scene, &scene->weak);
}

static void a_pin_that_cannot_be_kept_is_refused(void **state)
{
	struct scene *scene = *state;

	(void)err_set(&scene->weak.facts.unfit, ERR_UNSUPPORTED, ENOSYS, "not on this host");
	until(scene, scene->weak.is_told && scene->strong.is_told);
	scene->request.backend = "fake";
	refused(scene, ERR_UNSUPPORTED);
	scene->request.backend = NULL;
	text_set(&scene->config->backend_pin, "fake");
	refused(scene, ERR_UNSUPPORTED);
	scene->request.backend = "strong"; /* the config allows the other alone */
	refused(scene, ERR_FORBIDDEN);
}

/* It was there when the choice was made: nobody else does the run instead. */
static void a_choice_is_not_made_twice(void **state)
{
	struct scene *scene = *state;
	struct err err = {0};

	scene->request.backend = "fake";
	assert_ok(run_start(scene->weak.pool, &scene->request, &calls, scene, &scene->run, &err),
		  err);
	until(scene, scene->weak.is_told && scene->strong.is_told);
	fake_lose(&scene->weak);
	until(scene, scene->is_done);
	assert_int_equal(run_facts(scene->run).verdict.kind, VERDICT_BACKEND);
	assert_int_equal(scene->strong.spawn_count, 0);
}

static void on_taken(void *user, struct sandbox *sandbox, const struct err *why)
{
	(void)why;
	*(struct sandbox **)user = sandbox;
}

static void a_ready_sandbox_of_one_never_serves_another(void **state)
{
	struct scene *scene = *state;
	struct box_kind strong = fake_kind(&scene->weak, false);
	struct box_kind weak = strong;
	struct box_kind none = strong;
	struct pool_ticket *ticket = NULL;
	struct sandbox *sandbox = NULL;
	struct err err = {0};

	strong.backend = &scene->strong.row;
	none.backend = NULL;
	assert_ok(pool_keep(scene->weak.pool, &strong, 1, &err), err);
	until(scene, scene->strong.spawn_count == 1 && scene->strong.sandboxes[0].has_stood);
	assert_ok(pool_take(scene->weak.pool, &weak, on_taken, &sandbox, &ticket, &err), err);
	until(scene, sandbox != NULL);
	assert_ptr_equal(sandbox->backend, &scene->weak.row);
	sandbox_end(sandbox);

	/* And one that nobody chose is made by nobody. */
	assert_true(pool_take(scene->weak.pool, &none, on_taken, &sandbox, &ticket, &err) < 0);
	assert_int_equal(err.kind, ERR_UNSUPPORTED);
}

/* Nothing of it can have been kept: a daemon does not wait for what it kept. */
static void one_without_a_helper_serves_a_daemon(void **state)
{
	const struct backend_stay stay = {.path = "/nowhere", .wish = -1, .connected = -1};
	struct pool_settings settings = {.stay = &stay};
	struct pool_ticket *ticket = NULL;
	struct sandbox *sandbox = NULL;
	struct box_kind kind;
	struct fake fake;
	struct err err = {0};

	(void)state;
	fake_open(&fake, &settings);
	kind = fake_kind(&fake, true);
	assert_ok(pool_take(fake.pool, &kind, on_taken, &sandbox, &ticket, &err), err);
	fake_until(&fake, sandbox != NULL);
	sandbox_end(sandbox);
	fake_done(&fake);
}

/* Each backend says which walls its boxes must report. */
static void walls_are_those_of_the_backend(void **state)
{
	struct scene *scene = *state;
	struct err err = {0};

	scene->strong.facts.walls = 1U << WALL_USER | 1U << WALL_NET;
	scene->strong.walls = scene->strong.facts.walls;
	run_by(scene, &scene->strong);
	run_free(STEAL(scene->run));

	scene->is_done = false;
	scene->strong.walls = 1U << WALL_USER;
	assert_ok(run_start(scene->weak.pool, &scene->request, &calls, scene, &scene->run, &err),
		  err);
	until(scene, scene->is_done);
	assert_int_equal(run_facts(scene->run).verdict.kind, VERDICT_BACKEND);
	assert_contains(run_facts(scene->run).verdict.message, "walls");
}

static void what_a_box_cannot_do_is_told(void **state)
{
	struct scene *scene = *state;

	assert_string_equal(backend_lack(&scene->weak.row, 0), "checkpoints");
	assert_string_equal(backend_lack(&scene->weak.row, 4), "an end of what runs leave behind");
	assert_null(backend_lack(&scene->weak.row, 5));
	assert_null(backend_lack(&backend_namespace, 0));
	assert_null(backend_lack(&backend_remote, 0));
}

/* Nothing of it is asked of a box that cannot: the session is told, and goes on. */
static void what_a_box_cannot_do_is_refused(void **state)
{
	static const struct head_calls nobody = {0};
	struct scene *scene = *state;
	struct box_kind kind = fake_kind(&scene->weak, true);
	struct pool_ticket *ticket = NULL;
	struct sandbox *sandbox = NULL;
	struct head *head = NULL;
	struct head *child = NULL;
	struct err err = {0};

	assert_ok(pool_take(scene->weak.pool, &kind, on_taken, &sandbox, &ticket, &err), err);
	until(scene, sandbox != NULL);
	head = head_first(sandbox, &nobody, NULL);
	assert_int_equal(head_fork(head, false, NULL, NULL, &nobody, NULL, &child, &err),
			 -EOPNOTSUPP);
	assert_int_equal(head_save(head, &err), -EOPNOTSUPP);
	assert_int_equal(sandbox_freeze(sandbox, true, NULL, NULL, &err), -EOPNOTSUPP);
	assert_int_equal(sandbox_sweep(sandbox, true, NULL, NULL, &err), -EOPNOTSUPP);
	assert_ok(sandbox_keep(sandbox, "name", &err), err);
	assert_ok(sandbox_meter(sandbox, &err), err);
	assert_ok(head_begin(head, 1000, &err), err);
	assert_true(scene->weak.sandboxes[0].is_begun);

	/* One interpreter cannot be ended alone: all of it is. */
	head_drop(head);
	assert_int_equal(scene->weak.kill_count, 1);
	head_free(head);
	sandbox_end(sandbox);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_open, scene_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(the_strongest_is_taken),
		SCENE(a_pin_of_the_request_is_kept),
		SCENE(a_pin_of_the_config_is_kept),
		SCENE(a_pin_that_cannot_be_kept_is_refused),
		SCENE(a_choice_is_not_made_twice),
		SCENE(a_ready_sandbox_of_one_never_serves_another),
		cmocka_unit_test(one_without_a_helper_serves_a_daemon),
		SCENE(walls_are_those_of_the_backend),
		SCENE(what_a_box_cannot_do_is_told),
		SCENE(what_a_box_cannot_do_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

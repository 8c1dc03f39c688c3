// SPDX-License-Identifier: Apache-2.0
#include "fake_box.h"
#include "log_unit.h"
#include "session/run_state.h"

/* A run whose played sandbox sends files. */
struct scene {
	struct fake fake;
	struct run *run;
	struct fake_sandbox *sandbox;
	size_t file_count;
	bool is_done;
};

static void on_file(void *user, const char *path, const void *bytes, size_t size, bool is_last)
{
	struct scene *scene = user;

	(void)path;
	(void)bytes;
	(void)size;
	assert_true(is_last);
	scene->file_count++;
}

static void on_done(void *user, struct run *run)
{
	struct scene *scene = user;

	(void)run;
	scene->is_done = true;
}

static const struct run_calls calls = {.file = on_file, .done = on_done};

static struct scene *scene_new(struct log *log)
{
	struct scene *scene = xnew(struct scene);
	struct pool_settings settings = {0};
	struct err err = {0};
	struct run_request request;

	fake_open(&scene->fake, &settings);
	request = (struct run_request){
		.code = {.data = "code", .size = 4, .fd = -1},
		.kind = fake_kind(&scene->fake, true),
		.timeout_ms = 30000,
		.output_max = 1000,
		.want_files = true,
		.log = log,
	};
	request.kind.plan.disk = 64 * KIB;
	assert_ok(run_start(scene->fake.pool, &request, &calls, scene, &scene->run, &err), err);
	fake_until(&scene->fake,
		   scene->fake.spawn_count > 0 && scene->fake.sandboxes[0].asked == FRAME_RUN);
	scene->sandbox = &scene->fake.sandboxes[0];
	return scene;
}

static int scene_open(void **state)
{
	*state = scene_new(NULL);
	return 0;
}

static int scene_close(void **state)
{
	struct scene *scene = *state;

	run_free(scene->run);
	fake_done(&scene->fake);
	free(scene);
	return 0;
}

/* An empty file, whole. */
static void send_file(struct scene *scene, const char *path)
{
	uint32_t path_size = (uint32_t)strlen(path);
	char payload[1000];

	memcpy(payload, &path_size, sizeof(path_size));
	memcpy(payload + sizeof(path_size), path, path_size);
	fake_send(scene->sandbox, FRAME_FILE, FRAME_FLAG_LAST, scene->sandbox->nonce, payload,
		  sizeof(path_size) + path_size);
	fake_turn(&scene->fake);
}

static void assert_end(struct scene *scene, size_t file_count, bool is_cut)
{
	fake_say(scene->sandbox, FRAME_DONE, "{\"kind\":\"ok\"}");
	fake_until(&scene->fake, scene->is_done);
	assert_int_equal(run_facts(scene->run).verdict.kind, VERDICT_OK);
	assert_int_equal(scene->file_count, file_count);
	assert_int_equal(run_facts(scene->run).truncated.files, is_cut);
}

/* The files may take 64 KiB and 1 MiB: as much as 272 folders. */
static void folders_count_as_bytes(void **state)
{
	struct scene *scene = *state;
	char path[200];

	for (int i = 0; i < 20; i++) {
		(void)snprintf(path, sizeof(path),
			       "/workspace/%d/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/f",
			       i);
		send_file(scene, path);
	}
	assert_end(scene, 13, true);
}

static void a_way_that_comes_again_counts_again_unless_it_comes_next(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 100; i++) {
		send_file(scene, "/workspace/a/b/f");
		send_file(scene, "/workspace/c/d/f");
	}
	assert_end(scene, 136, true);
}

static void a_folder_of_many_files_counts_once(void **state)
{
	struct scene *scene = *state;
	char path[200];

	for (int i = 0; i < 400; i++) {
		(void)snprintf(path, sizeof(path), "/workspace/a/b/c%d/%03d", i / 200, i);
		send_file(scene, path);
	}
	assert_end(scene, 400, false);
}

static void files_that_are_too_deep_are_cut(void **state)
{
	struct scene *scene = *state;
	char path[200] = "/workspace";

	for (int i = 0; i < 64; i++)
		(void)strcat(path, "/d");
	send_file(scene, path);
	assert_int_equal(scene->file_count, 1);
	send_file(scene, strcat(path, "/d"));
	assert_end(scene, 1, true);
}

/* The last line of a log; it must have ended. */
static void read_last(struct log *log, struct buf *room)
{
	struct log_reader reader = {0};
	const char *line = NULL;
	size_t size = 0;

	assert_true(log_is_over(log));
	log_reader_open(&reader, log, log_seq(log) - 1, NULL, NULL);
	assert_int_equal(log_reader_next(&reader, &line, &size), 1);
	assert_int_equal(buf_append(room, line, size), 0);
	log_reader_close(&reader);
}

/* No list is this long; the end of a run must not depend on that. */
static void a_verdict_that_the_log_refuses_is_written_without_its_lists(void **state)
{
	static char item[JOURNAL_RECORD_MAX];
	struct stage *stage = *state;
	struct log *log = add_log(stage, "run_1");
	struct scene *scene = scene_new(log);
	AUTO_BUF struct buf line = {.max = MIB};

	memset(item, '1', sizeof(item));
	assert_int_equal(buf_append(&scene->run->told.parts[RESULT_FILES], item, sizeof(item)), 0);
	fake_say(scene->sandbox, FRAME_DONE, "{\"kind\":\"ok\",\"missing\":[\"a\"]}");
	fake_until(&scene->fake, scene->is_done);
	read_last(log, &line);
	assert_non_null(strstr(buf_string(&line), "\"kind\":\"ok\""));
	assert_non_null(strstr(buf_string(&line), "\"files\":[],\"missing\":[]"));
	assert_non_null(strstr(buf_string(&line), "\"files\":true,\"result\":true"));
	(void)scene_close((void **)&scene);
}

#define SCENE(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(folders_count_as_bytes),
		SCENE(a_way_that_comes_again_counts_again_unless_it_comes_next),
		SCENE(a_folder_of_many_files_counts_once),
		SCENE(files_that_are_too_deep_are_cut),
		STAGE(a_verdict_that_the_log_refuses_is_written_without_its_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

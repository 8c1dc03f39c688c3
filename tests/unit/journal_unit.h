// SPDX-License-Identifier: Apache-2.0
/*
 * Journal unit - a journal in a scratch folder, and what its replay told
 *
 * Owns:    the folder.
 * May not: hide a failure: what a step needs is asserted in it.
 */
#pragma once

#include "base/c.h"
#include "base/log.h"
#include "session/journal.h"
#include "unit.h"

struct scene {
	char dir[64];
	char path[80]; /* of the journal in it */
	struct journal_settings settings;
	struct journal *journal;
	struct err err;

	uint64_t seqs[4096]; /* what was replayed */
	size_t count;
	struct journal_place last;
};

static inline void scene_hear(void *user, const struct journal_record *record,
			      struct journal_place place)
{
	struct scene *scene = user;

	assert_true(scene->count < ARRAY_LEN(scene->seqs));
	scene->seqs[scene->count++] = record->seq;
	scene->last = place;
}

/* Opens it (again), and forgets what an earlier replay told. */
static inline void scene_reopen(struct scene *scene)
{
	journal_close(STEAL(scene->journal));
	scene->count = 0;
	assert_ok(journal_open(scene->path, &scene->settings, scene_hear, scene, &scene->journal,
			       &scene->err),
		  scene->err);
}

static inline int scene_setup(void **state)
{
	struct scene *scene = xnew(struct scene);

	log_set_level(LOG_LEVEL_ERROR);
	scratch_make(scene->dir);
	(void)snprintf(scene->path, sizeof(scene->path), "%s/journal", scene->dir);
	scene->settings.segment_size = 64 * KIB;
	scene_reopen(scene);
	*state = scene;
	return 0;
}

static inline int scene_teardown(void **state)
{
	struct scene *scene = *state;

	journal_close(scene->journal);
	scratch_remove(scene->dir);
	free(scene);
	return 0;
}

/* An event with this number, and `size` bytes that follow from it. */
static inline struct journal_place scene_append(struct scene *scene, uint64_t seq, size_t size)
{
	struct journal_record record = {
		.type = JOURNAL_EVENT, .id = "run_a", .seq = seq, .marks = {seq, 2, 3}};
	struct journal_place place = {0};
	uint8_t *data = xcalloc(1, size + 1);

	memset(data, (int)(seq & 0xff), size);
	record.data = data;
	record.size = size;
	assert_ok(journal_append(scene->journal, &record, NULL, 0, &place, &scene->err),
		  scene->err);
	free(data);
	return place;
}

/* Were exactly these replayed, each once, in order? */
static inline void assert_replayed(const struct scene *scene, uint64_t from, uint64_t to)
{
	assert_int_equal(scene->count, to + 1 - from);
	for (size_t i = 0; i < scene->count; i++)
		assert_int_equal(scene->seqs[i], from + i);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

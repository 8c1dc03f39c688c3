// SPDX-License-Identifier: Apache-2.0
/*
 * Log unit - logs over a journal in a scratch folder
 *
 * Owns:    the folder.
 * May not: hide a failure: what a step needs is asserted in it.
 */
#pragma once

#include "base/c.h"
#include "base/log.h"
#include "session/log_text.h"
#include "unit.h"

#define KEEP_MS 1000U

struct stage {
	char dir[64];
	struct journal_settings settings;
	struct journal *journal;
	struct logs *logs;
	struct err err;
};

static inline void stage_replay(void *user, const struct journal_record *record,
				struct journal_place place)
{
	struct stage *stage = user;

	logs_replay(stage->logs, record, place);
}

/* As after a restart. */
static inline void restart(struct stage *stage)
{
	logs_free(STEAL(stage->logs));
	journal_close(STEAL(stage->journal));
	stage->logs = logs_new(NULL, KEEP_MS);
	assert_ok(journal_open(stage->dir, &stage->settings, stage_replay, stage, &stage->journal,
			       &stage->err),
		  stage->err);
	logs_attach(stage->logs, stage->journal);
}

static inline int stage_setup(void **state)
{
	struct stage *stage = xnew(struct stage);

	log_set_level(LOG_LEVEL_ERROR);
	scratch_make(stage->dir);
	stage->settings.segment_size = 64 * KIB;
	restart(stage);
	*state = stage;
	return 0;
}

static inline int stage_teardown(void **state)
{
	struct stage *stage = *state;

	logs_free(stage->logs);
	journal_close(stage->journal);
	scratch_remove(stage->dir);
	free(stage);
	return 0;
}

static inline struct log *add_log_of(struct stage *stage, const char *id, const char *head,
				     const char *code)
{
	struct log *log = NULL;

	assert_ok(logs_add(stage->logs, id, head, strlen(head), code, strlen(code), &log,
			   &stage->err),
		  stage->err);
	return log;
}

static inline struct log *add_log(struct stage *stage, const char *id)
{
	return add_log_of(stage, id, "{\"session\":null}", "print(1)");
}

/* A verdict is the last. */
static inline void add_line(struct stage *stage, struct log *log, const char *type,
			    const char *members)
{
	assert_ok(log_add(log, type, members, strlen(members), NULL, strcmp(type, "verdict") == 0,
			  &stage->err),
		  stage->err);
}

/* The text of a result or notebook, whole. */
static inline int take_whole(struct log_text *take_text, struct buf *buf, struct err *err)
{
	int r = log_text_whole(take_text, buf, err);

	log_text_free(take_text);
	return r;
}

#define STAGE(test) cmocka_unit_test_setup_teardown(test, stage_setup, stage_teardown)

// SPDX-License-Identifier: Apache-2.0
/*
 * Run inputs - from the flags of `viv run` to what the op takes
 *
 * Owns:    the code, and every file that a flag names, open until the run has its copy.
 * May not: read data or files into memory: they go to the sandbox as descriptors.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/flags.h"
#include "op/op.h"

#define RUN_DATA_HELP                                                                              \
	"table that the code finds as data and df: {columns, rows}, or a list of objects"

/* Values of the flags. */
struct run_options {
	struct flag_given given; /* by the rows of run_params */
	const char *data;
	bool wants_stdin;
	const char *out;
	bool may_overwrite;
	bool is_json, is_events, no_daemon;
	const char *config;
};

struct run_inputs {
	struct run_request op;
	struct buf code, args;                /* owned */
	int data_fd;                          /* owned */
	char *data_path;                      /* owned */
	const char *data_text;                /* borrowed: the value of --data; NULL: none */
	struct run_file files[FLAG_LIST_MAX]; /* their fd and path are owned */
};

/* Checks and opens everything. Each message starts with the flag it is about. */
int run_inputs_read(const struct run_options *options, const struct operands *operands,
		    struct run_inputs *inputs, struct err *err);

/* A regular file, open for reading, and its size. Other kinds could block or never end. */
int run_inputs_open(const char *path, struct run_bytes *ret_bytes, struct err *err);

/* A daemon that refuses an input knows its number or its part, and this adds the name of the file:
 * "--file: [0].path: ..." becomes "--file: a.csv: ...". */
void run_inputs_blame(const struct run_inputs *inputs, struct err *err);

void run_inputs_done(struct run_inputs *inputs);

// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a fuzz target once over every file of a corpus, without libFuzzer: the part of fuzzing that
 * belongs into every test run.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/io.h"
#include "fuzz.h"

#define INPUT_MAX (16U << 20)

static int replay_file(const char *directory, const char *name)
{
	char path[4096];
	struct err err = {0};
	uint8_t *exact;
	struct buf buf;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	buf_init(&buf, INPUT_MAX);
	if (io_read_file(AT_FDCWD, path, &buf, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}

	/* Printed first: when the target ends the process, the last line names the input. */
	(void)printf("%s\n", name);
	(void)fflush(stdout);

	/* A copy without a byte to spare, so that a sanitizer sees a read behind its end. */
	exact = xcalloc(buf.size > 0 ? buf.size : 1, 1);
	if (buf.size > 0)
		memcpy(exact, buf.data, buf.size);
	(void)LLVMFuzzerTestOneInput(exact, buf.size);
	free(exact);
	buf_done(&buf);
	return 0;
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	struct dirent **entries = NULL;
	int count = argc == 2 ? scandir(argv[1], &entries, is_input, alphasort) : -1;
	int failed = 0;

	if (count <= 0) {
		(void)fprintf(stderr, "usage: %s CORPUS, a directory with at least one file\n",
			      argv[0]);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		failed |= replay_file(argv[1], entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return failed;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Files - the page as it was built, in the binary
 *
 * Owns:    the table that pack.py makes of web/: two documents, and everything they load.
 * May not: be changed: a name has its content's hash in it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct page_text {
	const char *data;
	size_t size;
};

struct page_file {
	const char *name; /* below /assets/; NULL behind the last */
	const char *type;
	const char *tag;     /* strong, with its quotes */
	const uint8_t *data; /* gzipped */
	size_t size;
};

extern const struct page_text page_index; /* with PAGE_NONCE in it; empty: built without the page */
extern const struct page_text page_frame;
extern const char page_frame_sums[]; /* its script and plotly, as a policy names them */
extern const struct page_file page_files[];

#define PAGE_NONCE "__NONCE__"

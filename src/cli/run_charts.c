// SPDX-License-Identifier: Apache-2.0
#include "cli/run_charts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/c.h"

static const struct mime_row {
	const char *mime;
	const char *end;
} mime_rows[] = {
	{"image/png", "png"},
	{"image/jpeg", "jpg"},
	{"image/svg+xml", "svg"},
};

/* The only base64 character that JSON may escape is '/', as "\/"; our encoders never do. */
static int write_image(struct out_dir *out, const char *name, struct span text, struct err *err)
{
	AUTO_BUF struct buf bytes = {.max = text.size};

	if (text.size < 2 || text.at[0] != '"')
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "an image without its bytes");

	if (buf_unbase64(&bytes, text.at + 1, text.size - 2, "") < 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "an image that is not base64");
	return out_dir_piece(out, name, bytes.data, bytes.size, true, err);
}

static int write_json(struct out_dir *out, const char *name, struct span chart, const char *member,
		      struct err *err)
{
	struct span text = span_member(chart, member);

	if (text.size == 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "a chart without its %s", member);
	return out_dir_piece(out, name, text.at, text.size, true, err);
}

bool run_chart_is_file(struct span chart)
{
	struct span path = span_member(chart, "path");

	return path.size > 12 && memcmp(path.at, "\"/workspace/", 12) == 0;
}

int run_chart_write(struct out_dir *out, uint32_t number, struct span chart, char *ret_name,
		    size_t name_size, struct err *err)
{
	struct span kind = span_member(chart, "kind");
	const char *end = "bin";
	int r;

	if (span_is(kind, "image")) {
		for (size_t i = 0; i < ARRAY_LEN(mime_rows); i++) {
			if (span_is(span_member(chart, "mime"), mime_rows[i].mime))
				end = mime_rows[i].end;
		}
		(void)snprintf(ret_name, name_size, "chart-%u.%s", number, end);
		r = write_image(out, ret_name, span_member(chart, "base64"), err);
	} else if (span_is(kind, "plotly")) {
		(void)snprintf(ret_name, name_size, "chart-%u.plotly.json", number);
		r = write_json(out, ret_name, chart, "figure", err);
	} else {
		(void)snprintf(ret_name, name_size, "chart-%u.json", number);
		r = write_json(out, ret_name, chart, "spec", err);
	}
	return r < 0 ? r : 0;
}

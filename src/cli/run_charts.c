// SPDX-License-Identifier: Apache-2.0
#include "cli/run_charts.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/c.h"
#include "base/json.h"

static const struct mime_row {
	const char *mime; /* JSON text */
	const char *end;
} mime_rows[] = {
	{"\"image/png\"", "png"},
	{"\"image/jpeg\"", "jpg"},
	{"\"image/svg+xml\"", "svg"},
};

static bool member_is(const char *value, size_t size, const char *name, const char *wanted)
{
	const char *text = NULL;
	size_t text_size = 0;

	return json_find(value, size, name, &text, &text_size) && text_size == strlen(wanted) &&
	       memcmp(text, wanted, text_size) == 0;
}

/* Base64 needs no escapes in JSON but '/', which may come as "\/": no encoder of ours does that. */
static int write_image(struct out_dir *out, const char *name, const char *value, size_t size,
		       struct err *err)
{
	const char *text = NULL;
	size_t text_size = 0;
	struct buf bytes;
	size_t decoded = 0;
	int r;

	if (!json_find(value, size, "base64", &text, &text_size) || text_size < 2 || text[0] != '"')
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "an image without its bytes");

	buf_init(&bytes, text_size);
	if (buf_reserve(&bytes, text_size - 1) < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for an image");
	if (sodium_base642bin(bytes.data, text_size - 1, text + 1, text_size - 2, NULL, &decoded,
			      NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
		r = err_set(err, ERR_BAD_REQUEST, EINVAL, "an image that is not base64");
	else
		r = out_dir_piece(out, name, bytes.data, decoded, true, err);
	buf_done(&bytes);
	return r;
}

static int write_json(struct out_dir *out, const char *name, const char *value, size_t size,
		      const char *member, struct err *err)
{
	const char *text = NULL;
	size_t text_size = 0;

	if (!json_find(value, size, member, &text, &text_size))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "a chart without its %s", member);
	return out_dir_piece(out, name, text, text_size, true, err);
}

bool run_chart_is_file(const char *value, size_t size)
{
	const char *path = NULL;
	size_t path_size = 0;

	return json_find(value, size, "path", &path, &path_size) && path_size > 12 &&
	       memcmp(path, "\"/workspace/", 12) == 0;
}

int run_chart_write(struct out_dir *out, uint32_t number, const char *value, size_t size,
		    char *ret_name, size_t name_size, struct err *err)
{
	const char *end = "bin";
	int r;

	if (member_is(value, size, "kind", "\"image\"")) {
		for (size_t i = 0; i < ARRAY_LEN(mime_rows); i++) {
			if (member_is(value, size, "mime", mime_rows[i].mime))
				end = mime_rows[i].end;
		}
		(void)snprintf(ret_name, name_size, "chart-%u.%s", number, end);
		r = write_image(out, ret_name, value, size, err);
	} else if (member_is(value, size, "kind", "\"plotly\"")) {
		(void)snprintf(ret_name, name_size, "chart-%u.plotly.json", number);
		r = write_json(out, ret_name, value, size, "figure", err);
	} else {
		(void)snprintf(ret_name, name_size, "chart-%u.json", number);
		r = write_json(out, ret_name, value, size, "spec", err);
	}
	return r < 0 ? r : 0;
}

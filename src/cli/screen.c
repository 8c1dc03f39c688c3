// SPDX-License-Identifier: Apache-2.0
#include "cli/screen.h"

#include <string.h>

#include "base/utf8.h"

#define ESCAPE 0x1bU
#define DELETE 0x7fU
#define RESET "\x1b[0m"

static int show(struct buf *out, unsigned char byte)
{
	return buf_format(out, "\\x%02x", byte);
}

static bool is_plain(unsigned char byte)
{
	return (byte >= 0x20 && byte < DELETE) || byte == '\n' || byte == '\r' || byte == '\t' ||
	       byte == '\b';
}

/* Shows held bytes that turned out to be neither a colour sequence nor a character. */
static int show_held(struct screen *screen, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < screen->held_size; i++)
		r = is_plain(screen->held[i]) ? buf_append(out, &screen->held[i], 1)
					      : show(out, screen->held[i]);
	screen->held_size = 0;
	return r;
}

static int pass_held(struct screen *screen, struct buf *out)
{
	int r = buf_append(out, screen->held, screen->held_size);

	screen->held_size = 0;
	return r;
}

static void note_colour(struct screen *screen)
{
	bool is_reset =
		screen->held_size == 3 || (screen->held_size == strlen(RESET) &&
					   memcmp(screen->held, RESET, screen->held_size) == 0);

	screen->is_coloured = !is_reset;
}

static int begin(struct screen *screen, unsigned char byte, struct buf *out)
{
	if (is_plain(byte))
		return buf_append(out, &byte, 1);
	if (byte != ESCAPE && utf8_size(byte) < 2)
		return show(out, byte);
	screen->held[0] = byte;
	screen->held_size = 1;
	return 0;
}

/* One more byte of a sequence: ESC [ digits and separators m. */
static int go_on_sequence(struct screen *screen, unsigned char byte, struct buf *out)
{
	bool is_inner = screen->held_size > 1 &&
			((byte >= '0' && byte <= '9') || byte == ';' || byte == ':');
	bool is_last = screen->held_size > 1 && byte == 'm';
	int r;

	if ((screen->held_size == 1 && byte == '[') || is_last ||
	    (is_inner && screen->held_size + 1 < SCREEN_HELD_MAX)) {
		screen->held[screen->held_size++] = byte;
		if (!is_last)
			return 0;
		note_colour(screen);
		return pass_held(screen, out);
	}
	r = show_held(screen, out);
	return r < 0 ? r : begin(screen, byte, out);
}

static int go_on_character(struct screen *screen, unsigned char byte, struct buf *out)
{
	bool is_control =
		screen->held[0] == 0xc2 && byte < 0xa0; /* C1 controls: U+0080 to U+009F */
	int r;

	if (utf8_goes_on(screen->held[0], screen->held_size, byte) && !is_control) {
		screen->held[screen->held_size++] = byte;
		return screen->held_size == utf8_size(screen->held[0]) ? pass_held(screen, out) : 0;
	}
	r = show_held(screen, out);
	return r < 0 ? r : begin(screen, byte, out);
}

int screen_put(struct screen *screen, const void *bytes, size_t size, struct buf *out)
{
	const unsigned char *at = bytes;
	int r = 0;

	for (size_t i = 0; r == 0 && i < size; i++) {
		if (screen->held_size == 0)
			r = begin(screen, at[i], out);
		else if (screen->held[0] == ESCAPE)
			r = go_on_sequence(screen, at[i], out);
		else
			r = go_on_character(screen, at[i], out);
	}
	return r;
}

int screen_end(struct screen *screen, struct buf *out)
{
	int r = show_held(screen, out);

	if (r == 0 && screen->is_coloured)
		r = buf_text(out, RESET);
	screen->is_coloured = false;
	return r;
}

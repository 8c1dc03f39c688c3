// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <sys/signalfd.h>

#include "base/c.h"
#include "cli/edit.h"

#define ESCAPE_MS 50 /* a sequence comes at once; Escape alone is followed by nothing */
#define PASTE_END "\033[201~"
#define ESC 0x1b

/* ---- bytes ---- */

/* A Ctrl-C that came too late for the run it was meant for is nobody's. */
static bool is_to_leave(const struct edit *edit)
{
	struct signalfd_siginfo info;

	return read(edit->signals, &info, sizeof(info)) == (ssize_t)sizeof(info) &&
	       info.ssi_signo != SIGINT;
}

/* Waits for more bytes: false when there are none in time, or nobody types any more. */
static bool fill(struct edit *edit, int timeout_ms)
{
	struct pollfd fds[2] = {{.fd = edit->in, .events = POLLIN},
				{.fd = edit->signals, .events = POLLIN}};
	ssize_t n;
	int r;

	do {
		r = poll(fds, 2, timeout_ms);
		if (r > 0 && fds[1].revents != 0 && is_to_leave(edit))
			return false;
	} while ((r < 0 && errno == EINTR) || (r > 0 && fds[0].revents == 0));
	if (r <= 0)
		return false;
	n = read(edit->in, edit->ahead + edit->ahead_size, sizeof(edit->ahead) - edit->ahead_size);
	if (n <= 0)
		return false;
	edit->ahead_size += (size_t)n;
	return true;
}

static void drop(struct edit *edit, size_t count)
{
	edit->ahead_size -= count;
	memmove(edit->ahead, edit->ahead + count, edit->ahead_size);
}

static bool has(struct edit *edit, size_t count, int timeout_ms)
{
	while (edit->ahead_size < count) {
		if (!fill(edit, timeout_ms))
			return false;
	}
	return true;
}

/* ---- sequences ---- */

static const struct {
	const char *text; /* behind the escape */
	enum edit_key key;
} sequences[] = {
	{"[A", KEY_UP},
	{"[B", KEY_DOWN},
	{"[C", KEY_RIGHT},
	{"[D", KEY_LEFT},
	{"[H", KEY_HOME},
	{"[F", KEY_END},
	{"OA", KEY_UP},
	{"OB", KEY_DOWN},
	{"OC", KEY_RIGHT},
	{"OD", KEY_LEFT},
	{"OH", KEY_HOME},
	{"OF", KEY_END},
	{"[1~", KEY_HOME},
	{"[7~", KEY_HOME},
	{"[4~", KEY_END},
	{"[8~", KEY_END},
	{"[3~", KEY_DELETE},
	{"[1;5C", KEY_WORD_RIGHT},
	{"[1;5D", KEY_WORD_LEFT},
	{"[1;3C", KEY_WORD_RIGHT},
	{"[1;3D", KEY_WORD_LEFT},
	{"[200~", KEY_PASTE},
	{"b", KEY_WORD_LEFT},
	{"f", KEY_WORD_RIGHT},
	{"d", KEY_CUT_WORD_RIGHT},
	{"\x7f", KEY_CUT_WORD},
	{"\r", KEY_NEWLINE},
};

/* How long the sequence behind the escape is; 0: not all of it is there. */
static size_t sequence_size(const unsigned char *bytes, size_t size)
{
	if (size == 0)
		return 0;
	if (bytes[0] == 'O')
		return size >= 2 ? 2 : 0;
	if (bytes[0] != '[')
		return 1;
	for (size_t i = 1; i < size; i++) {
		if (bytes[i] >= 0x40 && bytes[i] <= 0x7e)
			return i + 1;
	}
	return size == sizeof(((struct edit *)NULL)->ahead) - 1 ? size : 0;
}

static enum edit_key take_paste(struct edit *edit)
{
	size_t end_size = strlen(PASTE_END);

	buf_cut(&edit->typed, 0);
	while (edit->typed.size < end_size ||
	       memcmp(edit->typed.data + edit->typed.size - end_size, PASTE_END, end_size) != 0) {
		char byte;

		if (!has(edit, 1, -1))
			return KEY_EOF;
		/* A terminal sends what Enter sends. */
		byte = (char)edit->ahead[0];
		if (byte == '\r')
			byte = '\n';
		drop(edit, 1);
		if (buf_append(&edit->typed, &byte, 1) < 0)
			return KEY_NONE;
	}
	edit->typed.size -= end_size;
	return KEY_PASTE;
}

static enum edit_key take_sequence(struct edit *edit)
{
	size_t size;

	drop(edit, 1);
	do {
		size = sequence_size(edit->ahead, edit->ahead_size);
	} while (size == 0 && fill(edit, ESCAPE_MS));
	if (size == 0) {
		edit->ahead_size = 0;
		return KEY_ESCAPE;
	}
	for (size_t i = 0; i < ARRAY_LEN(sequences); i++) {
		if (strlen(sequences[i].text) == size &&
		    memcmp(edit->ahead, sequences[i].text, size) == 0) {
			drop(edit, size);
			return sequences[i].key == KEY_PASTE ? take_paste(edit) : sequences[i].key;
		}
	}
	drop(edit, size);
	return KEY_NONE;
}

/* ---- characters ---- */

static const enum edit_key controls[32] = {
	[1] = KEY_HOME,      [2] = KEY_LEFT,     [3] = KEY_CANCEL,    [4] = KEY_EOF,
	[5] = KEY_END,       [6] = KEY_RIGHT,    [8] = KEY_BACKSPACE, ['\t'] = KEY_TAB,
	['\n'] = KEY_ENTER,  [11] = KEY_CUT_END, [12] = KEY_CLEAR,    ['\r'] = KEY_ENTER,
	[14] = KEY_DOWN,     [16] = KEY_UP,      [18] = KEY_SEARCH,   [21] = KEY_CUT_START,
	[23] = KEY_CUT_WORD, [25] = KEY_YANK,
};

static size_t char_size(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* A character that is not UTF-8 is dropped: what is typed becomes JSON. */
static enum edit_key take_char(struct edit *edit)
{
	size_t size = char_size(edit->ahead[0]);
	bool is_valid = size > 0 && has(edit, size, ESCAPE_MS);

	for (size_t i = 1; is_valid && i < size; i++)
		is_valid = (edit->ahead[i] & 0xc0) == 0x80;
	buf_cut(&edit->typed, 0);
	if (is_valid)
		(void)buf_append(&edit->typed, edit->ahead, size);
	drop(edit, is_valid ? size : 1);
	return is_valid ? KEY_TEXT : KEY_NONE;
}

enum edit_key edit_next_key(struct edit *edit)
{
	unsigned char byte;

	if (!has(edit, 1, -1))
		return KEY_EOF;
	byte = edit->ahead[0];
	if (byte == ESC)
		return take_sequence(edit);
	if (byte >= 0x20 && byte != 0x7f)
		return take_char(edit);
	drop(edit, 1);
	return byte == 0x7f ? KEY_BACKSPACE : controls[byte];
}

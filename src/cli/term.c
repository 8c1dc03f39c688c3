// SPDX-License-Identifier: Apache-2.0
#include "cli/term.h"

#include <sys/ioctl.h>

#define COLUMNS_DEFAULT 80U
#define ROWS_DEFAULT 24U

bool term_raw(struct term *term, int fd)
{
	struct termios raw;

	term->fd = fd;
	if (tcgetattr(fd, &term->before) < 0)
		return false;
	raw = term->before;
	raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
	raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	/* Not TCSAFLUSH: keys that were typed ahead are for the next prompt. */
	term->is_raw = tcsetattr(fd, TCSADRAIN, &raw) == 0;
	return term->is_raw;
}

void term_restore(struct term *term)
{
	if (term->is_raw)
		(void)tcsetattr(term->fd, TCSADRAIN, &term->before);
	term->is_raw = false;
}

void term_size(int fd, size_t *ret_columns, size_t *ret_rows)
{
	struct winsize size = {0};

	(void)ioctl(fd, TIOCGWINSZ, &size);
	*ret_columns = size.ws_col > 0 ? size.ws_col : COLUMNS_DEFAULT;
	*ret_rows = size.ws_row > 0 ? size.ws_row : ROWS_DEFAULT;
}

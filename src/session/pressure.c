// SPDX-License-Identifier: Apache-2.0
#include "session/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/c.h"

#define CHECK_NS (250 * 1000000ULL)
#define FLOOR_BYTES (256 * MIB)
#define FLOOR_PART 20 /* 1/20 of the memory: 5 % */
#define WATCH_PART 4  /* stalls count below 1/4 of the memory */

struct pressure {
	int stalls;  /* owned: <proc>/pressure/memory; -1: none */
	int meminfo; /* owned; -1: none */
	uint32_t percent;
	bool has_looked;
	uint64_t looked_ns;
	struct err last; /* kind ERR_NONE: there is enough */
};

static int open_below(const char *proc, const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", proc, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct pressure *pressure_new(const char *proc, uint32_t percent)
{
	struct pressure *pressure = xnew(struct pressure);

	pressure->stalls = open_below(proc, "pressure/memory");
	pressure->meminfo = open_below(proc, "meminfo");
	pressure->percent = percent;
	return pressure;
}

void pressure_free(struct pressure *pressure)
{
	if (pressure == NULL)
		return;
	drop_fd(&pressure->stalls);
	drop_fd(&pressure->meminfo);
	free(pressure);
}

/* The number after `word`; -1: there is none. */
static double number_in(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at != NULL ? strtod(at + strlen(word), NULL) : -1;
}

/* Reads a file; the text is empty if that fails. A kernel with psi=0 has the file, but reading it
 * fails. */
static void read_text(int fd, char *text, size_t size)
{
	ssize_t n = fd >= 0 ? pread(fd, text, size - 1, 0) : -1;

	text[n > 0 ? n : 0] = '\0';
}

static void look(struct pressure *pressure)
{
	char text[2048];
	double total, available, stalled, floor_bytes;

	read_text(pressure->meminfo, text, sizeof(text));
	total = number_in(text, "MemTotal:") * (double)KIB;
	available = number_in(text, "MemAvailable:") * (double)KIB;
	read_text(pressure->stalls, text, sizeof(text));
	stalled = number_in(text, "some avg10=");
	floor_bytes = total / FLOOR_PART;
	pressure->last = (struct err){0};
	if (floor_bytes < (double)FLOOR_BYTES)
		floor_bytes = (double)FLOOR_BYTES;
	if (total > 0 && available >= 0 && available < floor_bytes)
		(void)err_set(&pressure->last, ERR_BUSY, ENOMEM,
			      "the host is short of memory: %.0f of %.0f MiB are available, and "
			      "%.0f MiB must stay free",
			      available / (double)MIB, total / (double)MIB,
			      floor_bytes / (double)MIB);
	else if (pressure->percent < 100 && stalled > (double)pressure->percent &&
		 (available < 0 || available < total / WATCH_PART))
		(void)err_set(&pressure->last, ERR_BUSY, ENOMEM,
			      "the host is short of memory: processes waited for it in %.0f %% of "
			      "the last 10 s, and %u %% are allowed",
			      stalled, pressure->percent);
}

int pressure_check(struct pressure *pressure, uint64_t now, struct err *err)
{
	if (!pressure->has_looked || now - pressure->looked_ns >= CHECK_NS) {
		look(pressure);
		pressure->has_looked = true;
		pressure->looked_ns = now;
	}
	if (pressure->last.kind == ERR_NONE)
		return 0;
	*err = pressure->last;
	return -ENOMEM;
}

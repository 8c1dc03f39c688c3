// SPDX-License-Identifier: Apache-2.0
#include "runner/libraries.h"

#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include <sys/mman.h>

#include "base/c.h"

#define LIBRARIES_MAX 1024U
#define SPANS_MAX 4U /* of one library: linkers make two, tools that patch libraries add more */

/* Neighbouring segments that may become one map. */
struct span {
	uintptr_t start, end; /* whole pages */
	bool is_written;
	bool has_code;
	unsigned int segments;
};

struct library {
	struct span spans[SPANS_MAX];
	size_t span_count;
};

struct libraries {
	struct library *list;
	size_t count;
	uintptr_t page;
};

static void add_segment(struct library *library, uintptr_t start, uintptr_t end, unsigned int flags)
{
	struct span *last =
		library->span_count > 0 ? &library->spans[library->span_count - 1] : NULL;
	bool is_written = (flags & PF_W) != 0;

	if (last == NULL || last->end != start || last->is_written != is_written) {
		if (library->span_count == SPANS_MAX)
			return;
		last = &library->spans[library->span_count++];
		*last = (struct span){.start = start, .is_written = is_written};
	}
	last->end = end;
	last->has_code |= (flags & PF_X) != 0;
	last->segments++;
}

static int find_library(struct dl_phdr_info *info, size_t size, void *user)
{
	struct libraries *all = user;
	struct library *library = &all->list[all->count];

	(void)size;
	if (all->count == LIBRARIES_MAX)
		return 1;
	library->span_count = 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		uintptr_t end = start + segment->p_memsz;

		if (segment->p_type != PT_LOAD || segment->p_memsz == 0)
			continue;
		/* Code that is written has reasons of its own. */
		if ((segment->p_flags & (PF_W | PF_X)) == (PF_W | PF_X))
			return 0;
		add_segment(library, start & ~(all->page - 1),
			    (end + all->page - 1) & ~(all->page - 1), segment->p_flags);
	}
	all->count++;
	return 0;
}

/* Copies word by word: memcpy() may write to data of libc, which may be what is copied. Pages of
 * zeros are not written: most of a large .bss was never touched. */
static void copy_pages(volatile uint64_t *to, const uint64_t *from, size_t size, size_t page)
{
	for (size_t at = 0; at < size / sizeof(*from); at += page / sizeof(*from)) {
		uint64_t any = 0;

		for (size_t i = 0; i < page / sizeof(*from); i++)
			any |= from[at + i];
		for (size_t i = 0; any != 0 && i < page / sizeof(*from); i++)
			to[at + i] = from[at + i];
	}
}

static void merge_written(const struct span *span, size_t page)
{
	size_t size = span->end - span->start;
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return;
	copy_pages(copy, (const uint64_t *)span->start, size, page);
	/* The wrapper of this call writes nothing on success, so nothing is lost between copy and
	 * move. */
	if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)span->start) ==
	    MAP_FAILED)
		(void)munmap(copy, size);
}

static void merge_spans(const struct library *library, size_t page)
{
	for (size_t i = 0; i < library->span_count; i++) {
		const struct span *span = &library->spans[i];

		if (span->is_written)
			merge_written(span, page);
		else if (span->has_code && span->segments > 1)
			(void)mprotect((void *)span->start, span->end - span->start,
				       PROT_READ | PROT_EXEC);
	}
}

void libraries_merge(void)
{
	size_t size = LIBRARIES_MAX * sizeof(struct library);
	struct libraries all = {.page = (uintptr_t)sysconf(_SC_PAGESIZE)};
	sigset_t every;
	sigset_t before;

	all.list = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all.list == MAP_FAILED)
		return;
	(void)dl_iterate_phdr(find_library, &all);
	(void)sigfillset(&every);
	(void)sigprocmask(SIG_BLOCK, &every, &before);
	for (size_t i = 0; i < all.count; i++)
		merge_spans(&all.list[i], all.page);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)munmap(all.list, size);
}

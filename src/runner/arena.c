// SPDX-License-Identifier: Apache-2.0
#include "runner/arena.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/mman.h>

#include "base/c.h"

#define ARENA_SIZE                                                                                 \
	MIB /* Python's since 3.10; other sizes are stacks of frames, and arenas of 3.9 */
#define HUGE_SIZE (2 * MIB)
#define REGION_ARENAS 32U
#define REGION_SIZE (REGION_ARENAS * ARENA_SIZE)
#define REGIONS_MAX 2048U /* 64 GiB, the most that a policy allows */

/* PyObjectArenaAllocator, which is not part of the limited API. Its layout is the same since 3.4.
 */
struct arena_allocator {
	void *context;
	void *(*alloc)(void *context, size_t size);
	void (*free)(void *context, void *at, size_t size);
};

/* A region is mapped at once, so that it is one map; pages that nobody touches cost nothing. */
struct region {
	uint8_t *start;
	uint32_t used; /* a bit for each arena */
};

static struct region regions[REGIONS_MAX];
static size_t region_count;

/* Maps a region that begins where a huge page can. */
static uint8_t *map_region(void)
{
	size_t size = REGION_SIZE + HUGE_SIZE;
	uint8_t *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (at == MAP_FAILED)
		return NULL;
	before = (HUGE_SIZE - (uintptr_t)at % HUGE_SIZE) % HUGE_SIZE;
	if (before > 0)
		(void)munmap(at, before);
	if (before < HUGE_SIZE)
		(void)munmap(at + before + REGION_SIZE, HUGE_SIZE - before);
	/* A kernel without huge pages refuses; small ones do as well. */
	(void)madvise(at + before, REGION_SIZE, MADV_HUGEPAGE);
	return at + before;
}

static void *take_arena(struct region *region)
{
	unsigned int number = (unsigned int)__builtin_ctz(~region->used);

	region->used |= 1U << number;
	return region->start + number * ARENA_SIZE;
}

static void *map_plain(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void *arena_alloc(void *context, size_t size)
{
	struct region *region = NULL;

	(void)context;
	if (size != ARENA_SIZE)
		return map_plain(size);
	for (size_t i = 0; i < region_count; i++) {
		if (regions[i].used != UINT32_MAX)
			return take_arena(&regions[i]);
	}
	if (region_count == REGIONS_MAX)
		return map_plain(size);
	region = &regions[region_count];
	region->used = 0;
	region->start = map_region();
	if (region->start == NULL)
		return map_plain(size); /* a limit may have room for one arena still */
	region_count++;
	return take_arena(region);
}

static struct region *region_of(const uint8_t *at)
{
	for (size_t i = 0; i < region_count; i++) {
		if (at >= regions[i].start && at < regions[i].start + REGION_SIZE)
			return &regions[i];
	}
	return NULL;
}

/* Memory goes back to the kernel by whole huge pages: half of one would split it. */
static void arena_free(void *context, void *at, size_t size)
{
	struct region *region = region_of(at);
	unsigned int number;
	uint32_t pair;

	(void)context;
	if (region == NULL) { /* it is older than this allocator, or of another size */
		(void)munmap(at, size);
		return;
	}
	number = (unsigned int)((size_t)((uint8_t *)at - region->start) / ARENA_SIZE);
	region->used &= ~(1U << number);
	pair = 3U << (number & ~1U);
	if ((region->used & pair) == 0)
		(void)madvise(region->start + (number & ~1U) * ARENA_SIZE, HUGE_SIZE,
			      MADV_DONTNEED);
}

void arena_install(void)
{
	void (*set)(struct arena_allocator *) = NULL;
	struct arena_allocator allocator = {.alloc = arena_alloc, .free = arena_free};

	*(void **)&set = dlsym(RTLD_DEFAULT, "PyObject_SetArenaAllocator");
	if (set != NULL)
		set(&allocator);
}

void arena_settle(void)
{
	for (size_t i = 0; i < region_count; i++) {
		const struct region *region = &regions[i];

		for (unsigned int number = 0; number < REGION_ARENAS; number += 2) {
			if ((region->used >> number & 3U) == 0)
				(void)madvise(region->start + number * ARENA_SIZE, HUGE_SIZE,
					      MADV_NOHUGEPAGE);
		}
	}
}

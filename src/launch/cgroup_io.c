// SPDX-License-Identifier: Apache-2.0
/*
 * How fast a sandbox reads from disks. The limit is set on every whole disk, so the layers between
 * a disk and a shown folder (partitions, overlays, btrfs, device mapper) need not be known.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "launch/cgroup.h"

#define DISKS "/sys/block"

/* A `rate` of 0 removes the limit. */
static int write_rate(const struct cgroups *groups, const char *dir, const char *disk,
		      uint64_t rate, struct err *err)
{
	const char *file = groups->v2_io ? "io.max" : "blkio.throttle.read_bps_device";
	char path[96];
	char text[64];

	(void)snprintf(path, sizeof(path), "%s%s", dir, file);
	if (groups->v2_io && rate == 0)
		(void)snprintf(text, sizeof(text), "%s rbps=max", disk);
	else
		(void)snprintf(text, sizeof(text), "%s %s%" PRIu64, disk,
			       groups->v2_io ? "rbps=" : "", rate);
	return io_write_file(groups->tree[groups->v2_io ? CGROUP_V2 : CGROUP_V1_BLKIO], path, text,
			     err);
}

/* "MAJOR:MINOR" of a disk in use. A loop device without a file has no size, and a path of a
 * multipath disk has no number. */
static bool disk_number(int dir, const char *name, char *ret_number)
{
	struct err ignored = {0};
	AUTO_BUF struct buf text = {.max = 4096};
	char path[300];
	bool found = false;

	(void)snprintf(path, sizeof(path), "%s/size", name);
	if (cgroup_number(dir, path, NULL) == 0)
		return false;
	(void)snprintf(path, sizeof(path), "%s/dev", name);
	if (io_read_file(dir, path, &text, &ignored) == 0) {
		size_t length = strcspn(buf_string(&text), "\n");

		found = length > 0 && length < CGROUP_DISK_SIZE;
		if (found)
			(void)snprintf(ret_number, CGROUP_DISK_SIZE, "%.*s", (int)length,
				       buf_string(&text));
	}
	return found;
}

void cgroups_find_disks(struct cgroups *groups)
{
	const struct dirent *entry = NULL;
	DIR *stream = NULL;

	groups->disk_count = 0;
	if (!groups->v2_io && groups->tree[CGROUP_V1_BLKIO] < 0)
		return;
	stream = opendir(DISKS);
	while (stream != NULL && groups->disk_count < CGROUP_DISKS_MAX &&
	       (entry = readdir(stream)) != NULL) {
		char *disk = groups->disks[groups->disk_count];
		struct err ignored = {0};

		/* Removing a limit that does not exist changes nothing, and shows whether the
		 * kernel can limit this disk. */
		if (entry->d_name[0] != '.' && disk_number(dirfd(stream), entry->d_name, disk) &&
		    write_rate(groups, "", disk, 0, &ignored) == 0)
			groups->disk_count++;
	}
	if (stream != NULL)
		(void)closedir(stream);
}

int cgroup_limit_reads(const struct cgroups *groups, uint32_t id, uint64_t rate, struct err *err)
{
	char dir[48];

	(void)snprintf(dir, sizeof(dir), "g%u/", id);
	for (size_t i = 0; i < groups->disk_count; i++) {
		struct err failed = {0};
		int r = write_rate(groups, dir, groups->disks[i], rate, &failed);

		/* A disk that was removed needs no limit. */
		if (r < 0 && r != -ENODEV && r != -ENXIO) {
			*err = failed;
			return r;
		}
	}
	return 0;
}

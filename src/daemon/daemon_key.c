// SPDX-License-Identifier: Apache-2.0
/* The key of the person who decides on held runs, used where there are no tokens. Made at the first
 * start, readable only by the daemon's own user. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "daemon/daemon_state.h"

#define KEY_BYTES 32
#define KEY_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/* Writes the whole key or none: a daemon that dies in here leaves no partial key. */
static int make_key(const char *path, struct err *err)
{
	char key[sodium_base64_ENCODED_LEN(KEY_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
	uint8_t bytes[KEY_BYTES];
	char draft[PATH_MAX + 8];
	AUTO_CLOSE int fd = -1;
	int r;

	(void)snprintf(draft, sizeof(draft), "%s.new", path);
	(void)unlink(draft);
	fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(err, "make %s", draft);
	randombytes_buf(bytes, sizeof(bytes));
	(void)sodium_bin2base64(key, sizeof(key), bytes, sizeof(bytes),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	r = io_write_all(fd, key, strlen(key), err);
	if (r == 0)
		r = io_write_all(fd, "\n", 1, err);
	sodium_memzero(bytes, sizeof(bytes));
	sodium_memzero(key, sizeof(key));
	if (r < 0)
		return r;
	if (fsync(fd) < 0 || rename(draft, path) < 0)
		return err_sys(err, "keep %s", path);
	return 0;
}

static int read_key(const char *path, char *ret_key, size_t size, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	ssize_t n;

	if (fd < 0)
		return err_sys(err, "open %s", path);
	if (fstat(fd, &status) < 0)
		return err_sys(err, "look at %s", path);
	if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0 ||
	    (status.st_uid != geteuid() && status.st_uid != 0))
		return err_set(
			err, ERR_FORBIDDEN, EPERM,
			"other users can read %s, so the key may be known; remove it, and the "
			"next start makes a new one",
			path);
	n = read(fd, ret_key, size - 1);
	if (n < 0)
		return err_sys(err, "read %s", path);
	ret_key[n] = '\0';
	ret_key[strcspn(ret_key, "\n")] = '\0';
	if (strspn(ret_key, KEY_LETTERS) != strlen(ret_key) || strlen(ret_key) < KEY_BYTES)
		return err_set(
			err, ERR_BAD_REQUEST, EINVAL,
			"%s holds no valid key; remove it, and the next start makes a new one",
			path);
	return 0;
}

void daemon_say_key(const struct daemon *daemon, const char *address)
{
	const struct config *config = daemon->config;
	bool is_wanted = false;

	for (size_t i = 0; i < config->policy_count; i++)
		is_wanted |= config->policies[i].approve;
	if (!is_wanted || daemon->key[0] == '\0')
		return;
	/* Do not print the key to systemd's journal: other users may read it, and it is kept for
	 * long. */
	if (getenv("JOURNAL_STREAM") == NULL)
		(void)fprintf(stderr, "viv serve: to allow held runs open http://%s/#approve=%s\n",
			      address, daemon->key);
	else
		(void)fprintf(stderr,
			      "viv serve: to allow held runs open http://%s/#approve=KEY with the "
			      "key of %s/approve.key\n",
			      address, config->state_dir);
}

int daemon_read_key(struct daemon *daemon, struct err *err)
{
	char path[PATH_MAX];
	int r;

	if (daemon->config->token_count > 0)
		return 0; /* with tokens, a token says who decides */
	(void)snprintf(path, sizeof(path), "%s/approve.key", daemon->config->state_dir);
	r = access(path, F_OK) < 0 && errno == ENOENT ? make_key(path, err) : 0;
	if (r == 0)
		r = read_key(path, daemon->key, sizeof(daemon->key), err);
	if (r == 0)
		access_set_key(daemon->access, daemon->key);
	return r;
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/client_way.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"

#define TOKEN_MAX 1024U
#define UNIX_PREFIX "unix:"
#define PATH_MAX_HERE 4096

static void use_socket(struct client_way *way, const char *path)
{
	struct buf address;

	buf_init(&address, PATH_MAX_HERE);
	(void)buf_format(&address, UNIX_PREFIX "%s", path);
	way->socket = xstrdup(path);
	way->url = xstrdup("http://localhost");
	way->address = xstrdup(buf_string(&address));
	buf_done(&address);
}

static void use_url(struct client_way *way, const char *url)
{
	size_t size = strlen(url);

	way->url = xstrdup(url);
	while (size > 0 && way->url[size - 1] == '/')
		way->url[--size] = '\0';
	way->address = xstrdup(way->url);
}

static int use_asked(struct client_way *way, const char *asked, struct err *err)
{
	way->is_asked = true;
	if (strncmp(asked, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0 &&
	    asked[strlen(UNIX_PREFIX)] == '/')
		use_socket(way, asked + strlen(UNIX_PREFIX));
	else if (strncmp(asked, "http://", 7) == 0 || strncmp(asked, "https://", 8) == 0)
		use_url(way, asked);
	else
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "VIVARIUM_URL: %.200s is not like http://HOST:PORT or unix:/PATH",
			       asked);
	return 0;
}

/* In a world-writable folder like /tmp, another user could have made the socket's folder first, and
 * would receive code and tokens. */
static bool is_trusted(const char *path)
{
	char folder[PATH_MAX_HERE];
	AUTO_CLOSE int dir = -1;
	AUTO_CLOSE int above = -1;
	struct stat info;
	char *slash = NULL;

	if (strlen(path) >= sizeof(folder))
		return false;
	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash == NULL || slash == folder)
		return false;
	*slash = '\0';
	dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &info) < 0)
		return false;
	if (info.st_uid == geteuid() || info.st_uid == 0)
		return (info.st_mode & S_IWOTH) == 0;
	above = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return above >= 0 && (info.st_mode & S_IWOTH) == 0 && fstat(above, &info) == 0 &&
	       (info.st_mode & S_IWOTH) == 0;
}

static bool is_usable(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISSOCK(info.st_mode) && access(path, R_OK | W_OK) == 0 &&
	       is_trusted(path);
}

static bool find_socket(struct client_way *way, const struct config *config)
{
	char own[PATH_MAX_HERE];

	(void)snprintf(own, sizeof(own), "%s/viv.sock", config->runtime_dir);
	if (is_usable(own)) {
		use_socket(way, own);
		return true;
	}
	for (size_t i = 0; i < config->listen.count; i++) {
		const char *item = config->listen.items[i];
		size_t size = strlen(UNIX_PREFIX);

		if (strncmp(item, UNIX_PREFIX, size) == 0 && is_usable(item + size)) {
			use_socket(way, item + size);
			return true;
		}
	}
	return false;
}

/* Takes the first TCP address of the config; a wildcard address is reached on loopback. */
static bool find_address(struct client_way *way, const struct config *config)
{
	static const char *const all[] = {":", "*:", "0.0.0.0:", "[::]:"};

	for (size_t i = 0; i < config->listen.count; i++) {
		const char *item = config->listen.items[i];
		struct buf url;

		if (strncmp(item, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
			continue;
		buf_init(&url, PATH_MAX_HERE);
		for (size_t j = 0; j < ARRAY_LEN(all); j++) {
			if (strncmp(item, all[j], strlen(all[j])) == 0)
				(void)buf_format(&url, "http://127.0.0.1:%s",
						 item + strlen(all[j]));
		}
		if (url.size == 0)
			(void)buf_format(&url, "http://%s", item);
		use_url(way, buf_string(&url));
		buf_done(&url);
		return true;
	}
	return false;
}

static int find_token(struct client_way *way, const char *file, struct err *err)
{
	const char *given = getenv("VIVARIUM_TOKEN");
	struct buf text;
	size_t size;
	int r = 0;

	buf_init(&text, TOKEN_MAX);
	if (file != NULL)
		r = io_read_file(AT_FDCWD, file, &text, err);
	else if (given != NULL)
		r = buf_text(&text, given);
	if (r < 0) {
		buf_done(&text);
		err->kind = ERR_BAD_REQUEST;
		return err_wrap(err, "--token-file");
	}
	size = strcspn(buf_string(&text), " \t\r\n");
	if (size > 0) {
		text.data[size] = '\0';
		way->token = xstrdup((const char *)text.data);
	}
	buf_done(&text);
	return 0;
}

int client_way_find(const struct client_where *where, struct client_way *way, struct err *err)
{
	const char *asked = getenv("VIVARIUM_URL");
	int r;

	if (where->socket != NULL) {
		use_socket(way, where->socket);
		return 0;
	}
	r = find_token(way, where->token_file, err);
	if (r < 0)
		return r;
	if (asked != NULL && asked[0] != '\0')
		return use_asked(way, asked, err);
	if (find_socket(way, where->config))
		return 0;
	if (!where->is_local && find_address(way, where->config))
		return 0;
	return err_set(err, ERR_INTERNAL, ENOENT,
		       "no daemon found: %s/viv.sock does not exist, or you may not use it; start "
		       "one: viv serve",
		       where->config->runtime_dir);
}

void client_way_done(struct client_way *way)
{
	free(STEAL(way->socket));
	free(STEAL(way->url));
	free(STEAL(way->address));
	free(STEAL(way->token));
}

void client_put_escaped(struct buf *buf, const char *text, bool keep_slashes)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~";

	for (; *text != '\0'; text++) {
		if (strchr(plain, *text) != NULL || (keep_slashes && *text == '/'))
			(void)buf_append(buf, text, 1);
		else
			(void)buf_format(buf, "%%%02X", (unsigned char)*text);
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "session/payload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "proto/frame.h"

#define META_MAX (8U << 20) /* enough for ten thousand files with long names */
#define PAYLOAD_MAX (4ULL * GIB)
#define PART_MAX (RUN_PARAMS + 5) /* code, lead, tail, tool, data; files come after them */
#define PATH_SIZE_MAX 4096U
#define FILE_MAX (256ULL * MIB)
#define RESULT_MAX (4ULL * MIB)

static const char *const data_formats[] = {
	[RUN_DATA_JSON] = "json",     [RUN_DATA_CSV] = "csv",         [RUN_DATA_TSV] = "tsv",
	[RUN_DATA_SQLITE] = "sqlite", [RUN_DATA_PARQUET] = "parquet",
};

/* The meta being made, its parts, and the offset of the next part. */
struct maker {
	struct buf meta;
	const struct run_bytes *parts[PART_MAX];
	size_t part_count;
	const struct run_file *files;
	size_t file_count;
	uint64_t size;
	bool is_first;
	int r; /* the first failure; later steps do nothing */
};

static void put_text(struct maker *maker, const char *text)
{
	if (maker->r == 0)
		maker->r = buf_text(&maker->meta, text);
}

static void put_string(struct maker *maker, const char *text)
{
	if (maker->r == 0)
		maker->r = json_put_text(&maker->meta, text);
}

static void put_name(struct maker *maker, const char *name)
{
	put_text(maker, maker->is_first ? "{" : ",");
	maker->is_first = false;
	put_string(maker, name);
	put_text(maker, ":");
}

/* Sizes are added up only here, where the sum is checked for overflow. */
static void put_span(struct maker *maker, uint64_t size)
{
	if (maker->r == 0 && (size > PAYLOAD_MAX || maker->size > PAYLOAD_MAX - size))
		maker->r = -EFBIG;
	if (maker->r == 0)
		maker->r = buf_format(&maker->meta, "[%llu,%llu]", (unsigned long long)maker->size,
				      (unsigned long long)size);
	if (maker->r == 0)
		maker->size += size;
}

static void put_part(struct maker *maker, const char *name, const struct run_bytes *bytes)
{
	put_name(maker, name);
	put_span(maker, bytes->size);
	maker->parts[maker->part_count++] = bytes;
}

static void put_list(struct maker *maker, const char *name, const struct text_list *list)
{
	put_name(maker, name);
	put_text(maker, "[");
	for (size_t i = 0; list != NULL && i < list->count; i++) {
		put_text(maker, i > 0 ? "," : "");
		put_string(maker, list->items[i]);
	}
	put_text(maker, "]");
}

static void put_files(struct maker *maker, const struct run_request *request)
{
	put_name(maker, "files");
	put_text(maker, "[");
	for (size_t i = 0; i < request->file_count; i++) {
		put_text(maker, i > 0 ? ",{\"path\":" : "{\"path\":");
		put_string(maker, request->files[i].path);
		put_text(maker, ",\"at\":");
		put_span(maker, request->files[i].bytes.size);
		put_text(maker, "}");
	}
	put_text(maker, "]");
	maker->files = request->files;
	maker->file_count = request->file_count;
}

static void put_number(struct maker *maker, const char *name, uint64_t number)
{
	put_name(maker, name);
	if (maker->r == 0)
		maker->r = buf_format(&maker->meta, "%llu", (unsigned long long)number);
}

/* Is one of the names in `path` ".."? */
static bool leads_upwards(const char *path)
{
	for (const char *rest = path; rest != NULL; rest = strchr(rest, '/')) {
		rest += rest[0] == '/';
		if (strncmp(rest, "..", 2) == 0 && (rest[2] == '/' || rest[2] == '\0'))
			return true;
	}
	return false;
}

/* A path must be relative or below /workspace, without "..". The runner checks it again inside. */
static int check_path(const char *path, struct err *err)
{
	const char *rest = path;

	if (path[0] == '/') {
		if (strncmp(path, "/workspace/", 11) != 0)
			return err_field(err, ERR_BAD_REQUEST, EINVAL, "files",
					 "%s is not below /workspace", path);
		rest = path + 11;
	}
	if (rest[0] == '\0' || strlen(path) > PATH_SIZE_MAX)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "files",
				 "a path is empty or longer than %u bytes", PATH_SIZE_MAX);
	if (leads_upwards(path))
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "files", "%s contains ..", path);
	return 0;
}

static int check_request(const struct run_request *request, struct err *err)
{
	for (size_t i = 0; i < request->file_count; i++) {
		int r = check_path(request->files[i].path, err);

		if (r < 0)
			return r;
	}
	if (request->cwd != NULL && request->cwd[0] != '/')
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "cwd", "%s is not an absolute path",
				 request->cwd);
	if (request->cwd != NULL && leads_upwards(request->cwd))
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "cwd", "%s contains ..",
				 request->cwd);
	for (size_t i = 0; request->env != NULL && request->env[i] != NULL; i++) {
		const char *equals = strchr(request->env[i], '=');

		if (equals == NULL || equals == request->env[i])
			return err_field(err, ERR_BAD_REQUEST, EINVAL, "env",
					 "%s is not NAME=VALUE", request->env[i]);
	}
	return 0;
}

/* Writes a parameter whose row says how it is sent. */
static void put_param(struct maker *maker, const struct run_request *request,
		      const struct op_param *param)
{
	const struct run_bytes *bytes = request_bytes(request, param);

	if (param->meta == NULL || !request_has(request, param))
		return;
	if (bytes != NULL) {
		put_part(maker, param->meta, bytes);
		return;
	}
	put_name(maker, param->meta);
	if (maker->r == 0)
		maker->r = request_put(request, param, &maker->meta);
}

static void put_inputs(struct maker *maker, const struct run_request *request)
{
	if (request->look != NULL) {
		put_name(maker, "look");
		put_text(maker, request->look);
		put_part(maker, "bytes", &request->code);
	} else {
		bool is_command = request->is_command && request->tool.size == 0;

		put_part(maker, is_command ? "command" : "code", &request->code);
	}
	if (request->lead.size > 0)
		put_part(maker, "lead", &request->lead);
	if (request->tail.size > 0)
		put_part(maker, "tail", &request->tail);
	if (request->tool.size > 0)
		put_part(maker, "tool", &request->tool);
	for (size_t i = 0; i < RUN_PARAMS; i++)
		put_param(maker, request, &run_params[i]);
	if (request->data_format != RUN_DATA_NONE) {
		put_part(maker, "data", &request->data);
		put_name(maker, "data_format");
		put_string(maker, data_formats[request->data_format]);
	}
	if (request->data_query != NULL) {
		put_name(maker, "data_query");
		put_string(maker, request->data_query);
	}
	if (request->stdin_kind == RUN_STDIN_BYTES) {
		put_part(maker, "stdin", &request->stdin_bytes);
	} else if (request->stdin_kind == RUN_STDIN_LIVE || request->stdin_kind == RUN_STDIN_PIPE) {
		put_name(maker, "stdin");
		put_string(maker, "live");
	}
	if (request->file_count > 0)
		put_files(maker, request);
}

static void put_settings(struct maker *maker, const struct run_request *request)
{
	if (request->argv != NULL && request->argv[0] != NULL) {
		put_name(maker, "argv");
		put_text(maker, "[");
		for (size_t i = 0; request->argv[i] != NULL; i++) {
			put_text(maker, i > 0 ? "," : "");
			put_string(maker, request->argv[i]);
		}
		put_text(maker, "]");
	}
	if (request->want_files) {
		put_name(maker, "want_files");
		put_text(maker, "true");
	} else if (request->return_files == OP_YES) {
		put_number(maker, "want_files", RUN_RETURNED_MAX);
	}
	put_number(maker, "file_max", request->file_max > 0 ? request->file_max : FILE_MAX);
	put_number(maker, "files_max", request->files_max > 0 ? request->files_max : RUN_FILES_MAX);
	put_number(maker, "result_max", request->result_max > 0 ? request->result_max : RESULT_MAX);
	if (request->saved_max > 0)
		put_number(maker, "save_state", request->saved_max);
	if (request->stand_ins != NULL) {
		put_name(maker, request->stand_ins);
		put_text(maker, "true");
	}
	/* A sandbox made for one run: threads and exit handlers end as a script's do. */
	put_name(maker, request->is_transactional ? "transactional" : "once");
	put_text(maker, request->is_transactional || !request->is_session ? "true" : "false");
}

static int read_exactly(const struct run_bytes *bytes, uint8_t *data, struct err *err)
{
	uint64_t done = 0;

	while (done < bytes->size) {
		ssize_t n = pread(bytes->fd, data + done, bytes->size - done,
				  (off_t)(bytes->at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "read");
		if (n == 0)
			return err_set(err, ERR_BAD_REQUEST, EIO,
				       "a file became shorter while it was read");
		done += (uint64_t)n;
	}
	return 0;
}

static int append_bytes(struct buf *buf, const struct run_bytes *bytes, struct err *err)
{
	int r = buf_reserve(buf, bytes->size);

	if (r < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the request");
	if (bytes->data != NULL)
		return buf_append(buf, bytes->data, bytes->size);
	r = read_exactly(bytes, buf->data + buf->size, err);
	if (r == 0)
		buf->size += bytes->size;
	return r;
}

/* Copies from a file to the memfd inside the kernel. */
static int copy_bytes(int memfd, const struct run_bytes *bytes, struct err *err)
{
	uint64_t end = bytes->at + bytes->size;
	off_t at = (off_t)bytes->at;

	if (bytes->data != NULL || bytes->size == 0)
		return io_write_all(memfd, bytes->data, bytes->size, err);

	while ((uint64_t)at < end) {
		ssize_t n = sendfile(memfd, bytes->fd, &at, end - (uint64_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "copy a file");
		if (n == 0)
			return err_set(err, ERR_BAD_REQUEST, EIO,
				       "a file became shorter while it was read");
	}
	return 0;
}

/* The part that is the whole payload, in a memfd of its own; NULL: none is. */
static const struct run_bytes *lent_part(const struct maker *maker)
{
	for (size_t i = 0; i < maker->part_count; i++) {
		if (maker->parts[i]->is_lent && maker->parts[i]->size == maker->size)
			return maker->parts[i];
	}
	return NULL;
}

static int copy_parts(const struct maker *maker, int *ret_fd, struct err *err)
{
	AUTO_CLOSE int fd = memfd_create("payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = 0;

	if (fd < 0)
		return err_sys(err, "memfd");
	for (size_t i = 0; r == 0 && i < maker->part_count; i++)
		r = copy_bytes(fd, maker->parts[i], err);
	for (size_t i = 0; r == 0 && i < maker->file_count; i++)
		r = copy_bytes(fd, &maker->files[i].bytes, err);
	if (r < 0)
		return r;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int fill_memfd(const struct maker *maker, int *ret_fd, struct err *err)
{
	const struct run_bytes *lent = lent_part(maker);
	AUTO_CLOSE int fd = lent != NULL ? fcntl(lent->fd, F_DUPFD_CLOEXEC, 0) : -1;
	int r = 0;

	if (lent == NULL)
		r = copy_parts(maker, &fd, err);
	else if (fd < 0)
		r = err_sys(err, "copy the descriptor of a memfd");
	if (r < 0)
		return r;
	/* Shrinking stays allowed, so that payload_done can take the memory back. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_sys(err, "seal");
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int fill_inline(const struct maker *maker, struct buf *frame, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < maker->part_count; i++)
		r = append_bytes(frame, maker->parts[i], err);
	for (size_t i = 0; r == 0 && i < maker->file_count; i++)
		r = append_bytes(frame, &maker->files[i].bytes, err);
	return r;
}

static int assemble(struct maker *maker, uint16_t type, uint16_t flags, uint64_t nonce,
		    struct payload *payload, struct err *err)
{
	bool is_small = maker->size <= FRAME_INLINE_MAX;
	uint32_t meta_size = (uint32_t)maker->meta.size;
	struct frame_header header = {
		.size = (uint32_t)(sizeof(meta_size) + meta_size + (is_small ? maker->size : 0)),
		.type = type,
		.flags = (uint16_t)(flags | (is_small ? 0 : FRAME_FLAG_MEMFD)),
		.nonce = nonce,
	};
	int r = 0;

	buf_init(&payload->frame, sizeof(header) + FRAME_PAYLOAD_MAX);
	if (buf_reserve(&payload->frame, sizeof(header) + header.size) < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the request");
	(void)buf_append(&payload->frame, &header, sizeof(header));
	(void)buf_append(&payload->frame, &meta_size, sizeof(meta_size));
	(void)buf_append(&payload->frame, maker->meta.data, maker->meta.size);
	if (is_small)
		r = fill_inline(maker, &payload->frame, err);
	else
		r = fill_memfd(maker, &payload->memfd, err);
	return r;
}

static int finish(struct maker *maker, uint16_t type, uint16_t flags, uint64_t nonce,
		  struct payload *ret_payload, struct err *err)
{
	struct payload payload = {.memfd = -1};
	int r = maker->r;

	put_text(maker, "}");
	if (r == -EFBIG)
		r = err_set(err, ERR_TOO_LARGE, EFBIG, "the request is larger than %llu GiB",
			    PAYLOAD_MAX / GIB);
	else if (r < 0 || maker->r < 0)
		r = err_set(err, ERR_TOO_LARGE, EMSGSIZE,
			    "the names and settings of the request take more than %u MiB",
			    META_MAX >> 20);
	else
		r = assemble(maker, type, flags, nonce, &payload, err);
	buf_done(&maker->meta);
	if (r < 0) {
		payload_done(&payload);
		return r;
	}
	*ret_payload = payload;
	return 0;
}

int payload_run(const struct run_request *request, uint64_t nonce, struct payload *ret_payload,
		struct err *err)
{
	bool pipes_stdin = request->is_session && request->stdin_kind == RUN_STDIN_PIPE;
	struct maker maker = {.is_first = true};
	int r = check_request(request, err);

	if (r < 0)
		return r;
	buf_init(&maker.meta, META_MAX);
	put_inputs(&maker, request);
	put_settings(&maker, request);
	return finish(&maker, FRAME_RUN, pipes_stdin ? FRAME_FLAG_STDIN : 0, nonce, ret_payload,
		      err);
}

int payload_check(const struct run_request *request, uint64_t nonce, struct payload *ret_payload,
		  struct err *err)
{
	struct maker maker = {.is_first = true};

	buf_init(&maker.meta, META_MAX);
	put_part(&maker, "code", &request->code);
	put_list(&maker, "block", request->guard_block);
	put_list(&maker, "allow", request->guard_allow);
	put_name(&maker, "strict");
	put_text(&maker, request->is_guard_strict ? "true" : "false");
	return finish(&maker, FRAME_CHECK, 0, nonce, ret_payload, err);
}

void payload_doubt(struct payload *payload)
{
	struct frame_header header;

	memcpy(&header, payload->frame.data, sizeof(header));
	header.flags |= FRAME_FLAG_DOUBT;
	memcpy(payload->frame.data, &header, sizeof(header));
}

int payload_lend(const struct payload *payload, int *ret_fd, struct err *err)
{
	int fd = -1;

	if (payload->memfd >= 0) {
		fd = fcntl(payload->memfd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return err_sys(err, "copy the descriptor of the payload");
	}
	*ret_fd = fd;
	return 0;
}

uint64_t payload_inode(int memfd)
{
	struct stat status;

	return memfd >= 0 && fstat(memfd, &status) == 0 && S_ISREG(status.st_mode) ? status.st_ino
										   : 0;
}

void payload_done(struct payload *payload)
{
	if (payload == NULL)
		return;
	buf_done(&payload->frame);
	/* The memfd's pages are charged to us. Truncating it frees them, even if the sandbox still
	 * has a descriptor or a mapping (access to such a mapping raises SIGBUS, mmap(2)). */
	if (payload->memfd >= 0)
		(void)!ftruncate(payload->memfd, 0);
	drop_fd(&payload->memfd);
}

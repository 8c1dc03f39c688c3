// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "backend/choose.h"
#include "base/c.h"
#include "op/op.h"
#include "op/op_run.h"
#include "policy/paths.h"

#define FOLDER "/data"           /* where the sandbox sees the folder */
#define OTHER_NAME "/semantic"   /* a link to it */
#define COMMAND_MAX (128U << 10) /* limit of execve(2) for one argument, NUL included */
#define TIMEOUT_MS 10000U
#define TIMEOUT_MAX_MS 60000U
#define MEMORY (256 * MIB)
#define OUTPUT MIB

#define EXPLORE(field, ...) OP_PARAM(struct op_explore_args, field, __VA_ARGS__)

const struct op_param op_explore_params[OP_EXPLORE_PARAM_COUNT] = {
	[OP_EXPLORE_COMMAND] = {EXPLORE(command, .name = "command", .type = OP_TEXT,
					.max = COMMAND_MAX - 1, .is_required = true,
					.help = "command for bash to run over the folder")},
	[OP_EXPLORE_ROOT] = {EXPLORE(root, .name = "root", .type = OP_TEXT,
				     .help = "folder to look at, by its name in the config "
					     "(default: explore.root)")},
	[OP_EXPLORE_CWD] = {EXPLORE(cwd, .name = "cwd", .type = OP_TEXT, .max = 4095,
				    .help = "folder to start in, below `root`")},
	[OP_EXPLORE_TIMEOUT] = {EXPLORE(timeout_ms, .name = "timeout_ms", .type = OP_MS, .min = 10,
					.max = TIMEOUT_MAX_MS,
					.help = "end the command after this long (default: 10 "
						"seconds)")},
	[OP_EXPLORE_POLICY] = {EXPLORE(policy, .name = "policy", .type = OP_TEXT,
				       .help = "limits to run under (default: default)")},
};

/* Returns the part of `cwd` after the folder's own name, and that name in *ret_base. */
static const char *strip_base(const char *cwd, const char **ret_base)
{
	static const char *const bases[] = {FOLDER, OTHER_NAME};

	*ret_base = FOLDER;
	for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
		size_t size = strlen(bases[i]);

		if (strncmp(cwd, bases[i], size) == 0 && (cwd[size] == '/' || cwd[size] == '\0')) {
			*ret_base = bases[i];
			return cwd + size + strspn(cwd + size, "/");
		}
	}
	return cwd;
}

/* The path to start in, as the sandbox sees it. Works by components: "a..b" is a name; ".." leads
 * up, but never above the folder. */
static char *make_cwd(const char *cwd, struct err *err)
{
	const char *base = NULL;
	const char *rest = strip_base(cwd != NULL ? cwd : "", &base);
	char path[PATH_MAX];
	size_t used = (size_t)snprintf(path, sizeof(path), "%s", base);

	while (*rest != '\0') {
		size_t size = strcspn(rest, "/");
		bool is_up = size == 2 && memcmp(rest, "..", 2) == 0;

		if (*rest == '/' || (is_up && used == strlen(base)) ||
		    used + size + 2 > sizeof(path)) {
			(void)err_field(err, ERR_BAD_REQUEST, EINVAL, "cwd",
					"must be below the folder");
			return NULL;
		}
		if (is_up) {
			used = (size_t)(strrchr(path, '/') - path);
		} else if (size > 1 || rest[0] != '.') {
			path[used++] = '/';
			memcpy(path + used, rest, size);
			used += size;
		}
		path[used] = '\0';
		rest += size;
		rest += strspn(rest, "/");
	}
	return strdup(path);
}

/* Errors call the folder by its name: a client knows that, not the path on the host. */
static int check_folder(const struct config *config, const struct op_explore_args *args,
			const char *folder, struct err *err)
{
	static const char *const trees[] = {"/proc", "/sys", "/dev"};
	const char *name = args->root != NULL ? args->root : "default";
	const char *setting = strcmp(folder, config->explore_root) == 0
				      ? ", which explore.root of the config names"
				      : ", which explore.folders of the config names";
	struct stat status;

	if (args->folder != NULL) {
		name = folder;
		setting = "";
	}
	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		if (strcmp(folder, "/") == 0 || path_is_below(folder, trees[i]))
			return err_field(err, ERR_BAD_REQUEST, EINVAL, "root",
					 "%.200s would show too much of the host", name);
	}
	if (stat(folder, &status) < 0)
		return err_field(err, ERR_NOT_FOUND, errno, "root", "%.200s%s: %s", name, setting,
				 strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return err_field(err, ERR_NOT_FOUND, ENOTDIR, "root", "%.200s%s is not a folder",
				 name, setting);
	return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int set_limits(const struct policy *policy, const struct op_explore_args *args,
		      struct run_request *request, struct err *err)
{
	const struct policy_ask ask = {
		.memory = least(policy->memory, MEMORY),
		.output = least(policy->output, OUTPUT),
		.timeout_ms = args->timeout_ms > 0 ? args->timeout_ms
						   : least(policy->timeout_max_ms, TIMEOUT_MS),
	};
	struct policy_grant grant = {0};
	int r = policy_narrow(policy, &ask, &grant, err);

	if (r < 0)
		return r;
	request->kind.plan = grant.plan;
	request->timeout_ms = grant.timeout_ms;
	request->timeout_max_ms = (uint32_t)least(policy->timeout_max_ms, TIMEOUT_MAX_MS);
	request->output_max = grant.output;
	return 0;
}

/* *ret_cwd is the caller's to free, once the run has started. */
static int make_request(const struct config *config, const struct op_caller *caller,
			const struct op_explore_args *args, const struct policy *policy,
			struct run_request *request, char **ret_cwd, struct err *err)
{
	const char *folder = args->folder;
	char *cwd = NULL;
	int r;

	if (args->command == NULL || args->command[0] == '\0')
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "command", "must not be empty");
	if (strlen(args->command) >= COMMAND_MAX)
		return err_field(err, ERR_TOO_LARGE, E2BIG, "command", "longer than %u bytes",
				 COMMAND_MAX - 1);
	if (folder == NULL)
		folder = config_explore(config, args->root, err);
	/* Without a folder here, another machine may have it. */
	if (folder == NULL && backend_explore(config) == BACKEND_EXPLORE)
		return err_code(err);
	r = op_check_backend(policy, NULL, err);
	if (r == 0 && folder != NULL)
		r = check_folder(config, args, folder, err);
	if (r == 0)
		r = set_limits(policy, args, request, err);
	if (r < 0)
		return r;
	cwd = make_cwd(args->cwd, err);
	if (cwd == NULL)
		return -EINVAL;
	request->code = (struct run_bytes){.data = args->command, .size = strlen(args->command)};
	request->is_command = true;
	/* The runner of such a sandbox takes its folder as bytes, since a name need not be
	 * UTF-8. */
	request->args = (struct run_bytes){.data = cwd, .size = strlen(cwd)};
	request->kind.runtime = &runtime_explore;
	request->kind.trust = op_trust(policy, caller);
	request->kind.data = folder;
	request->kind.is_cold = true;
	request->backend = policy->backend;
	request->is_forwarded = caller != NULL && caller->is_forwarded;
	request->root = folder == NULL ? args->root : NULL;
	*ret_cwd = cwd;
	return 0;
}

int op_explore_start(const struct config *config, struct pool *pool,
		     const struct op_explore_args *args, const struct run_calls *calls, void *user,
		     struct run **ret_run, struct err *err)
{
	const struct policy *policy = op_policy(config, NULL, args->policy, err);
	struct run_request request = {0};
	AUTO_FREE char *cwd = NULL;
	int r;

	if (policy == NULL)
		return err_code(err);
	r = op_check_alone(policy, err);
	if (r == 0)
		r = make_request(config, NULL, args, policy, &request, &cwd, err);
	return r < 0 ? r : run_start(pool, &request, calls, user, ret_run, err);
}

static void put_member(struct buf *buf, const char *before, struct span value)
{
	(void)buf_text(buf, before);
	(void)buf_append(buf, value.at, value.size);
}

int op_explore_answer(const struct result *result, struct buf *buf, struct err *err)
{
	put_member(buf, "{\"stdout\":", result->members[RESULT_STDOUT]);
	put_member(buf, ",\"stderr\":", result->members[RESULT_STDERR]);
	if (result->verdict.kind != VERDICT_NONE)
		(void)buf_format(buf, ",\"exit_code\":%d", result->verdict.exit_code);
	else
		(void)buf_text(buf, ",\"exit_code\":null");
	(void)buf_format(buf, ",\"truncated\":{\"stdout\":%s,\"stderr\":%s}",
			 result->truncated.out ? "true" : "false",
			 result->truncated.err ? "true" : "false");
	put_member(buf, ",\"verdict\":", result->members[RESULT_VERDICT]);
	(void)buf_text(buf, "}\n");
	return buf->failed < 0
		       ? err_set(err, ERR_INTERNAL, -buf->failed, "no memory for the answer")
		       : 0;
}

static void call_explore(struct op_call *call)
{
	const struct op_explore_args *args = call->args;
	const struct config *config = call->engine->config;
	struct run_request request = {0};
	AUTO_FREE char *cwd = NULL;
	struct err err = {0};
	const struct policy *policy = op_policy(config, &call->caller, args->policy, &err);

	/* A command over a read-only folder changes nothing, so it need not go on without a
	 * reader. */
	call->is_cancelled_with_client = true;
	if (policy == NULL ||
	    make_request(config, &call->caller, args, policy, &request, &cwd, &err) < 0)
		op_fail(call, &err);
	else
		op_run_serve(call, policy, NULL, &request, op_explore_answer);
}

const struct op op_explore = {
	.name = "explore",
	.method = "POST",
	.path = "/v1/explore",
	.help = "Run a shell command over a folder that is read-only, in a sandbox without Python",
	.params = op_explore_params,
	.param_count = ARRAY_LEN(op_explore_params),
	.args_size = sizeof(struct op_explore_args),
	.answer = "Explored",
	.call = call_explore,
};

// SPDX-License-Identifier: Apache-2.0
#include "policy/config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/near.h"
#include "policy/config_parts.h"
#include "policy/paths.h"

#define CONFIG_NAME "vivarium.yaml"

/* Parts follow the config in one piece of memory, so that all rows fill one object. */
#define ALIGNED(size_)                                                                             \
	(((size_) + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t))

static void add_rows(struct config *config, const struct setting *rows, size_t count, size_t offset)
{
	config->rows = reallocarray(config->rows, config->row_count + count, sizeof(*rows));
	if (config->rows == NULL)
		abort();
	for (size_t i = 0; i < count; i++) {
		config->rows[config->row_count] = rows[i];
		config->rows[config->row_count++].offset += offset;
	}
}

struct config *config_new(void)
{
	size_t size = ALIGNED(sizeof(struct config));
	struct config *config = NULL;

	for (size_t i = 0; config_parts[i] != NULL; i++)
		size += ALIGNED(config_parts[i]->size);
	config = xcalloc(1, size);
	add_rows(config, config_rows, config_row_count, 0);
	size = ALIGNED(sizeof(struct config));
	for (size_t i = 0; config_parts[i] != NULL; i++) {
		assert(i < CONFIG_PARTS_MAX);
		config->parts[i] = (char *)config + size;
		add_rows(config, config_parts[i]->rows, config_parts[i]->row_count, size);
		size += ALIGNED(config_parts[i]->size);
	}
	settings_init(config->rows, config->row_count, config);
	config->runtimes = runtime_built_ins(&config->runtime_count);
	config->policies = policy_built_ins(&config->policy_count);
	return config;
}

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	for (size_t i = 0; i < config->runtime_count; i++)
		runtime_done(&config->runtimes[i]);
	for (size_t i = 0; i < config->policy_count; i++)
		policy_done(&config->policies[i]);
	for (size_t i = 0; i < config->token_count; i++)
		settings_done(token_rows, token_row_count, &config->tokens[i]);
	settings_done(config->rows, config->row_count, config);
	free(config->rows);
	free(config->runtimes);
	free(config->policies);
	free(config->tokens);
	free(config->file);
	free(config);
}

void *config_part(const struct config *config, const struct config_part *part)
{
	size_t i = 0;

	while (config_parts[i] != part) {
		assert(config_parts[i] != NULL);
		i++;
	}
	return config->parts[i];
}

struct config_door *config_door(const struct config *config, const struct config_part *part)
{
	return config_part(config, part);
}

/* Fills paths that the file leaves out from the environment. */
static void fill_paths(struct config *config)
{
	char path[PATHS_MAX + sizeof("/audit.jsonl")];

	if (config->state_dir[0] == '\0') {
		path_state(path, PATHS_MAX);
		text_set(&config->state_dir, path);
	}
	if (config->runtime_dir[0] == '\0') {
		path_runtime(path, PATHS_MAX);
		text_set(&config->runtime_dir, path);
	}
	if (config->audit_file[0] == '\0') {
		(void)snprintf(path, sizeof(path), "%s/audit.jsonl", config->state_dir);
		text_set(&config->audit_file, path);
		config->is_audit_beside_state = true;
	}
}

static int take_text(struct config *config, const void *text, size_t size, const char *name,
		     struct err *err)
{
	const struct section sections[CONFIG_SECTION_COUNT] = {
		[CONFIG_TOP] = {"", SECTION_TOP, config->rows, config->row_count, 1},
		[CONFIG_TOKENS] = {"tokens", SECTION_LISTED, token_rows, token_row_count,
				   CONFIG_TOKENS_MAX},
		[CONFIG_RUNTIMES] = {"runtimes", SECTION_NAMED, runtime_rows, runtime_row_count,
				     RUNTIME_COUNT_MAX},
		[CONFIG_POLICIES] = {"policies", SECTION_NAMED, policy_rows, policy_row_count,
				     CONFIG_POLICIES_MAX},
	};
	struct document *document = NULL;
	int r;

	r = document_load(text, size, name, sections, CONFIG_SECTION_COUNT, &document, err);
	if (r < 0)
		return r;
	text_set(&config->file, name);

	/* Policies name runtimes, tokens name policies. */
	r = config_take_top(config, document, err);
	if (r == 0)
		r = config_take_runtimes(config, document, err);
	if (r == 0)
		r = config_take_policies(config, document, err);
	if (r == 0)
		r = config_take_tokens(config, document, err);
	document_free(document);
	return r;
}

int config_parse(const void *text, size_t size, const char *name, struct config **ret_config,
		 struct err *err)
{
	struct config *config = config_new();
	int r = take_text(config, text, size, name, err);

	if (r < 0) {
		config_free(config);
		return r;
	}
	fill_paths(config);
	*ret_config = config;
	return 0;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Finds the file to load, "" for none. True when it was not asked for but found in this folder. */
static bool find_file(const char *asked, char *ret_path, size_t size)
{
	const char *from_environment = getenv("VIVARIUM_CONFIG");
	char user[PATHS_MAX];

	if (asked == NULL && from_environment != NULL && from_environment[0] != '\0')
		asked = from_environment;
	if (asked != NULL) {
		(void)snprintf(ret_path, size, "%s", asked);
		return false;
	}

	(void)snprintf(ret_path, size, "%s", CONFIG_NAME);
	if (is_there(ret_path))
		return true;
	if (path_user_config(user, sizeof(user))) {
		(void)snprintf(ret_path, size, "%s/" CONFIG_NAME, user);
		if (is_there(ret_path))
			return false;
	}
	(void)snprintf(ret_path, size, "%s", PATH_SYSTEM_CONFIG "/" CONFIG_NAME);
	if (!is_there(ret_path))
		ret_path[0] = '\0';
	return false;
}

static int check_owner(const char *path, const struct stat *info, struct err *err)
{
	if (info->st_uid == 0 || info->st_uid == geteuid())
		return 0;
	return err_set(err, ERR_BAD_REQUEST, EPERM,
		       "%s in this folder belongs to uid %u; unasked, viv obeys only your own and "
		       "root's; if you trust it, say --config %s",
		       path, (unsigned int)info->st_uid, path);
}

/* Opens a file that is used only because it is in the current folder, which may be /tmp or a tree
 * filled by somebody else: its owner and mode decide. A link has two owners. */
static int open_unasked(const char *path, int *ret_fd, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	struct stat info;
	int r;

	if (lstat(path, &info) < 0)
		return err_sys(err, "%s", path);
	r = check_owner(path, &info, err);
	if (r < 0)
		return r;

	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0)
		return err_sys(err, "open %s", path);
	r = check_owner(path, &info, err);
	if (r < 0)
		return r;
	if (!S_ISREG(info.st_mode))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s is not a regular file", path);
	if (info.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(err, ERR_BAD_REQUEST, EPERM,
			       "%s in this folder can be changed by others (mode %04o); chmod go-w "
			       "%s, or, if you trust it, say --config %s",
			       path, info.st_mode & 07777, path, path);
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int read_file(const char *path, bool is_unasked, struct buf *text, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	int r;

	if (!is_unasked)
		return io_read_file(AT_FDCWD, path, text, err);
	r = open_unasked(path, &fd, err);
	return r < 0 ? r : io_read_all(fd, text, err);
}

static int take_file(struct config *config, const char *path, bool is_unasked, struct err *err)
{
	AUTO_BUF struct buf text = {.max = CONFIG_FILE_MAX};
	int r;

	if (path[0] == '\0') {
		text_set(&config->file, "");
		return 0;
	}
	r = read_file(path, is_unasked, &text, err);
	if (r < 0) {
		(void)err_wrap(err, "config");
		err->kind = ERR_BAD_REQUEST; /* the user named the path: not an internal error */
	} else {
		r = take_text(config, text.data, text.size, path, err);
	}
	return r;
}

int config_load(const char *path, struct config **ret_config, struct err *err)
{
	struct config *config = config_new();
	char file[PATHS_MAX + sizeof("/" CONFIG_NAME)];
	bool is_unasked = find_file(path, file, sizeof(file));
	int r = config_take_stored(config, err);

	if (r == 0)
		r = take_file(config, file, is_unasked, err);
	for (size_t i = 0; r == 0 && config_parts[i] != NULL; i++) {
		if (config_parts[i]->take_environment != NULL)
			r = config_parts[i]->take_environment(config, err);
	}
	if (r < 0) {
		config_free(config);
		return r;
	}
	fill_paths(config);
	*ret_config = config;
	return 0;
}

/* The names to offer instead of `wanted`. */
struct choices {
	const char *wanted;           /* borrowed, NULL: any */
	char names[300];              /* all of them, separated by commas */
	char near[NEAR_NAME_MAX + 1]; /* the nearest; "": none is near */
	size_t distance;              /* ... and its distance */
};

static void add_choice(struct choices *choices, const char *name)
{
	const char *wanted = choices->wanted != NULL ? choices->wanted : "";
	size_t used = strlen(choices->names);
	size_t distance = near_distance(wanted, name);
	size_t most = choices->near[0] != '\0' ? choices->distance - 1 : strlen(wanted) / 3;

	(void)snprintf(choices->names + used, sizeof(choices->names) - used, "%s%s",
		       used > 0 ? ", " : "", name);
	if (distance > most)
		return;
	(void)snprintf(choices->near, sizeof(choices->near), "%s", name);
	choices->distance = distance;
}

static void refuse_choice(const struct choices *choices, const char *what, struct err *err)
{
	bool has_near = choices->near[0] != '\0';

	(void)err_set(err, ERR_NOT_FOUND, ENOENT, "%s %.80s; %s%s%s: %s", what, choices->wanted,
		      has_near ? "did you mean " : "", choices->near,
		      has_near ? "? There are" : "there are", choices->names);
}

const struct policy *config_base(const struct config *config, const char *name, const char *except,
				 struct err *err)
{
	const struct policy *policy = policy_find(config->policies, config->policy_count, name);
	struct choices choices = {.wanted = name};

	if (policy != NULL)
		return policy;
	for (size_t i = 0; i < config->policy_count; i++) {
		if (except == NULL || strcmp(config->policies[i].name, except) != 0)
			add_choice(&choices, config->policies[i].name);
	}
	refuse_choice(&choices, "there is no policy", err);
	return NULL;
}

const struct policy *config_policy(const struct config *config, const char *name, struct err *err)
{
	return config_base(config, name, NULL, err);
}

const struct runtime *config_runtime(const struct config *config, const char *name, struct err *err)
{
	const struct runtime *runtime = runtime_find(config->runtimes, config->runtime_count, name);
	struct choices choices = {.wanted = name};

	if (runtime != NULL)
		return runtime;
	for (size_t i = 0; i < config->runtime_count; i++)
		add_choice(&choices, config->runtimes[i].name);
	refuse_choice(&choices, "there is no runtime", err);
	return NULL;
}

const char *config_explore(const struct config *config, const char *name, struct err *err)
{
	const struct text_list *folders = &config->explore_folders;
	const bool has_root = config->explore_root[0] != '\0';
	struct choices choices = {.wanted = name};

	if (has_root && (name == NULL || strcmp(name, "default") == 0))
		return config->explore_root;
	if (has_root)
		add_choice(&choices, "default");
	for (size_t i = 0; i < folders->count; i++) {
		const char *equals = strchr(folders->items[i], '=');
		size_t size = (size_t)(equals - folders->items[i]);
		char known[POLICY_NAME_MAX + 1];

		if (name == NULL ||
		    (strlen(name) == size && memcmp(name, folders->items[i], size) == 0))
			return equals + 1;
		(void)snprintf(known, sizeof(known), "%.*s", (int)size, folders->items[i]);
		add_choice(&choices, known);
	}
	if (choices.names[0] == '\0')
		(void)err_set(err, ERR_NOT_FOUND, ENOENT,
			      "no folder may be explored here; set explore.root in the config");
	else
		refuse_choice(&choices, "there is no folder", err);
	(void)err_blame(err, "root");
	return NULL;
}

int config_choose_policy(const struct config *config, const struct config_token *token,
			 const char *asked, const struct policy **ret_policy, struct err *err)
{
	const struct policy *policy;
	struct choices choices = {.wanted = asked};

	if (token == NULL || token->policies.count == 0) {
		policy = config_policy(config, asked != NULL ? asked : "default", err);
	} else if (asked == NULL) {
		bool has_default = text_list_has(&token->policies, "default");

		policy = config_policy(config, has_default ? "default" : token->policies.items[0],
				       err);
	} else if (text_list_has(&token->policies, asked)) {
		policy = config_policy(config, asked, err);
	} else {
		/* The answer is the same whether the policy exists or not. */
		for (size_t i = 0; i < token->policies.count; i++)
			add_choice(&choices, token->policies.items[i]);
		return err_field(err, ERR_FORBIDDEN, EPERM, "policy",
				 "the token %s may not use %.80s; it may use: %s", token->name,
				 asked, choices.names);
	}
	if (policy == NULL)
		return err_blame(err, "policy");

	*ret_policy = policy;
	return 0;
}

int config_choose_runtime(const struct config *config, const struct policy *policy,
			  const char *asked, const void *code, size_t size, bool has_data,
			  const struct runtime **ret_runtime, struct err *err)
{
	bool is_pinned = strcmp(policy->runtime, "auto") != 0;
	const struct runtime *runtime;

	if (asked != NULL && strcmp(asked, "auto") == 0)
		asked = NULL;
	if (is_pinned && asked != NULL && strcmp(asked, policy->runtime) != 0)
		return err_field(err, ERR_FORBIDDEN, EPERM, "runtime",
				 "the policy %s runs on %s only, not on %.80s", policy->name,
				 policy->runtime, asked);
	if (is_pinned)
		asked = policy->runtime;
	if (asked == NULL)
		runtime = runtime_choose(config->runtimes, config->runtime_count, code, size,
					 has_data);
	else
		runtime = config_runtime(config, asked, err);
	if (runtime == NULL)
		return err_blame(err, "runtime");

	*ret_runtime = runtime;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <jansson.h>
#include <sodium.h>
#include <string.h>

#include "base/buf.h"
#include "base/c.h"
#include "cli/cmd.h"
#include "cli/safe.h"
#include "policy/config.h"

#define SECRET_BYTES 32
#define SECRET_SIZE 44 /* of 32 bytes in base64url without padding, and a NUL */
#define SUM_SIZE (2 * crypto_hash_sha256_BYTES + 1)
#define LINES_MAX (64 * KIB)

struct options {
	const char *config;
	const char *policies;
	bool is_json;
};

static const struct flag flags[] = {
	FLAG_ROW_FOR("new", struct options, policies, "policies", 0, FLAG_TEXT, "NAME,NAME",
		     "the policies it may use; without this flag: all"),
	FLAG_ROWS_COMMON(struct options),
};

struct token {
	const char *name;          /* borrowed */
	struct text_list policies; /* owned */
	char secret[SECRET_SIZE];
	char sum[SUM_SIZE];
};

static int check_name(const struct config *config, const char *name, struct err *err)
{
	if (!name_is_valid(name))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "%.80s is not a name; " NAME_RULE,
			       name);
	for (size_t i = 0; i < config->token_count; i++) {
		if (strcmp(config->tokens[i].name, name) == 0)
			return err_set(err, ERR_BAD_REQUEST, EEXIST,
				       "there is a token %s in %s; remove it first, or choose "
				       "another name",
				       name, config->file);
	}
	return 0;
}

/* "a,b", each a policy of the config. */
static int take_policies(const struct config *config, const char *text, struct text_list *to,
			 struct err *err)
{
	while (text != NULL) {
		char name[POLICY_NAME_MAX + 1] = "";
		size_t size = strcspn(text, ",");

		if (size == 0 || size > POLICY_NAME_MAX)
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "--policies: %.80s is not a list of names; write "
				       "default,tight",
				       text[0] != '\0' ? text : "(empty)");
		memcpy(name, text, size);
		if (config_policy(config, name, err) == NULL)
			return err_wrap(err, "--policies");
		if (!text_list_has(to, name))
			text_list_add(to, name);
		text = text[size] == ',' ? text + size + 1 : NULL;
	}
	return 0;
}

static int make_secret(struct token *token, struct err *err)
{
	unsigned char bytes[SECRET_BYTES];
	unsigned char sum[crypto_hash_sha256_BYTES];

	if (sodium_init() < 0)
		return err_set(err, ERR_INTERNAL, EIO, "libsodium cannot be initialised");
	do {
		randombytes_buf(bytes, sizeof(bytes));
		(void)sodium_bin2base64(token->secret, sizeof(token->secret), bytes, sizeof(bytes),
					sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	} while (token->secret[0] == '-'); /* on a command line it would be an option */
	(void)crypto_hash_sha256(sum, (const unsigned char *)token->secret, strlen(token->secret));
	(void)sodium_bin2hex(token->sum, sizeof(token->sum), sum, sizeof(sum));
	sodium_memzero(bytes, sizeof(bytes));
	return 0;
}

/* The entry for the file. Names that follow NAME_RULE need no quotes there. */
static int put_lines(const struct token *token, struct buf *lines)
{
	buf_format(lines, "  - name: %s\n    sha256: %s\n", token->name, token->sum);
	for (size_t i = 0; i < token->policies.count; i++)
		buf_format(lines, "%s%s", i == 0 ? "    policies: [" : ", ",
			   token->policies.items[i]);
	if (token->policies.count > 0)
		buf_text(lines, "]\n");
	return lines->failed;
}

static int print_json(const struct token *token, const char *lines)
{
	json_auto_t *object = json_pack("{s:s, s:s, s:s, s:s}", "name", token->name, "secret",
					token->secret, "sha256", token->sum, "config", lines);
	json_t *policies = token->policies.count > 0 ? json_array() : json_null();

	for (size_t i = 0; i < token->policies.count; i++)
		(void)json_array_append_new(policies, json_string(token->policies.items[i]));
	if (object == NULL || json_object_set_new(object, "policies", policies) < 0)
		return -ENOMEM;
	safe_print_json(object);
	return 0;
}

static void print_text(const struct config *config, const struct token *token, const char *lines)
{
	(void)printf("secret: %s\n\n", token->secret);
	(void)printf("The secret is shown only once. Clients send it as Authorization: Bearer "
		     "SECRET.\n");
	if (config->token_count > 0)
		(void)printf("Add this to the tokens in %s, then restart the daemon:\n\n%s",
			     config->file, lines);
	else
		(void)printf("Add this to %s, then restart the daemon:\n\ntokens:\n%s",
			     config->file[0] != '\0' ? config->file : "your vivarium.yaml", lines);
}

static int make(const struct options *wish, const struct config *config, const char *name,
		struct err *err)
{
	struct token token = {.name = name};
	struct buf lines;
	int r;

	buf_init(&lines, LINES_MAX);
	r = check_name(config, name, err);
	if (r == 0)
		r = take_policies(config, wish->policies, &token.policies, err);
	if (r == 0)
		r = make_secret(&token, err);
	if (r == 0 && put_lines(&token, &lines) < 0)
		r = err_set(err, ERR_INTERNAL, ENOMEM, "out of memory");
	if (r == 0 && wish->is_json && print_json(&token, buf_string(&lines)) < 0)
		r = err_set(err, ERR_INTERNAL, ENOMEM, "out of memory");
	else if (r == 0 && !wish->is_json)
		print_text(config, &token, buf_string(&lines));

	/* A secret that could not be printed is useless. */
	if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		r = err_set(err, ERR_INTERNAL, EIO, "cannot write the secret to stdout");
	sodium_memzero(token.secret, sizeof(token.secret));
	text_list_done(&token.policies);
	buf_done(&lines);
	return r;
}

static const struct cmd_verb verbs[] = {
	{"new", "NAME", "print a secret, and the lines of vivarium.yaml for it", 1, 1},
};

static int run(const struct cmd *cmd, const void *options, const struct operands *operands)
{
	const struct options *wish = options;
	struct config *config = NULL;
	struct err err = {0};
	int r;

	if (cmd_choose_verb(cmd, operands, &err) < 0)
		return cmd_fail(cmd, &err);
	r = config_load(wish->config, &config, &err);
	if (r == 0)
		r = make(wish, config, operands->items[1], &err);
	config_free(config);
	return r < 0 ? cmd_fail(cmd, &err) : CMD_OK;
}

const struct cmd cmd_token = {
	.name = "token",
	.operands = "new NAME",
	.summary = "make a token for a client of the daemon",
	.about = "Makes a secret, and prints it once with the lines of vivarium.yaml that accept "
		 "it.\n"
		 "Writes nothing: the config holds only the SHA-256 of the secret, and only once "
		 "you\n"
		 "put it there.\n"
		 "\n"
		 "With tokens in the config every request needs one, except those of root and the\n"
		 "daemon's own user over the unix socket. Besides policies, an entry may have\n"
		 "quotas: {concurrent_runs: 8, sessions: 100, runs_per_minute: 600}.",
	.examples = "  viv token new alice\n"
		    "  viv token new ci --policies default,analysis --json",
	CMD_VERBS(verbs),
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};

// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/param.h"
#include "base/json.h"

#define NAME_SIZE 80

struct writer {
	struct buf *buf;
	bool is_whole;               /* named schemas are inlined, not referenced */
	const char *routed, *header; /* the member that is also a header; NULL: none */
};

/* Appends our own text, unescaped. */
static void put(struct writer *to, const char *text)
{
	(void)buf_text(to->buf, text);
}

static void put_string(struct writer *to, const char *text)
{
	(void)json_put_text(to->buf, text != NULL ? text : "");
}

static void put_number(struct writer *to, const char *name, uint64_t number)
{
	(void)buf_format(to->buf, ",\"%s\":%" PRIu64, name, number);
}

static void put_range(struct writer *to, const struct op_param *param)
{
	put_number(to, "minimum", param->min);
	if (param->max > 0)
		put_number(to, "maximum", param->max);
	if (param->initial > 0)
		put_number(to, "default", param->initial);
}

static void put_cpus_range(struct writer *to, const struct op_param *param)
{
	(void)buf_format(to->buf, ",\"minimum\":%g", (double)param->min / 1000);
	if (to->buf->failed == 0 && param->max > 0)
		(void)buf_format(to->buf, ",\"maximum\":%g", (double)param->max / 1000);
}

static void put_choices(struct writer *to, const char *choices)
{
	const char *joint = ",\"enum\":[";

	while (choices != NULL) {
		size_t n = strcspn(choices, "|");

		put(to, joint);
		(void)json_put_string(to->buf, choices, n);
		joint = ",";
		choices = choices[n] == '|' ? choices + n + 1 : NULL;
		put(to, choices == NULL ? "]" : "");
	}
}

static void put_files_type(struct writer *to)
{
	put(to, "\"type\":\"array\",\"items\":");
	if (!to->is_whole)
		put(to, "{\"$ref\":\"#/components/schemas/InputFile\"}");
	else if (to->buf->failed == 0)
		to->buf->failed = schema_put(schema_find("InputFile"), true, to->buf);
}

/* Leaves the braces out: a description follows. */
static void put_any_type(struct writer *to)
{
	static const char any[] = SCHEMA_ANY;

	(void)buf_append(to->buf, any + 1, sizeof(any) - 3);
}

static void put_type(struct writer *to, const struct op_param *param)
{
	switch (param->type) {
	case OP_TEXT:
		put(to,
		    param->takes_null ? "\"type\":[\"string\",\"null\"]" : "\"type\":\"string\"");
		put_choices(to, param->choices);
		break;
	case OP_BYTES:
		put(to, "\"type\":\"string\"");
		break;
	case OP_MS:
	case OP_COUNT:
		put(to, "\"type\":\"integer\"");
		put_range(to, param);
		break;
	case OP_SIZE:
		put(to, "\"anyOf\":[{\"type\":\"integer\"");
		put_range(to, param);
		put(to, "},{\"type\":\"string\",\"pattern\":\"^[0-9]+([KMG]iB|[KMGBkmg])?$\"}]");
		break;
	case OP_CPUS:
		put(to, "\"type\":\"number\"");
		put_cpus_range(to, param);
		break;
	case OP_BOOL:
		put(to, "\"type\":\"boolean\"");
		break;
	case OP_TEXTS:
		put(to, "\"type\":\"array\",\"items\":{\"type\":\"string\"}");
		break;
	case OP_PAIRS:
		put(to, "\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}");
		break;
	case OP_FILES:
		put_files_type(to);
		break;
	case OP_TABLE:
		put(to, "\"anyOf\":[{\"type\":\"object\",\"properties\":{\"columns\":{\"type\":"
			"\"array\"},"
			"\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\"}}},"
			"\"required\":[\"columns\",\"rows\"]},"
			"{\"type\":\"array\",\"items\":{\"type\":\"object\"}}]");
		break;
	case OP_JSON:
		put_any_type(to);
		break;
	}
}

static void put_property(struct writer *to, const struct op_param *param, const char *name)
{
	put_string(to, name);
	put(to, ":{");
	put_type(to, param);
	put(to, ",\"description\":");
	put_string(to, param->help);
	if (to->routed != NULL && strcmp(to->routed, name) == 0) {
		put(to, ",\"x-mcp-header\":");
		put_string(to, to->header);
	}
	put(to, "}");
}

/* The rows of one object, which are all named "<group>.<member>". */
static void put_group(struct writer *to, const struct op *op, const char *group, size_t size)
{
	const char *joint = "";

	(void)json_put_string(to->buf, group, size);
	put(to, ":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
	for (size_t i = 0; i < op->param_count; i++) {
		const struct op_param *param = &op->params[i];

		if (param->in != OP_IN_BODY || strncmp(param->name, group, size) != 0 ||
		    param->name[size] != '.')
			continue;
		put(to, joint);
		put_property(to, param, param->name + size + 1);
		joint = ",";
	}
	put(to, "}}");
}

/* Does an earlier row have the same group? Then the group has been put. */
static bool is_put(const struct op *op, size_t index, size_t size)
{
	for (size_t i = 0; i < index; i++) {
		if (op->params[i].in == OP_IN_BODY &&
		    strncmp(op->params[i].name, op->params[index].name, size + 1) == 0)
			return true;
	}
	return false;
}

static void put_required(struct writer *to, const struct op *op)
{
	const char *joint = ",\"required\":[";

	for (size_t i = 0; i < op->param_count; i++) {
		const struct op_param *param = &op->params[i];

		if (param->in != OP_IN_BODY || !param->is_required ||
		    strchr(param->name, '.') != NULL)
			continue;
		put(to, joint);
		put_string(to, param->name);
		joint = ",";
	}
	put(to, joint[1] == '\0' ? "]" : "");
}

static void put_request_schema(struct writer *to, const struct op *op)
{
	const char *joint = "";

	put(to, "{\"type\":\"object\",\"additionalProperties\":false");
	put_required(to, op);
	put(to, ",\"properties\":{");
	for (size_t i = 0; i < op->param_count; i++) {
		const struct op_param *param = &op->params[i];
		size_t size = strcspn(param->name, ".");
		bool is_group = param->name[size] == '.';

		if (param->in != OP_IN_BODY || (is_group && is_put(op, i, size)))
			continue;
		put(to, joint);
		if (is_group)
			put_group(to, op, param->name, size);
		else
			put_property(to, param, param->name);
		joint = ",";
	}
	put(to, "}}");
}

/* "session.create" is SessionCreateRequest. */
static void request_name(const struct op *op, char ret_name[NAME_SIZE])
{
	bool is_first = true;
	size_t n = 0;

	for (const char *p = op->name; *p != '\0' && n < NAME_SIZE - 8; p++) {
		if (isalnum((unsigned char)*p))
			ret_name[n++] = (char)(is_first ? toupper((unsigned char)*p) : *p);
		is_first = !isalnum((unsigned char)*p);
	}
	(void)snprintf(ret_name + n, NAME_SIZE - n, "Request");
}

static bool has_body(const struct op *op)
{
	for (size_t i = 0; i < op->param_count; i++) {
		if (op->params[i].in == OP_IN_BODY)
			return true;
	}
	return false;
}

static void put_parameters(struct writer *to, const struct op *op)
{
	const char *joint = "";

	put(to, ",\"parameters\":[");
	for (size_t i = 0; i < op->param_count; i++) {
		const struct op_param *param = &op->params[i];
		bool is_path = param->in == OP_IN_PATH;

		if (param->in == OP_IN_BODY)
			continue;
		put(to, joint);
		put(to, is_path ? "{\"in\":\"path\",\"required\":true,\"name\":"
				: "{\"in\":\"query\",\"name\":");
		put_string(to, param->name);
		put(to, !is_path && param->is_required ? ",\"required\":true" : "");
		put(to, ",\"description\":");
		put_string(to, param->help);
		put(to, ",\"schema\":{");
		put_type(to, param);
		put(to, "}}");
		joint = ",";
	}
	if (op->is_stream) {
		put(to, joint);
		put(to, "{\"$ref\":\"#/components/parameters/on_disconnect\"}");
	}
	put(to, "]");
}

static void put_request(struct writer *to, const struct op *op)
{
	char name[NAME_SIZE];

	if (op->is_raw) {
		put(to, ",\"requestBody\":{\"required\":true,\"content\":{"
			"\"application/octet-stream\":{}}}");
	} else if (has_body(op)) {
		request_name(op, name);
		put(to, ",\"requestBody\":{\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
			"\"#/components/schemas/");
		put(to, name);
		put(to, "\"}}}}");
	}
}

static void put_schema_of(struct writer *to, const char *type, const char *name)
{
	put(to, "\"");
	put(to, type);
	put(to, "\":{\"schema\":{\"$ref\":\"#/components/schemas/");
	put(to, name);
	put(to, "\"}}");
}

/* Describes the answers of one status; the first of them gives the description. */
static void put_response(struct writer *to, unsigned status, const char *const *answers,
			 const char *joint)
{
	(void)buf_format(to->buf, "%s\"%u\":{\"description\":", joint, status);
	put_string(to, answers[0] != NULL ? answers[0] : "Done");
	joint = ",\"content\":{";
	for (; *answers != NULL; answers++) {
		const struct schema *schema = schema_find(*answers);

		if (schema == NULL)
			continue;
		put(to, joint);
		put_schema_of(to, schema->type != NULL ? schema->type : "application/json",
			      schema->name);
		joint = ",";
	}
	put(to, joint[1] == '\0' ? "}}" : "}");
}

static void put_responses(struct writer *to, const struct op *op)
{
	unsigned status = op->status > 0 ? op->status : 200;
	const char *name = op->also != NULL ? strchr(op->also, ' ') : NULL;
	unsigned also = op->also != NULL ? (unsigned)strtoul(op->also, NULL, 10) : 0;
	const char *answers[4] = {op->answer};
	const char *others[] = {name != NULL ? name + 1 : NULL, NULL};
	size_t n = op->answer != NULL ? 1 : 0;

	if (op->is_stream && n > 0 && schema_find(op->answer)->type == NULL)
		answers[n++] = "Event";
	if (also == status)
		answers[n] = others[0];
	put(to, ",\"responses\":{");
	put_response(to, status, answers, "");
	if (also != 0 && also != status)
		put_response(to, also, others, ",");
	put(to, ",\"default\":{\"$ref\":\"#/components/responses/Error\"}}");
}

static void put_operation(struct writer *to, const struct op *op)
{
	put(to, "\"");
	for (const char *p = op->method; *p != '\0' && to->buf->failed == 0; p++) {
		char lower = (char)tolower((unsigned char)*p);

		(void)buf_append(to->buf, &lower, 1);
	}
	put(to, "\":{\"operationId\":");
	put_string(to, op->name);
	put(to, ",\"summary\":");
	put_string(to, op->help);
	put(to, op->is_open ? ",\"security\":[]" : "");
	put_parameters(to, op);
	put_request(to, op);
	put_responses(to, op);
	put(to, "}");
}

/* {path...} takes slashes, which OpenAPI cannot express: it becomes {path}. */
static void put_path(struct writer *to, const char *path)
{
	put(to, "\"");
	while (*path != '\0' && to->buf->failed == 0) {
		size_t n = strncmp(path, "...}", 4) == 0 ? 3 : 0;

		(void)buf_append(to->buf, path + n, 1);
		path += n + 1;
	}
	put(to, "\":{");
}

/* The first op with this path, in the order of the tables. */
static const struct op *first_of(const struct op *const *const *tables, const char *path)
{
	for (; *tables != NULL; tables++) {
		for (const struct op *const *op = *tables; *op != NULL; op++) {
			if ((*op)->method != NULL && strcmp((*op)->path, path) == 0)
				return *op;
		}
	}
	return NULL;
}

static void put_path_item(struct writer *to, const struct op *const *const *tables,
			  const char *path)
{
	const char *joint = "";

	put_path(to, path);
	for (; *tables != NULL; tables++) {
		for (const struct op *const *op = *tables; *op != NULL; op++) {
			if ((*op)->method == NULL || strcmp((*op)->path, path) != 0)
				continue;
			put(to, joint);
			put_operation(to, *op);
			joint = ",";
		}
	}
	put(to, "}");
}

static void put_paths(struct writer *to, const struct op *const *const *tables)
{
	const char *joint = "";

	put(to, "\"paths\":{");
	for (size_t i = 0; tables[i] != NULL; i++) {
		for (const struct op *const *op = tables[i]; *op != NULL; op++) {
			if ((*op)->method == NULL || first_of(tables, (*op)->path) != *op)
				continue;
			put(to, joint);
			put_path_item(to, tables, (*op)->path);
			joint = ",";
		}
	}
	put(to, "}");
}

static void put_schemas(struct writer *to, const struct op *const *const *tables)
{
	const char *joint = "";
	char name[NAME_SIZE];

	put(to, "\"schemas\":{");
	for (const struct schema *schema = schemas; schema->name != NULL; schema++) {
		put(to, joint);
		put_string(to, schema->name);
		put(to, ":");
		if (to->buf->failed == 0)
			to->buf->failed = schema_put(schema, false, to->buf);
		joint = ",";
	}
	for (; *tables != NULL; tables++) {
		for (const struct op *const *op = *tables; *op != NULL; op++) {
			if ((*op)->method == NULL || !has_body(*op))
				continue;
			request_name(*op, name);
			put(to, ",");
			put_string(to, name);
			put(to, ":");
			put_request_schema(to, *op);
		}
	}
	put(to, "}");
}

int openapi_put_arguments(const struct op *op, const char *routed, const char *header,
			  struct buf *buf)
{
	struct writer to = {.buf = buf, .is_whole = true, .routed = routed, .header = header};

	put_request_schema(&to, op);
	return to.buf->failed;
}

int openapi_put(const struct op *const *const *tables, struct buf *buf)
{
	struct writer to = {.buf = buf};

	put(&to,
	    "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Vivarium\",\"version\":\"" VIV_VERSION
	    "\",\"summary\":\"Runs untrusted Python behind kernel walls\","
	    "\"license\":{\"name\":\"Apache 2.0\",\"identifier\":\"Apache-2.0\"}},"
	    "\"servers\":[{\"url\":\"/\"}],"
	    /* Either a token or, where none is configured, nothing. */
	    "\"security\":[{\"bearer\":[]},{}],");
	put_paths(&to, tables);
	put(&to, ",\"components\":{");
	put_schemas(&to, tables);
	put(&to,
	    ",\"parameters\":{\"on_disconnect\":{\"in\":\"query\",\"name\":\"on_disconnect\","
	    "\"description\":\"what becomes of the run when the client goes away\","
	    "\"schema\":{\"type\":\"string\",\"enum\":[\"continue\",\"cancel\"],"
	    "\"default\":\"continue\"}}},"
	    "\"responses\":{\"Error\":{\"description\":\"The request was refused or failed; a "
	    "run that fails has a verdict instead\",\"content\":{\"application/json\":{\"schema\":"
	    "{\"$ref\":\"#/components/schemas/Error\"}}}}},"
	    "\"securitySchemes\":{\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}}}}\n");
	return to.buf->failed;
}

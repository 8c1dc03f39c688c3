// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"

/* The suite's fixtures are fixed answers to fixed names; what they say is what it looks for. */

#define PNG                                                                                        \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNQaHAAAAGkAOGt06eBAAAAAElFTkSu" \
	"QmCC"
#define WAV "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="

#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{}}"
#define ONE_TEXT(name_)                                                                            \
	"{\"type\":\"object\",\"properties\":{\"" name_ "\":{\"type\":\"string\"}},"               \
	"\"required\":[\"" name_ "\"]}"

#define TEXT(text_) "{\"type\":\"text\",\"text\":\"" text_ "\"}"
#define IMAGE "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" PNG "\"}"
#define AUDIO "{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"" WAV "\"}"
#define RESOURCE(uri_, mime_, text_)                                                               \
	"{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri_ "\",\"mimeType\":\"" mime_          \
	"\",\"text\":\"" text_ "\"}}"
#define CONTENT(items_) "\"content\":[" items_ "]"

#define SCHEMA_2020                                                                                \
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","       \
	"\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"  \
	"\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"                      \
	"\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":"                    \
	"\"#/$defs/address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\","         \
	"\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"            \
	"\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"         \
	"\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":["          \
	"\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":["         \
	"\"email\"]},\"additionalProperties\":false}"

/* ---- tools that do something on their way ---- */

void mcp_fixture_reply(struct mcp_request *request, const char *type, json_t *take_object)
{
	AUTO_FREE char *text = json_dumps(take_object, JSON_COMPACT | JSON_ENSURE_ASCII);

	if (text == NULL)
		mcp_refuse(request, 500, MCP_INTERNAL, NULL, "no memory for the answer");
	else
		/* The members, without the braces. */
		mcp_reply(request, type, text + 1, strlen(text) - 2);
	json_decref(take_object);
}

static void reply_text(struct mcp_request *request, const char *text)
{
	mcp_fixture_reply(request, NULL,
			  json_pack("{s:[{s:s,s:s}]}", "content", "type", "text", "text", text));
}

/* Does the client want messages of level info? In the 2025 era a client that set no level gets
 * every message; in the 2026 era, none. */
static bool wants_info(const struct mcp_request *request)
{
	int info = mcp_log_level("info");

	if (request->is_modern) {
		int level = mcp_log_level(mcp_text(request->message.meta, MCP_META "logLevel"));

		return level >= 0 && level <= info;
	}
	return request->session == NULL || request->session->log_level <= info;
}

static void log_info(struct mcp_request *request, const char *text)
{
	AUTO_BUF struct buf json = {.max = 4 * KIB};

	if (wants_info(request) &&
	    json_put(&json,
		     "{'jsonrpc':'2.0','method':'notifications/message','params':{'level':'info',"
		     "'logger':'vivarium','data':%s}}",
		     text) == 0)
		mcp_stream_send(request->stream, (const char *)json.data, json.size, false);
}

static void call_logging(struct mcp_request *request)
{
	log_info(request, "Tool execution started");
	log_info(request, "Tool processing data");
	log_info(request, "Tool execution completed");
	reply_text(request, "Logged three lines");
}

static void call_progress(struct mcp_request *request)
{
	for (uint64_t i = 0; i <= 100; i += 50)
		mcp_progress(request, i, 100, NULL, 0);
	reply_text(request, "Made progress");
}

/* Notifies every listener, in both eras, that the list of `things` has changed. */
static void tell_change(struct mcp *mcp, enum mcp_change change, const char *things)
{
	struct mcp_stream *stream = NULL;
	char text[MCP_ID_MAX + 256];

	TAILQ_FOREACH(stream, &mcp->streams, entry) {
		bool is_open = stream->session != NULL && stream->session->open == stream;
		int n = snprintf(text, sizeof(text),
				 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s/"
				 "list_changed\"}",
				 things);

		if (stream->is_listener && (stream->wants & change) != 0)
			n += snprintf(text + n - 1, sizeof(text) - (size_t)n,
				      ",\"params\":{\"_meta\":{\"" MCP_META
				      "subscriptionId\":%s}}}",
				      stream->id) -
			     1;
		else if (!is_open)
			continue;
		mcp_stream_send(stream, text, (size_t)n, true);
	}
}

static void call_change_tools(struct mcp_request *request)
{
	tell_change(request->mcp, MCP_CHANGE_TOOLS, "tools");
	reply_text(request, "Told that the tools changed");
}

static void call_change_prompts(struct mcp_request *request)
{
	tell_change(request->mcp, MCP_CHANGE_PROMPTS, "prompts");
	reply_text(request, "Told that the prompts changed");
}

static void call_reconnection(struct mcp_request *request)
{
	if (request->session != NULL)
		mcp_stream_hang_up(request->stream, 300);
	reply_text(request, "Reconnected");
}

static void call_capability(struct mcp_request *request)
{
	if (json_object_get(mcp_capabilities(request), "sampling") != NULL)
		reply_text(request, "The client can sample");
	else
		mcp_refuse(request, 400, MCP_NO_CAPABILITY,
			   "{\"requiredCapabilities\":{\"sampling\":{}}}",
			   "Missing required client capability");
}

#define SAYS(name_, help_, content_)                                                               \
	{                                                                                          \
		.tool = {.name = (name_), .help = (help_), .schema = NO_ARGUMENTS, .answer = ""},  \
		.members = (content_)                                                              \
	}
#define DOES(name_, help_, schema_, call_)                                                         \
	{                                                                                          \
		.tool = {.name = (name_), .help = (help_), .schema = (schema_), .answer = ""},     \
		.call = (call_)                                                                    \
	}

static const struct mcp_fixture fixtures[] = {
	SAYS("test_simple_text", "Says a text",
	     CONTENT(TEXT("This is a simple text response for testing."))),
	SAYS("test_image_content", "Shows an image", CONTENT(IMAGE)),
	SAYS("test_audio_content", "Plays a sound", CONTENT(AUDIO)),
	SAYS("test_embedded_resource", "Embeds a resource",
	     CONTENT(RESOURCE("test://embedded-resource", "text/plain",
			      "This is an embedded resource content."))),
	SAYS("test_multiple_content_types", "Says, shows and embeds",
	     CONTENT(TEXT("Multiple content types test:") "," IMAGE "," RESOURCE(
		     "test://mixed-content-resource", "application/json",
		     "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}"))),
	SAYS("test_error_handling", "Fails",
	     CONTENT(TEXT("This tool intentionally returns an error for testing")) ",\"isError\":"
										   "true"),
	SAYS("json_schema_2020_12_tool", "Has a schema with many keywords", CONTENT(TEXT("ok"))),
	DOES("test_tool_with_logging", "Logs", NO_ARGUMENTS, call_logging),
	DOES("test_logging_tool", "Logs where it may", NO_ARGUMENTS, call_logging),
	DOES("test_tool_with_progress", "Tells its progress", NO_ARGUMENTS, call_progress),
	DOES("test_trigger_tool_change", "Says that tools changed", NO_ARGUMENTS,
	     call_change_tools),
	DOES("test_trigger_prompt_change", "Says that prompts changed", NO_ARGUMENTS,
	     call_change_prompts),
	DOES("test_reconnection", "Closes the stream before its answer", NO_ARGUMENTS,
	     call_reconnection),
	DOES("test_missing_capability", "Needs sampling", NO_ARGUMENTS, call_capability),
	DOES("test_sampling", "Asks the client's model", ONE_TEXT("prompt"), mcp_fixture_sample),
	DOES("test_elicitation", "Asks the user", ONE_TEXT("message"), mcp_fixture_elicit),
	DOES("test_elicitation_sep1034_defaults", "Asks with defaults", NO_ARGUMENTS,
	     mcp_fixture_elicit),
	DOES("test_elicitation_sep1330_enums", "Asks with choices", NO_ARGUMENTS,
	     mcp_fixture_elicit),
	DOES("test_streaming_elicitation", "Asks by its result", NO_ARGUMENTS, mcp_fixture_input),
	DOES("test_input_required_result_elicitation", "Asks the user", NO_ARGUMENTS,
	     mcp_fixture_input),
	DOES("test_input_required_result_sampling", "Asks the model", NO_ARGUMENTS,
	     mcp_fixture_input),
	DOES("test_input_required_result_list_roots", "Asks for roots", NO_ARGUMENTS,
	     mcp_fixture_input),
	DOES("test_input_required_result_request_state", "Gives a state along", NO_ARGUMENTS,
	     mcp_fixture_input),
	DOES("test_input_required_result_multiple_inputs", "Asks for three things", NO_ARGUMENTS,
	     mcp_fixture_input),
	DOES("test_input_required_result_multi_round", "Asks twice", NO_ARGUMENTS,
	     mcp_fixture_input),
	DOES("test_input_required_result_tampered_state", "Checks its state", NO_ARGUMENTS,
	     mcp_fixture_input),
	DOES("test_input_required_result_capabilities", "Asks for what the client can",
	     NO_ARGUMENTS, mcp_fixture_input),
};

static const struct mcp_tool *fixture_tool(size_t index)
{
	static const struct mcp_tool schema_tool = {
		.name = "json_schema_2020_12_tool",
		.help = "Has a schema with many keywords",
		.schema = SCHEMA_2020,
		.answer = "",
	};

	if (index >= ARRAY_LEN(fixtures))
		return mcp_fixture_task_tool(index - ARRAY_LEN(fixtures));
	if (strcmp(fixtures[index].tool.name, schema_tool.name) == 0)
		return &schema_tool;
	return &fixtures[index].tool;
}

static bool call_fixture(struct mcp_request *request, const char *tool)
{
	for (size_t i = 0; i < ARRAY_LEN(fixtures); i++) {
		const struct mcp_fixture *fixture = &fixtures[i];

		if (strcmp(fixture->tool.name, tool) != 0)
			continue;
		if (fixture->call != NULL)
			fixture->call(request);
		else
			mcp_reply(request, NULL, fixture->members, strlen(fixture->members));
		return true;
	}
	return mcp_fixture_task_call(request, tool);
}

/* ---- resources ---- */

#define LISTED(uri_, mime_)                                                                        \
	"{\"uri\":\"" uri_ "\",\"name\":\"" uri_                                                   \
	"\",\"description\":\"a fixture\",\"mimeType\":\"" mime_ "\"}"

static void put_resources(struct buf *buf)
{
	(void)buf_text(buf, LISTED("test://static-text", "text/plain") "," LISTED(
				    "test://static-binary",
				    "image/png") "," LISTED("test://watched-resource", "text/"
										       "plain"));
}

static void put_templates(struct buf *buf)
{
	(void)buf_text(buf, ",{\"uriTemplate\":\"test://template/{id}/data\",\"name\":\"template\","
			    "\"description\":\"a fixture\",\"mimeType\":\"application/json\"}");
}

static void read_template(struct mcp_request *request, const char *uri, const char *id, int size)
{
	struct buf text;

	buf_init(&text, 4 * KIB);
	(void)buf_format(&text,
			 "{\"id\":\"%.*s\",\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}",
			 size, id, size, id);
	mcp_fixture_reply(request, NULL,
			  json_pack("{s:[{s:s,s:s,s:s}]}", "contents", "uri", uri, "mimeType",
				    "application/json", "text", buf_string(&text)));
	buf_done(&text);
}

static bool read_resource(struct mcp_request *request, const char *uri)
{
	static const char before[] = "test://template/";
	static const char text[] =
		"\"contents\":[{\"uri\":\"test://static-text\",\"mimeType\":\"text/plain\","
		"\"text\":\"This is the content of the static text resource.\"}]";
	static const char binary[] =
		"\"contents\":[{\"uri\":\"test://static-binary\",\"mimeType\":\"image/png\","
		"\"blob\":\"" PNG "\"}]";
	static const char watched[] =
		"\"contents\":[{\"uri\":\"test://watched-resource\",\"mimeType\":\"text/plain\","
		"\"text\":\"Watched.\"}]";
	const char *id = uri + strlen(before);
	size_t size;

	if (strcmp(uri, "test://static-text") == 0) {
		mcp_reply(request, NULL, text, sizeof(text) - 1);
	} else if (strcmp(uri, "test://static-binary") == 0) {
		mcp_reply(request, NULL, binary, sizeof(binary) - 1);
	} else if (strcmp(uri, "test://watched-resource") == 0) {
		mcp_reply(request, NULL, watched, sizeof(watched) - 1);
	} else {
		size = strncmp(uri, before, strlen(before)) == 0
			       ? strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz-_")
			       : 0;
		if (size == 0 || size > 64 || strcmp(id + size, "/data") != 0)
			return false;
		read_template(request, uri, id, (int)size);
	}
	return true;
}

/* ---- prompts ---- */

#define PROMPT(name_, arguments_)                                                                  \
	"{\"name\":\"" name_ "\",\"description\":\"a fixture\",\"arguments\":[" arguments_ "]}"
#define ARGUMENT(name_) "{\"name\":\"" name_ "\",\"description\":\"an argument\",\"required\":true}"

static void prompts_list(struct mcp_request *request)
{
	static const char all[] = "\"prompts\":[" PROMPT("test_simple_prompt", "") "," PROMPT(
		"test_prompt_with_arguments",
		ARGUMENT("arg1") "," ARGUMENT(
			"arg2")) "," PROMPT("test_prompt_with_embedded_"
					    "resource",
					    ARGUMENT(
						    "resourceUri")) "," PROMPT("test_prompt_with_"
									       "image",
									       "") "," PROMPT("test"
											      "_inp"
											      "ut_"
											      "requ"
											      "ired"
											      "_res"
											      "ult_"
											      "prom"
											      "pt",
											      "") "]";

	mcp_reply(request, NULL, all, sizeof(all) - 1);
}

static void prompt_text(struct mcp_request *request, const char *text)
{
	mcp_fixture_reply(request, NULL,
			  json_pack("{s:[{s:s,s:{s:s,s:s}}]}", "messages", "role", "user",
				    "content", "type", "text", "text", text));
}

static void prompt_arguments(struct mcp_request *request, const json_t *arguments)
{
	const char *one = mcp_text(arguments, "arg1"), *two = mcp_text(arguments, "arg2");
	char text[600];

	(void)snprintf(text, sizeof(text), "Prompt with arguments: arg1='%.200s', arg2='%.200s'",
		       one != NULL ? one : "", two != NULL ? two : "");
	prompt_text(request, text);
}

static void prompt_resource(struct mcp_request *request, const json_t *arguments)
{
	const char *uri = mcp_text(arguments, "resourceUri");

	mcp_fixture_reply(request, NULL,
			  json_pack("{s:[{s:s,s:{s:s,s:{s:s,s:s,s:s}}},{s:s,s:{s:s,s:s}}]}",
				    "messages", "role", "user", "content", "type", "resource",
				    "resource", "uri", uri != NULL ? uri : "", "mimeType",
				    "text/plain", "text", "Embedded resource content for testing.",
				    "role", "user", "content", "type", "text", "text",
				    "Please process the embedded resource above."));
}

static void prompts_get(struct mcp_request *request)
{
	static const char image[] =
		"\"messages\":[{\"role\":\"user\",\"content\":" IMAGE "},{\"role\":\"user\","
		"\"content\":" TEXT("Please analyze the image above.") "}]";
	const char *name = mcp_text(request->message.params, "name");
	json_auto_t *arguments = mcp_fixture_arguments(request);

	if (name == NULL)
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL, "name: a text is required");
	else if (strcmp(name, "test_simple_prompt") == 0)
		prompt_text(request, "This is a simple prompt for testing.");
	else if (strcmp(name, "test_prompt_with_arguments") == 0)
		prompt_arguments(request, arguments);
	else if (strcmp(name, "test_prompt_with_embedded_resource") == 0)
		prompt_resource(request, arguments);
	else if (strcmp(name, "test_prompt_with_image") == 0)
		mcp_reply(request, NULL, image, sizeof(image) - 1);
	else if (strcmp(name, "test_input_required_result_prompt") == 0)
		mcp_fixture_input(request);
	else
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL, "Unknown prompt: %.64s", name);
}

static const struct mcp_extra extra = {
	.tool = fixture_tool,
	.call = call_fixture,
	.put_resources = put_resources,
	.put_templates = put_templates,
	.read = read_resource,
	.prompts_list = prompts_list,
	.prompts_get = prompts_get,
	.answered = mcp_question_answered,
	.drop_question = mcp_question_drop,
};
const struct mcp_extra *const mcp_extra = &extra;

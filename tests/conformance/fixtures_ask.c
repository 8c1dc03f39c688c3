// SPDX-License-Identifier: Apache-2.0
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "fixtures.h"

#define ARGUMENTS_MAX (64U << 10)
#define STATE_SIZE 256

json_t *mcp_fixture_arguments(const struct mcp_request *request)
{
	const struct mcp_message *message = &request->message;

	if (message->arguments == NULL || message->arguments_size > ARGUMENTS_MAX)
		return NULL;
	return json_loadb(message->arguments, message->arguments_size, 0, NULL);
}

/* ---- the 2025 era: a request of ours on the stream, the answer in a POST ---- */

struct mcp_question {
	struct mcp_request *request; /* borrowed: whose stream it is on */
	char id[ID_SIZE];
	LIST_ENTRY(mcp_question) entry;
};

void mcp_question_drop(struct mcp_question *question)
{
	question->request->question = NULL;
	LIST_REMOVE(question, entry);
	free(question);
}

static void ask(struct mcp_request *request, const char *capability, const char *method,
		json_t *take_params)
{
	struct mcp_question *question;
	json_auto_t *params = take_params;
	json_auto_t *message = NULL;
	AUTO_FREE char *text = NULL;

	if (request->session == NULL ||
	    json_object_get(mcp_capabilities(request), capability) == NULL) {
		mcp_refuse(request, 0, MCP_INVALID_REQUEST, NULL, "the client has no %s",
			   capability);
		return;
	}
	question = xnew(struct mcp_question);
	question->request = request;
	id_new("ask_", question->id);
	message = json_pack("{s:s,s:s,s:s,s:O}", "jsonrpc", "2.0", "id", question->id, "method",
			    method, "params", params);
	text = json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII);
	LIST_INSERT_HEAD(&request->mcp->questions, question, entry);
	request->question = question;
	if (text != NULL)
		mcp_stream_send(request->stream, text, strlen(text), true);
}

static json_t *said_text(const json_t *result)
{
	AUTO_FREE char *content =
		json_dumps(json_object_get(result, "content"), JSON_COMPACT | JSON_ENCODE_ANY);
	const char *text = mcp_text(json_object_get(result, "content"), "text");
	const char *action = mcp_text(result, "action");
	char said[2000];

	if (action != NULL)
		(void)snprintf(said, sizeof(said),
			       "Elicitation completed: action=%.20s, "
			       "content=%.1800s",
			       action, content != NULL ? content : "{}");
	else
		(void)snprintf(said, sizeof(said), "LLM response: %.1900s",
			       text != NULL ? text : "");
	return json_pack("{s:[{s:s,s:s}]}", "content", "type", "text", "text", said);
}

void mcp_question_answered(struct mcp_session *session, const struct mcp_message *message)
{
	struct mcp_question *question = NULL;
	struct mcp_request *request = NULL;
	char id[ID_SIZE + 2];

	LIST_FOREACH(question, &session->mcp->questions, entry) {
		(void)snprintf(id, sizeof(id), "\"%.*s\"", ID_SIZE - 1, question->id);
		if (question->request->session == session && strcmp(id, message->id) == 0)
			break;
	}
	if (question == NULL)
		return;
	request = question->request;
	mcp_question_drop(question);
	if (json_is_object(json_object_get(message->tree, "result")))
		mcp_fixture_reply(request, NULL,
				  said_text(json_object_get(message->tree, "result")));
	else
		mcp_fixture_reply(request, NULL,
				  json_pack("{s:[{s:s,s:s}],s:b}", "content", "type", "text",
					    "text", "the client refused", "isError", 1));
}

void mcp_fixture_sample(struct mcp_request *request)
{
	json_auto_t *arguments = mcp_fixture_arguments(request);
	const char *prompt = mcp_text(arguments, "prompt");

	ask(request, "sampling", "sampling/createMessage",
	    json_pack("{s:[{s:s,s:{s:s,s:s}}],s:i}", "messages", "role", "user", "content", "type",
		      "text", "text", prompt != NULL ? prompt : "", "maxTokens", 100));
}

/* The question that each of the tools asks the user. */
static const struct {
	const char *tool, *message, *schema;
} forms[] = {
	{"test_elicitation", NULL,
	 "{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\",\"description\":"
	 "\"User's response\"},\"email\":{\"type\":\"string\",\"description\":\"User's email "
	 "address\"}},\"required\":[\"username\",\"email\"]}"},
	{"test_elicitation_sep1034_defaults", "Please review these values",
	 "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"default\":\"John "
	 "Doe\"},\"age\":{\"type\":\"integer\",\"default\":30},\"score\":{\"type\":\"number\","
	 "\"default\":95.5},\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\","
	 "\"pending\"],\"default\":\"active\"},\"verified\":{\"type\":\"boolean\",\"default\":"
	 "true}},\"required\":[]}"},
	{"test_elicitation_sep1330_enums", "Please choose",
	 "{\"type\":\"object\",\"properties\":{\"untitledSingle\":{\"type\":\"string\",\"enum\":["
	 "\"option1\",\"option2\",\"option3\"]},\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
	 "{\"const\":\"value1\",\"title\":\"First Option\"},{\"const\":\"value2\",\"title\":"
	 "\"Second Option\"},{\"const\":\"value3\",\"title\":\"Third Option\"}]},\"legacyEnum\":{"
	 "\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],\"enumNames\":[\"Option One\","
	 "\"Option Two\",\"Option Three\"]},\"untitledMulti\":{\"type\":\"array\",\"items\":{"
	 "\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]}},\"titledMulti\":{"
	 "\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"value1\",\"title\":\"First "
	 "Choice\"},{\"const\":\"value2\",\"title\":\"Second Choice\"},{\"const\":\"value3\","
	 "\"title\":\"Third Choice\"}]}}},\"required\":[]}"},
};

void mcp_fixture_elicit(struct mcp_request *request)
{
	json_auto_t *arguments = mcp_fixture_arguments(request);
	const char *tool = mcp_text(request->message.params, "name");
	const char *message = mcp_text(arguments, "message");

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (strcmp(forms[i].tool, tool) != 0)
			continue;
		if (forms[i].message != NULL)
			message = forms[i].message;
		ask(request, "elicitation", "elicitation/create",
		    json_pack("{s:s,s:o}", "message", message != NULL ? message : "",
			      "requestedSchema", json_loads(forms[i].schema, 0, NULL)));
		return;
	}
}

/* ---- the 2026 era: the result asks, and the client calls again ---- */

#define FORM(message_, name_, type_)                                                               \
	"{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"" message_ \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"" name_                     \
	"\":{\"type\":\"" type_ "\"}},\"required\":[\"" name_ "\"]}}}"
#define SAMPLE(text_)                                                                              \
	"{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[{\"role\":\"user\","     \
	"\"content\":{\"type\":\"text\",\"text\":\"" text_ "\"}}],\"maxTokens\":100}}"
#define ROOTS "{\"method\":\"roots/list\",\"params\":{}}"

/* The questions of one round; the next round of a tool is the next row with its name. */
struct round {
	const char *name;   /* of the tool or prompt */
	const char *inputs; /* JSON: name -> request */
	const char *state;  /* what the client carries for us; NULL: nothing */
	const char *needs;  /* "|elicitation|": only with this capability; NULL: always */
};

static const struct round rounds[] = {
	{"test_streaming_elicitation",
	 "{\"user_name\":" FORM("What is your name?", "name", "string") "}", NULL, NULL},
	{"test_input_required_result_elicitation",
	 "{\"user_name\":" FORM("What is your name?", "name", "string") "}", NULL, NULL},
	{"test_input_required_result_sampling",
	 "{\"capital_question\":" SAMPLE("What is the capital of France?") "}", NULL, NULL},
	{"test_input_required_result_list_roots", "{\"client_roots\":" ROOTS "}", NULL, NULL},
	{"test_input_required_result_request_state",
	 "{\"confirm\":" FORM("Please confirm", "ok", "boolean") "}", "confirm", NULL},
	{"test_input_required_result_tampered_state",
	 "{\"confirm\":" FORM("Please confirm", "ok", "boolean") "}", "tampered", NULL},
	{"test_input_required_result_multiple_inputs",
	 "{\"user_name\":" FORM("What is your name?", "name", "string") ",\"greeting\":" SAMPLE(
		 "Generate a greeting") ",\"client_"
					"roots\":" ROOTS "}",
	 "multiple", NULL},
	{"test_input_required_result_multi_round",
	 "{\"step1\":" FORM("Step 1: What is your name?", "name", "string") "}", "step1", NULL},
	{"test_input_required_result_multi_round",
	 "{\"step2\":" FORM("Step 2: What is your favorite color?", "color", "string") "}", "step2",
	 NULL},
	{"test_input_required_result_capabilities",
	 "{\"user_name\":" FORM("What is your name?", "name", "string") "}", NULL, "elicitation"},
	{"test_input_required_result_capabilities",
	 "{\"question\":" SAMPLE("What is the capital of France?") "}", NULL, "sampling"},
	{"test_input_required_result_prompt",
	 "{\"user_context\":" FORM("What context should the prompt use?", "context", "string") "}",
	 NULL, NULL},
	{"test_tool_with_task", "{\"user_name\":" FORM("What is your name?", "name", "string") "}",
	 NULL, NULL},
};

/* The state with its signature, so that a client can carry but not change it. */
static void sign(const struct mcp *mcp, const char *state, char ret_text[STATE_SIZE])
{
	unsigned char mac[crypto_auth_BYTES];
	char hex[2 * crypto_auth_BYTES + 1];

	(void)crypto_auth(mac, (const unsigned char *)state, strlen(state), mcp->key);
	(void)sodium_bin2hex(hex, sizeof(hex), mac, sizeof(mac));
	(void)snprintf(ret_text, STATE_SIZE, "%s.%s", state, hex);
}

const json_t *mcp_fixture_answer(const struct mcp_request *request, const char *key)
{
	const json_t *said =
		json_object_get(json_object_get(request->message.params, "inputResponses"), key);

	return json_is_object(said) ? said : NULL;
}

static bool has_answers(const struct mcp_request *request, const struct round *round)
{
	json_auto_t *inputs = json_loads(round->inputs, 0, NULL);
	const char *key;
	json_t *input;

	json_object_foreach(inputs, key, input) {
		if (mcp_fixture_answer(request, key) == NULL)
			return false;
	}
	return true;
}

static void ask_round(struct mcp_request *request, const struct round *round)
{
	json_t *members = json_pack("{s:o}", "inputRequests", json_loads(round->inputs, 0, NULL));
	char state[STATE_SIZE];

	if (round->state != NULL) {
		sign(request->mcp, round->state, state);
		(void)json_object_set_new(members, "requestState", json_string(state));
	}
	mcp_fixture_reply(request, "input_required", members);
}

static void complete(struct mcp_request *request, const char *name)
{
	const json_t *said = json_object_get(mcp_fixture_answer(request, "user_name"), "content");
	const char *user = mcp_text(said, "name");
	char text[300];

	(void)snprintf(text, sizeof(text), "Hello, %.200s! state-ok",
		       user != NULL ? user : "whoever you are");
	if (strcmp(name, "test_input_required_result_prompt") == 0)
		mcp_fixture_reply(request, NULL,
				  json_pack("{s:[{s:s,s:{s:s,s:s}}]}", "messages", "role", "user",
					    "content", "type", "text", "text", text));
	else
		mcp_fixture_reply(
			request, NULL,
			json_pack("{s:[{s:s,s:s}]}", "content", "type", "text", "text", text));
}

/* Which round the client answers: by its state where it has one. NULL: the first. */
static const struct round *find_round(const struct mcp_request *request, const char *name,
				      const char *state)
{
	for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
		const struct round *round = &rounds[i];
		char expected[STATE_SIZE];

		if (strcmp(round->name, name) != 0)
			continue;
		if (round->needs != NULL &&
		    json_object_get(mcp_capabilities(request), round->needs) == NULL)
			continue;
		if (state == NULL || round->state == NULL)
			return round;
		sign(request->mcp, round->state, expected);
		if (strcmp(expected, state) == 0)
			return round;
	}
	return NULL;
}

void mcp_fixture_input(struct mcp_request *request)
{
	const char *name = mcp_text(request->message.params, "name");
	const json_t *state = json_object_get(request->message.params, "requestState");
	const struct round *round = find_round(request, name, json_string_value(state));

	if (!request->is_modern) {
		mcp_refuse(request, 0, MCP_INVALID_REQUEST, NULL, "this needs " MCP_NEWEST);
		return;
	}
	if (round == NULL) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
			   "requestState: is not what was given");
		return;
	}
	if (!has_answers(request, round) || (round->state != NULL && state == NULL)) {
		ask_round(request, round);
		return;
	}
	if (round + 1 < rounds + ARRAY_LEN(rounds) && strcmp(round[1].name, name) == 0 &&
	    round[1].needs == NULL)
		ask_round(request, round + 1);
	else
		complete(request, name);
}

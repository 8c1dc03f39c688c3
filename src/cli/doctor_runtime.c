// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "cli/doctor.h"
#include "cli/interview.h"

/* The answer of one interpreter; runtimes that share it share the answer. */
struct answer {
	char host[RUNTIME_PATH_MAX];
	json_t *said; /* owned; NULL: it did not answer, `err` says why */
	struct err err;
};

/* Modules whose Debian package is not python3-<module>. */
static const char *debian_name(const char *module)
{
	static const struct {
		const char *module, *package;
	} odd[] = {
		{"PIL", "pil"},
		{"Crypto", "pycryptodome"},
		{"OpenSSL", "openssl"},
	};

	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		if (strcmp(odd[i].module, module) == 0)
			return odd[i].package;
	}
	return module;
}

static json_t *modules_of(const struct config *config, const char *host)
{
	json_t *modules = json_array();

	for (size_t i = 0; i < config->runtime_count; i++) {
		const struct runtime *runtime = &config->runtimes[i];
		struct runtime_layout layout;
		struct err ignored = {0};

		if (runtime_binds(runtime, &layout, &ignored) < 0 || strcmp(layout.host, host) != 0)
			continue;
		for (size_t j = 0; j < runtime->preload.count; j++)
			(void)json_array_append_new(modules,
						    json_string(runtime->preload.items[j]));
	}
	return modules;
}

/* The answer of the interpreter at `host`, asked once. */
static struct answer *answer_of(struct answer *answers, size_t *count, const struct config *config,
				struct trial *trial, const struct runtime *runtime,
				const char *host, const struct plan *plan)
{
	struct answer *answer = NULL;
	json_t *modules = NULL;

	for (size_t i = 0; i < *count; i++) {
		if (strcmp(answers[i].host, host) == 0)
			return &answers[i];
	}

	answer = &answers[(*count)++];
	(void)snprintf(answer->host, sizeof(answer->host), "%s", host);
	modules = modules_of(config, host);
	(void)interview(trial, runtime, plan, modules, &answer->said, &answer->err);
	json_decref(modules);
	return answer;
}

/* Appends a word to a list in a fixed buffer; what does not fit is left out. */
static void add_word(char *list, size_t size, const char *prefix, const char *word, size_t length)
{
	size_t used = strlen(list);
	size_t need = strlen(prefix) + length + 2;

	if (used + need < size)
		(void)snprintf(list + used, size - used, "%s%s%.*s", used > 0 ? " " : "", prefix,
			       (int)length, word);
}

static void report_runtime(struct report *report, const struct runtime *runtime,
			   const struct runtime_layout *layout, const json_t *said)
{
	const char *version = json_string_value(json_object_get(said, "version"));
	const json_t *found = json_object_get(said, "found");
	const json_t *lacks = json_object_get(said, "lacks");
	bool is_debian = strncmp(layout->host, "/usr/bin/", 9) == 0;
	char missing[200] = "";
	char remedy[300] = "";
	json_t *modules = json_array();
	struct fact *fact = NULL;

	for (size_t i = 0; i < runtime->preload.count; i++) {
		const char *module = runtime->preload.items[i];
		const char *why = json_string_value(json_object_get(lacks, module));
		size_t length = strcspn(module, ".");
		const char *package = NULL;
		char top[64] = "";

		memcpy(top, module, length < sizeof(top) ? length : sizeof(top) - 1);
		(void)json_array_append_new(
			modules,
			json_pack("{s:s, s:b, s:s?, s:s?}", "module", module, "found", why == NULL,
				  "version", json_string_value(json_object_get(found, module)),
				  "why", why));
		if (why == NULL)
			continue;
		add_word(missing, sizeof(missing), "", module, strlen(module));
		package = is_debian ? debian_name(top) : top;
		if (strstr(remedy, package) == NULL)
			add_word(remedy, sizeof(remedy) - 100, is_debian ? "python3-" : "", package,
				 strlen(package));
	}
	fact = report_add(report, DOCTOR_RUNTIMES, runtime->name,
			  missing[0] != '\0' ? FACT_OFF : FACT_ON, NULL,
			  "Python %s, %s, %zu preloaded%s%s", version != NULL ? version : "?",
			  layout->host, runtime->preload.count,
			  missing[0] != '\0' ? "; lacks " : "", missing);
	if (remedy[0] != '\0')
		(void)snprintf(
			fact->remedy, sizeof(fact->remedy), "%s %s",
			is_debian ? "sudo apt install" : "pip install in that venv:", remedy);
	fact->more = json_pack("{s:s, s:s?, s:o}", "python", layout->host, "version", version,
			       "preload", modules);
}

void doctor_runtimes(struct report *report, const struct config *config, struct trial *trial,
		     const struct plan *plan)
{
	struct answer *answers = xcalloc(config->runtime_count, sizeof(*answers));
	size_t count = 0;

	for (size_t i = 0; i < config->runtime_count; i++) {
		const struct runtime *runtime = &config->runtimes[i];
		struct runtime_layout layout;
		const struct answer *answer = NULL;
		struct err err = {0};

		if (runtime_binds(runtime, &layout, &err) < 0) {
			(void)report_add(report, DOCTOR_RUNTIMES, runtime->name, FACT_OFF,
					 "sudo apt install python3", "%.300s", err.text);
			continue;
		}
		if (trial == NULL) {
			(void)report_add(report, DOCTOR_RUNTIMES, runtime->name, FACT_NOTE, NULL,
					 "%s; not tried: no sandbox could be made", layout.host);
			continue;
		}
		answer = answer_of(answers, &count, config, trial, runtime, layout.host, plan);
		if (answer->said == NULL)
			(void)report_add(report, DOCTOR_RUNTIMES, runtime->name, FACT_OFF, NULL,
					 "%.300s", answer->err.text);
		else
			report_runtime(report, runtime, &layout, answer->said);
	}
	for (size_t i = 0; i < count; i++)
		json_decref(answers[i].said);
	free(answers);
}

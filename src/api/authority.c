// SPDX-License-Identifier: Apache-2.0
#include "api/authority.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

static bool parse_port(const char *text, uint32_t *ret_port)
{
	size_t size = strspn(text, "0123456789");
	unsigned long port;

	if (size == 0 || size > 5 || text[size] != '\0')
		return false;
	port = strtoul(text, NULL, 10);
	*ret_port = (uint32_t)port;
	return port > 0 && port <= 65535;
}

bool authority_parse_v6(const char *text, size_t size, struct authority *to)
{
	char address[INET6_ADDRSTRLEN] = "";
	struct in6_addr parsed;

	if (size >= sizeof(address))
		return false;
	memcpy(address, text, size);
	if (inet_pton(AF_INET6, address, &parsed) != 1)
		return false;

	/* ::ffff:127.0.0.1 is 127.0.0.1. */
	to->family = IN6_IS_ADDR_V4MAPPED(&parsed) ? AF_INET : AF_INET6;
	if (to->family == AF_INET)
		memcpy(to->address, parsed.s6_addr + 12, 4);
	else
		memcpy(to->address, parsed.s6_addr, sizeof(to->address));
	return true;
}

/* A name or an IPv4 address. Only four decimal numbers are an address: browsers convert the other
 * forms (0x7f.1, 2130706433) to this one before they send them. */
static bool parse_name(const char *text, size_t size, struct authority *to)
{
	for (size_t i = 0; i < size && i < AUTHORITY_NAME_MAX; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!(c < 0x80 && isalnum(c)) && c != '-' && c != '.' && c != '_')
			return false;
		to->name[i] = (char)tolower(c);
	}
	if (size > 1 && to->name[size - 1] == '.')
		to->name[--size] = '\0';
	if (size == 0 || to->name[0] == '.')
		return false;
	if (inet_pton(AF_INET, to->name, to->address) == 1) {
		to->family = AF_INET;
		memset(to->name, 0, sizeof(to->name));
	}
	return true;
}

bool authority_parse(const char *text, struct authority *ret_authority)
{
	struct authority authority = {0};
	size_t size = text[0] == '[' ? strcspn(text, "]") : strcspn(text, ":");
	const char *rest = text + size;

	if (size > AUTHORITY_NAME_MAX)
		return false;
	if (text[0] == '[') {
		if (*rest != ']' || !authority_parse_v6(text + 1, size - 1, &authority))
			return false;
		rest++;
	} else if (!parse_name(text, size, &authority)) {
		return false;
	}
	if (*rest != '\0' && (*rest != ':' || !parse_port(rest + 1, &authority.port)))
		return false;

	*ret_authority = authority;
	return true;
}

bool authority_parse_origin(const char *text, struct authority *ret_authority, bool *ret_is_https)
{
	bool is_https = strncmp(text, "https://", strlen("https://")) == 0;
	const char *scheme = is_https ? "https://" : "http://";

	if (strncmp(text, scheme, strlen(scheme)) != 0 ||
	    !authority_parse(text + strlen(scheme), ret_authority))
		return false;
	if (ret_authority->port == 0)
		ret_authority->port = is_https ? 443 : 80;
	*ret_is_https = is_https;
	return true;
}

bool authority_is_same_host(const struct authority *a, const struct authority *b)
{
	return a->family == b->family && strcmp(a->name, b->name) == 0 &&
	       memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

bool authority_is_loopback(const struct authority *authority)
{
	static const uint8_t v6_loopback[16] = {[15] = 1};

	if (authority->family == AF_INET)
		return authority->address[0] == 127;
	if (authority->family == AF_INET6)
		return memcmp(authority->address, v6_loopback, sizeof(v6_loopback)) == 0;
	return strcmp(authority->name, "localhost") == 0;
}

bool authority_is_any(const struct authority *authority)
{
	static const uint8_t zeros[16] = {0};

	return authority->family != 0 && memcmp(authority->address, zeros, sizeof(zeros)) == 0;
}

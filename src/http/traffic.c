// SPDX-License-Identifier: Apache-2.0
#include "http/traffic.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

struct traffic traffic_of(int fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return (struct traffic){0};
	return (struct traffic){
		.received = info.tcpi_bytes_received,
		.sent = info.tcpi_bytes_sent,
	};
}

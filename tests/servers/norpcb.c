/*
 * Lets nfs-ganesha run on loopback without a portmapper; preloaded into the server only, never into parfs.
 *
 * What it changes, and why:
 * - svc_reg: without a netconfig libntirpc registers a service for dispatch only. With one it also asks rpcbind,
 *   and the server refuses to start where none runs.
 * - rpcb_unset: the matching call at start and exit; it succeeds without asking.
 * - bind: the server ignores Bind_Addr and binds [::]. A wildcard address becomes $BIND_V4, so that nothing listens
 *   outside loopback and several servers share one port number on several loopback addresses.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef bool (*svc_reg_fn)(void *, uint32_t, uint32_t, void *, const void *);
typedef int (*bind_fn)(int, const struct sockaddr *, socklen_t);

bool svc_reg(void *transport, uint32_t program, uint32_t version, void *dispatch, const void *netconfig)
{
	svc_reg_fn next = (svc_reg_fn)dlsym(RTLD_NEXT, "svc_reg");

	(void)netconfig;
	return next ? next(transport, program, version, dispatch, NULL) : false;
}

bool rpcb_unset(uint32_t program, uint32_t version, const void *netconfig)
{
	(void)program;
	(void)version;
	(void)netconfig;
	return true;
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	bind_fn next = (bind_fn)dlsym(RTLD_NEXT, "bind");
	const char *loopback = getenv("BIND_V4");

	if (loopback && address->sa_family == AF_INET6 && length >= sizeof(struct sockaddr_in6)) {
		struct sockaddr_in6 six;

		memcpy(&six, address, sizeof six);
		if (IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr)) {
			six.sin6_addr.s6_addr[10] = six.sin6_addr.s6_addr[11] = 0xff;
			inet_pton(AF_INET, loopback, &six.sin6_addr.s6_addr[12]);
			return next(fd, (struct sockaddr *)&six, sizeof six);
		}
	}
	if (loopback && address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
		struct sockaddr_in four;

		memcpy(&four, address, sizeof four);
		if (four.sin_addr.s_addr == htonl(INADDR_ANY)) {
			inet_pton(AF_INET, loopback, &four.sin_addr);
			return next(fd, (struct sockaddr *)&four, sizeof four);
		}
	}
	return next(fd, address, length);
}

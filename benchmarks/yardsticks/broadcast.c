/* broadcast STREAMS SIZE: one chunk to every connected socket, as fast as they take it.
 *
 * The yardstick in C; sender.py is the same in Python and says what the two have in common.  It listens on a
 * free port of 127.0.0.1, prints it, greets each stream, and begins once all are there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char greeting[] = "HTTP/1.1 200 OK\r\n\r\ndata: {\"type\":\"CONNECTED\"}\n\n";

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int listen_on_loopback(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) || listen(listener, 4096)) fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &length)) fail("getsockname");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static int greeted(int listener) {
    int on = 1, sock = accept(listener, NULL, NULL);
    if (sock < 0) fail("accept");
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (send(sock, greeting, sizeof greeting - 1, 0) < 0) fail("greet");
    fcntl(sock, F_SETFL, O_NONBLOCK);
    return sock;
}

/* Send what is left of a chunk that the socket took in part. */
static void finish(int sock, const char *rest, size_t size) {
    struct pollfd one = {.fd = sock, .events = POLLOUT};
    while (size > 0) {
        poll(&one, 1, -1);
        ssize_t sent = send(sock, rest, size, 0);
        if (sent < 0 && errno != EAGAIN) exit(0);
        if (sent > 0) rest += sent, size -= (size_t)sent;
    }
}

static void send_on(struct pollfd *sockets, int count, const char *chunk, size_t size) {
    for (;;) {
        int full = 0;
        for (int number = 0; number < count; number++) {
            ssize_t sent = send(sockets[number].fd, chunk, size, 0);
            if (sent < 0 && errno != EAGAIN) exit(0);
            if (sent < 0) full++;
            else if ((size_t)sent < size) finish(sockets[number].fd, chunk + sent, size - (size_t)sent);
        }
        if (full == count) poll(sockets, (nfds_t)count, -1);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int count = atoi(argv[1]);
    size_t size = (size_t)atoi(argv[2]);
    struct pollfd *sockets = calloc((size_t)count, sizeof *sockets);
    char *chunk = malloc(size);
    if (!sockets || !chunk) fail("memory");
    signal(SIGPIPE, SIG_IGN);
    memset(chunk, 'x', size);
    chunk[size - 1] = '^';
    int listener = listen_on_loopback();
    for (int number = 0; number < count; number++)
        sockets[number] = (struct pollfd){.fd = greeted(listener), .events = POLLOUT};
    send_on(sockets, count, chunk, size);
}

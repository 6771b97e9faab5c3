/* The system calls that a copy of new files with their metadata cannot do without, made by a thread for each processor, and nothing else
 * beside them: what benches/local.sh measures parcp against, to tell its own time from the kernel's. A bench's yardstick, no copier:
 * regular files, directories and symbolic links, no errors but the end, no directory times.
 *
 *   calls SOURCE TARGET
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct pair {
    char *from, *to;
    struct pair *next;
};

static struct pair *waiting;
static int busy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void put(char *from, char *to) {
    struct pair *pair = malloc(sizeof *pair);
    *pair = (struct pair){from, to, NULL};
    pthread_mutex_lock(&lock);
    pair->next = waiting;
    waiting = pair;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static char *join(const char *dir, const char *name) {
    char *path;
    if (asprintf(&path, "%s/%s", dir, name) < 0) err(1, "asprintf");
    return path;
}

static void copy_file(int from, int to, const char *name) {
    int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat was, is;
    struct statx made; /* without times, whose look makes each later change of the file dearer (Linux 6.13) */
    const int what = STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_INO;
    if (in < 0 || fstat(in, &was) < 0) err(1, "%s", name);
    char byte;
    flistxattr(in, &byte, 1); /* fails where there are some */
    int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, was.st_mode & 0777);
    if (out < 0 || statx(out, "", AT_EMPTY_PATH, what, &made) < 0) err(1, "%s", name);
    for (off_t at = 0; at < was.st_size;) {
        off_t read = at, written = at;
        ssize_t count = copy_file_range(in, &read, out, &written, was.st_size - at, 0);
        if (count <= 0) err(1, "%s", name);
        at += count;
    }
    struct timespec times[2] = {was.st_atim, was.st_mtim};
    if (fstat(in, &is) < 0 || futimens(out, times) < 0) err(1, "%s", name);
    if (close(out) < 0 || close(in) < 0) err(1, "%s", name);
}

static void copy_dir(const struct pair *pair) {
    DIR *dir = opendir(pair->from);
    int to = open(pair->to, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!dir || to < 0) err(1, "%s", pair->from);
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..")) continue;
        if (entry->d_type == DT_DIR) {
            if (mkdirat(to, name, 0755) < 0) err(1, "%s", name);
            put(join(pair->from, name), join(pair->to, name));
        } else if (entry->d_type == DT_LNK) {
            char text[4096];
            ssize_t length = readlinkat(dirfd(dir), name, text, sizeof text - 1);
            if (length < 0) err(1, "%s", name);
            text[length] = 0;
            if (symlinkat(text, to, name) < 0) err(1, "%s", name);
        } else {
            copy_file(dirfd(dir), to, name);
        }
    }
    closedir(dir);
    close(to);
}

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!waiting && busy) pthread_cond_wait(&changed, &lock);
        struct pair *pair = waiting;
        if (!pair) break;
        waiting = pair->next;
        busy++;
        pthread_mutex_unlock(&lock);
        copy_dir(pair);
        pthread_mutex_lock(&lock);
        busy--;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int count, char **words) {
    if (count != 3) errx(2, "usage: calls SOURCE TARGET");
    if (mkdir(words[2], 0755) < 0) err(1, "%s", words[2]);
    put(words[1], words[2]);
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t thread[threads];
    for (long i = 0; i < threads; i++) pthread_create(&thread[i], NULL, work, NULL);
    for (long i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}

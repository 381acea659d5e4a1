/* What a disk does wrong, for tests: preloaded into a process, it counts what the process asks of the files in one
   folder (writes, syncs, cuts, renames, links, unlinks), and at the n-th call fails, writes half, or dies. It can also
   keep a journal of those calls, out of which the states are built that a power cut could leave. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { COUNT = 0, FAIL = 1, SHORT = 2, FULL = 3, DIE_BEFORE = 4, DIE_AFTER = 5, FAIL_SYNC = 6 };

static char folder[4096];
static size_t folder_length;
static long calls, syncs, wanted;
static int mode, failure, journal = -1, starved = -1;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);
static int (*real_rename)(const char *, const char *);
static int (*real_link)(const char *, const char *);
static int (*real_linkat)(int, const char *, int, const char *, int);
static int (*real_unlink)(const char *);
static int (*real_unlinkat)(int, const char *, int);

__attribute__((constructor)) static void find(void) {
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_writev = dlsym(RTLD_NEXT, "writev");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_rename = dlsym(RTLD_NEXT, "rename");
  real_link = dlsym(RTLD_NEXT, "link");
  real_linkat = dlsym(RTLD_NEXT, "linkat");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_unlinkat = dlsym(RTLD_NEXT, "unlinkat");
}

/* Called from Python: from now on, do `how` at the n-th call that concerns a file in `where`. */
void shim_arm(const char *where, long n, int how, int error) {
  snprintf(folder, sizeof folder, "%s/", where);
  folder_length = strlen(folder);
  calls = syncs = 0;
  wanted = n;
  mode = how;
  failure = error;
  starved = -1;
}

void shim_disarm(void) { folder_length = 0; }

int shim_disarmed(void) { return folder_length == 0; }

long shim_calls(void) { return calls; }

void shim_journal(int descriptor) { journal = descriptor; }

static void note(char what, const char *path, uint64_t offset, const void *data, uint64_t size) {
  if (journal < 0) return;
  uint64_t head[4] = {(uint64_t)what, strlen(path), offset, size};
  real_write(journal, head, sizeof head);
  real_write(journal, path, head[1]);
  if (size && data) real_write(journal, data, size);
}

/* Called from Python: a word into the journal, such as that something was acknowledged. */
void shim_mark(const char *word) { note('m', word, 0, 0, 0); }

static int ours(const char *path) { return folder_length && strncmp(path, folder, folder_length) == 0; }

static int path_of(int descriptor, char *path, size_t size) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(name, path, size - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  /* The folder itself counts too: its sync is what makes names last. */
  return ours(path) || (folder_length && (size_t)length == folder_length - 1 && !strncmp(path, folder, length));
}

/* A name beside an open folder, as one path. */
static const char *at_path(int at, const char *name, char *path, size_t size) {
  if (at == AT_FDCWD || name[0] == '/') return name;
  char link[64], base[3000];
  snprintf(link, sizeof link, "/proc/self/fd/%d", at);
  ssize_t length = readlink(link, base, sizeof base - 1);
  if (length <= 0) return name;
  base[length] = 0;
  snprintf(path, size, "%s/%s", base, name);
  return path;
}

/* Counts a call; says whether this is the one. */
static int turn(void) {
  calls++;
  if (mode == DIE_BEFORE && calls == wanted) raise(SIGKILL);
  return calls == wanted;
}

static int after(int result) {
  int kept = errno;
  if (mode == DIE_AFTER && calls == wanted) raise(SIGKILL);
  errno = kept;
  return result;
}

/* Whether a call fails now: the n-th one, or, on a full disk, every one that needs room from then on. */
static int fails(int now, int needs_room) {
  if ((now && mode == FAIL) || (mode == FULL && wanted > 0 && calls >= wanted && needs_room)) {
    errno = mode == FULL ? ENOSPC : failure;
    return 1;
  }
  return 0;
}

static ssize_t put(int descriptor, const void *data, size_t size, off_t offset, int placed) {
  char path[4096];
  if (!folder_length || !path_of(descriptor, path, sizeof path))
    return placed ? real_pwrite(descriptor, data, size, offset) : real_write(descriptor, data, size);
  int now = turn();
  if (fails(now, 1)) return -1;
  if (mode == SHORT && starved == descriptor) {
    starved = -1;
    errno = ENOSPC;
    return -1;
  }
  if (now && mode == SHORT && size > 1) {
    size /= 2;
    starved = descriptor;
  }
  if (!placed) offset = lseek(descriptor, 0, SEEK_CUR);
  ssize_t written = placed ? real_pwrite(descriptor, data, size, offset) : real_write(descriptor, data, size);
  if (written > 0) note('w', path, offset, data, written);
  return after((int)written);
}

ssize_t write(int descriptor, const void *data, size_t size) { return put(descriptor, data, size, 0, 0); }
ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) {
  return put(descriptor, data, size, offset, 1);
}
ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
  return put(descriptor, data, size, offset, 1);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  char path[4096];
  if (!folder_length || !path_of(descriptor, path, sizeof path)) return real_writev(descriptor, parts, count);
  ssize_t total = 0;
  for (int i = 0; i < count; i++) {
    ssize_t written = put(descriptor, parts[i].iov_base, parts[i].iov_len, 0, 0);
    if (written < 0) return total ? total : -1;
    total += written;
    if ((size_t)written < parts[i].iov_len) break;
  }
  return total;
}

static int sync_with(int descriptor, int (*real)(int)) {
  char path[4096];
  if (!folder_length || !path_of(descriptor, path, sizeof path)) return real(descriptor);
  if (fails(turn(), 0)) return -1;
  if (mode == FAIL_SYNC && ++syncs == wanted) {
    errno = failure;
    return -1;
  }
  int result = real(descriptor);
  if (result == 0) note('s', path, 0, 0, 0);
  return after(result);
}

int fsync(int descriptor) { return sync_with(descriptor, real_fsync); }
int fdatasync(int descriptor) { return sync_with(descriptor, real_fdatasync); }

int ftruncate64(int descriptor, off64_t size) {
  char path[4096];
  if (!folder_length || !path_of(descriptor, path, sizeof path)) return real_ftruncate(descriptor, size);
  if (fails(turn(), 0)) return -1;
  int result = real_ftruncate(descriptor, size);
  if (result == 0) note('t', path, size, 0, 0);
  return after(result);
}
int ftruncate(int descriptor, off_t size) { return ftruncate64(descriptor, size); }

int rename(const char *from, const char *to) {
  if (!ours(to)) return real_rename(from, to);
  if (fails(turn(), 1)) return -1;
  return after(real_rename(from, to));
}

int link(const char *from, const char *to) {
  if (!ours(to)) return real_link(from, to);
  if (fails(turn(), 1)) return -1;
  return after(real_link(from, to));
}

int linkat(int at, const char *from, int there, const char *to, int flags) {
  char path[4096];
  if (!ours(at_path(there, to, path, sizeof path))) return real_linkat(at, from, there, to, flags);
  if (fails(turn(), 1)) return -1;
  return after(real_linkat(at, from, there, to, flags));
}

int unlink(const char *path) {
  if (!ours(path)) return real_unlink(path);
  if (fails(turn(), 0)) return -1;
  int result = real_unlink(path);
  if (result == 0) note('u', path, 0, 0, 0);
  return after(result);
}

int unlinkat(int at, const char *name, int flags) {
  char path[4096];
  if (!ours(at_path(at, name, path, sizeof path))) return real_unlinkat(at, name, flags);
  if (fails(turn(), 0)) return -1;
  return after(real_unlinkat(at, name, flags));
}

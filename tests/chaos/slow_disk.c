/* Delays each write, sync, rename and link of regular files while the file SLOW_DISK_SWITCH exists.
 * `faults.py` compiles it, and preloads it into the server and its Java. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define DELAY_US 30000
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_slow(void) {
  const char *file = getenv("SLOW_DISK_SWITCH");
  return file && access(file, F_OK) == 0;
}

static void delay_file(int fd) {
  struct stat status;
  if (is_slow() && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) usleep(DELAY_US);
}

static void delay(void) {
  if (is_slow()) usleep(DELAY_US);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  delay_file(fd);
  return NEXT(write)(fd, bytes, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  delay_file(fd);
  return NEXT(pwrite64)(fd, bytes, count, offset);
}

int fsync(int fd) {
  delay_file(fd);
  return NEXT(fsync)(fd);
}

int rename(const char *from, const char *to) {
  delay();
  return NEXT(rename)(from, to);
}

int link(const char *from, const char *to) {
  delay();
  return NEXT(link)(from, to);
}

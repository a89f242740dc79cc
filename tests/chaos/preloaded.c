/* Faults of the system that need no privilege; `faults.py` compiles this file, and preloads it into the server and Java.
 *
 * While the file SLOW_DISK_SWITCH exists, each write, sync, rename and link of regular files is delayed. The file
 * CLOCK_OFFSET has the seconds that are added to the clock; monotonic clocks go on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define DELAY_US 30000
#define OFFSET_EVERY_NS 100000000L
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

static time_t clock_offset(void) {
  static volatile long offset = 0, read_at = 0;
  const char *file = getenv("CLOCK_OFFSET");
  struct timespec now;
  if (!file) return 0;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  long now_ns = now.tv_sec * 1000000000L + now.tv_nsec;
  if (now_ns - read_at > OFFSET_EVERY_NS) {
    char text[32] = {0};
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    read_at = now_ns;
    if (fd >= 0) {
      if (read(fd, text, sizeof text - 1) > 0) offset = atol(text);
      close(fd);
    }
  }
  return offset;
}

int clock_gettime(clockid_t clock, struct timespec *found) {
  int result = syscall(SYS_clock_gettime, clock, found);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) found->tv_sec += clock_offset();
  return result;
}

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  found->tv_sec = now.tv_sec;
  found->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *found) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (found) *found = now.tv_sec;
  return now.tv_sec;
}

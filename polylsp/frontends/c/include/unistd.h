#pragma once
#include <stddef.h>
#include <sys/types.h>
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
#define R_OK 4
#define W_OK 2
#define X_OK 1
#define F_OK 0
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define _SC_CLK_TCK 2
#define _SC_PAGESIZE 30
#define _SC_PAGE_SIZE 30
#define _SC_NPROCESSORS_CONF 83
#define _SC_NPROCESSORS_ONLN 84
#define _SC_PHYS_PAGES 85
extern char *optarg;
extern int optind, opterr, optopt;
extern char **environ;
int access(const char *path, int mode);
unsigned int alarm(unsigned int seconds);
int chdir(const char *path);
int close(int fd);
int dup(int fd);
int dup2(int from, int to);
int execl(const char *path, const char *arg, ...);
int execv(const char *path, char *const argv[]);
int execvp(const char *file, char *const argv[]);
void _exit(int status) __attribute__((noreturn));
pid_t fork(void);
int fsync(int fd);
int ftruncate(int fd, off_t length);
char *getcwd(char *buf, size_t size);
uid_t getuid(void);
int gethostname(char *name, size_t n);
int getopt(int argc, char *const argv[], const char *options);
int getpagesize(void);
pid_t getpid(void);
pid_t getppid(void);
int isatty(int fd);
off_t lseek(int fd, off_t offset, int whence);
int nice(int increment);
int pause(void);
int pipe(int fds[2]);
ssize_t pread(int fd, void *buf, size_t n, off_t offset);
ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset);
ssize_t read(int fd, void *buf, size_t n);
ssize_t readlink(const char *restrict path, char *restrict buf, size_t n);
int rmdir(const char *path);
void *sbrk(intptr_t increment);
unsigned int sleep(unsigned int seconds);
long sysconf(int name);
int truncate(const char *path, off_t length);
int unlink(const char *path);
int usleep(useconds_t microseconds);
ssize_t write(int fd, const void *buf, size_t n);

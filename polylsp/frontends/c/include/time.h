#pragma once
#include <stddef.h>
#include <sys/types.h>
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
    long tm_gmtoff;
    const char *tm_zone;
};
struct timespec { time_t tv_sec; long tv_nsec; };
#define CLOCKS_PER_SEC ((clock_t)1000000)
#define TIME_UTC 1
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_THREAD_CPUTIME_ID 3
#define CLOCK_MONOTONIC_RAW 4
#define CLOCK_BOOTTIME 7
clock_t clock(void);
double difftime(time_t end, time_t begin) __attribute__((const));
time_t mktime(struct tm *tm);
time_t time(time_t *t);
int timespec_get(struct timespec *ts, int base);
char *asctime(const struct tm *tm);
char *ctime(const time_t *t);
struct tm *gmtime(const time_t *t);
struct tm *localtime(const time_t *t);
struct tm *gmtime_r(const time_t *t, struct tm *result);
struct tm *localtime_r(const time_t *t, struct tm *result);
size_t strftime(char *restrict s, size_t max, const char *restrict format, const struct tm *restrict tm);
int clock_gettime(clockid_t id, struct timespec *ts);
int clock_getres(clockid_t id, struct timespec *ts);
int clock_settime(clockid_t id, const struct timespec *ts);
int nanosleep(const struct timespec *request, struct timespec *remain);

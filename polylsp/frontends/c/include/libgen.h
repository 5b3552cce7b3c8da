#pragma once
char *dirname(char *path);
char *basename(char *path);

#ifndef JPEER_CLI_BUILD_VERSION_H
#define JPEER_CLI_BUILD_VERSION_H
/*
 * Which build this program is. cmake/build_version.cmake writes the text at each build.
 */

/* As `jpeer --version` prints it, without a newline: "jpeer 0.9.0 (commit 0123456789ab, RelWithDebInfo)". */
extern const char build_version[];

#endif

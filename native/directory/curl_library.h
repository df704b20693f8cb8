#ifndef JPEER_DIRECTORY_CURL_LIBRARY_H
#define JPEER_DIRECTORY_CURL_LIBRARY_H
/*
 * libcurl, loaded when it is first needed, so that neither the peer nor the client library is linked to it.
 *
 * These are the few functions and numbers of curl's stable ABI that native/directory uses. They are declared
 * here, so that a build needs no header of curl; tests/unit/directory/test_curl_library.c compares them with
 * curl's own headers. Any thread.
 */
#include "base/status.h"

#include <stddef.h>

struct curl_easy;  /* CURL */
struct curl_multi; /* CURLM */
struct curl_list;  /* struct curl_slist */

/* CURLoption, with the numbers of curl/curl.h */
enum curl_option {
  CURL_WRITE_DATA = 10001,
  CURL_URL = 10002,
  CURL_PROXY = 10004,
  CURL_ERROR_BUFFER = 10010,
  CURL_POST_FIELDS = 10015,
  CURL_HTTP_HEADER = 10023,
  CURL_CERT_FILE = 10025,
  CURL_CA_FILE = 10065,
  CURL_KEY_FILE = 10087,
  CURL_WRITE_FUNCTION = 20011,
  CURL_SOCKET_FUNCTION = 20148,
  CURL_POST_FIELD_SIZE = 60,
  CURL_HTTP_VERSION_WANTED = 84,
  CURL_NO_SIGNAL = 99,
  CURL_TIMEOUT = 155, /* in milliseconds */
  CURL_TCP_KEEP_ALIVE = 213,
  CURL_TCP_KEEP_IDLE = 214,
  CURL_TCP_KEEP_INTERVAL = 215,
  CURL_QUICK_END = 322
};

enum {
  CURL_ERROR_TEXT_SIZE = 256,    /* CURL_ERROR_SIZE */
  CURL_HTTP_1_1 = 2,             /* CURL_HTTP_VERSION_1_1 */
  CURL_RESPONSE_CODE = 0x200002, /* CURLINFO_RESPONSE_CODE */
  CURL_REQUEST_SIZE = 0x20000c,  /* CURLINFO_REQUEST_SIZE */
  CURL_INIT_ALL = 3,             /* CURL_GLOBAL_DEFAULT */
  CURL_MESSAGE_DONE = 1,         /* CURLMSG_DONE */
  CURL_WAIT_READABLE = 1,        /* CURL_WAIT_POLLIN */
  CURL_CODE_OK = 0,              /* CURLE_OK */
  CURL_CODE_NO_HTTP = 1,         /* CURLE_UNSUPPORTED_PROTOCOL: of an answer that is not HTTP */
  CURL_CODE_FAILED = 2,          /* CURLE_FAILED_INIT */
  CURL_CODE_TLS = 35,            /* CURLE_SSL_CONNECT_ERROR */
  CURL_CODE_NO_ANSWER = 52,      /* CURLE_GOT_NOTHING */
  CURL_CODE_RECEIVE = 56,        /* CURLE_RECV_ERROR */
  /* faults of certificates and their files, which no second attempt mends */
  CURL_CODE_OWN_CERTIFICATE = 58,  /* CURLE_SSL_CERTPROBLEM */
  CURL_CODE_PEER_CERTIFICATE = 60, /* CURLE_PEER_FAILED_VERIFICATION */
  CURL_CODE_CA_FILE = 77           /* CURLE_SSL_CACERT_BADFILE */
};

struct curl_message { /* CURLMsg */
  int kind;
  struct curl_easy *easy;
  union {
    void *unused;
    int code;
  } data;
};

struct curl_wait { /* struct curl_waitfd */
  int fd;
  short events;
  short revents;
};

struct curl_library {
  int (*global_init)(long flags);
  struct curl_easy *(*easy_init)(void);
  void (*easy_cleanup)(struct curl_easy *easy);
  void (*easy_reset)(struct curl_easy *easy);
  int (*easy_setopt)(struct curl_easy *easy, int option, ...);
  int (*easy_getinfo)(struct curl_easy *easy, int info, ...);
  const char *(*easy_strerror)(int code);
  struct curl_list *(*slist_append)(struct curl_list *list, const char *text);
  void (*slist_free_all)(struct curl_list *list);
  struct curl_multi *(*multi_init)(void);
  int (*multi_cleanup)(struct curl_multi *multi);
  int (*multi_add_handle)(struct curl_multi *multi, struct curl_easy *easy);
  int (*multi_remove_handle)(struct curl_multi *multi, struct curl_easy *easy);
  int (*multi_perform)(struct curl_multi *multi, int *running);
  int (*multi_poll)(struct curl_multi *multi, struct curl_wait *more, unsigned count, int timeout_ms,
                    int *ready);
  struct curl_message *(*multi_info_read)(struct curl_multi *multi, int *left);
};

/* Loads the library once in a process; it remains loaded. JP_NOT_FOUND: there is none, or it is older than
 * 7.66; the text says what to install. */
enum jp_status curl_library_load(const struct curl_library **library, struct jp_error *error) JP_MUST_CHECK;

#endif

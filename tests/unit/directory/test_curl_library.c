#include "directory/curl_library.h"

#include "tests/unit/unit.h"

/* curl's headers are not needed for a build, so they may be absent; then nothing is compared. */
#if __has_include(<curl/curl.h>)
#include <curl/curl.h>

UNIT_TEST(the_declarations_are_those_of_curl)
{
  static const struct {
    long own;
    long curls;
  } pairs[] = {
    {CURL_WRITE_DATA, CURLOPT_WRITEDATA},
    {CURL_URL, CURLOPT_URL},
    {CURL_PROXY, CURLOPT_PROXY},
    {CURL_ERROR_BUFFER, CURLOPT_ERRORBUFFER},
    {CURL_POST_FIELDS, CURLOPT_POSTFIELDS},
    {CURL_HTTP_HEADER, CURLOPT_HTTPHEADER},
    {CURL_CERT_FILE, CURLOPT_SSLCERT},
    {CURL_CA_FILE, CURLOPT_CAINFO},
    {CURL_KEY_FILE, CURLOPT_SSLKEY},
    {CURL_WRITE_FUNCTION, CURLOPT_WRITEFUNCTION},
    {CURL_SOCKET_FUNCTION, CURLOPT_SOCKOPTFUNCTION},
    {CURL_POST_FIELD_SIZE, CURLOPT_POSTFIELDSIZE},
    {CURL_HTTP_VERSION_WANTED, CURLOPT_HTTP_VERSION},
    {CURL_NO_SIGNAL, CURLOPT_NOSIGNAL},
    {CURL_TCP_KEEP_ALIVE, CURLOPT_TCP_KEEPALIVE},
    {CURL_TCP_KEEP_IDLE, CURLOPT_TCP_KEEPIDLE},
    {CURL_TCP_KEEP_INTERVAL, CURLOPT_TCP_KEEPINTVL},
#if LIBCURL_VERSION_NUM >= 0x075700
    {CURL_QUICK_END, CURLOPT_QUICK_EXIT},
#endif
    {CURL_ERROR_TEXT_SIZE, CURL_ERROR_SIZE},
    {CURL_HTTP_1_1, CURL_HTTP_VERSION_1_1},
    {CURL_RESPONSE_CODE, CURLINFO_RESPONSE_CODE},
    {CURL_REQUEST_SIZE, CURLINFO_REQUEST_SIZE},
    {CURL_INIT_ALL, CURL_GLOBAL_DEFAULT},
    {CURL_MESSAGE_DONE, CURLMSG_DONE},
    {CURL_WAIT_READABLE, CURL_WAIT_POLLIN},
    {CURL_CODE_OK, CURLE_OK},
    {CURL_CODE_NO_HTTP, CURLE_UNSUPPORTED_PROTOCOL},
    {CURL_CODE_FAILED, CURLE_FAILED_INIT},
    {CURL_CODE_TLS, CURLE_SSL_CONNECT_ERROR},
    {CURL_CODE_NO_ANSWER, CURLE_GOT_NOTHING},
    {CURL_CODE_RECEIVE, CURLE_RECV_ERROR},
    {CURL_CODE_OWN_CERTIFICATE, CURLE_SSL_CERTPROBLEM},
    {CURL_CODE_PEER_CERTIFICATE, CURLE_PEER_FAILED_VERIFICATION},
    {CURL_CODE_CA_FILE, CURLE_SSL_CACERT_BADFILE}
  };
  for (size_t i = 0; i < COUNT_OF(pairs); i++)
    assert_int_equal(pairs[i].own, pairs[i].curls);
  assert_int_equal(sizeof(struct curl_message), sizeof(CURLMsg));
  assert_int_equal(offsetof(struct curl_message, data), offsetof(CURLMsg, data));
  assert_int_equal(sizeof(struct curl_wait), sizeof(struct curl_waitfd));
  assert_int_equal(offsetof(struct curl_wait, events), offsetof(struct curl_waitfd, events));
}
#endif

UNIT_TEST(loads_the_library_once_or_says_what_to_install)
{
  const struct curl_library *first;
  const struct curl_library *second;
  struct jp_error error = {0};
  enum jp_status status = curl_library_load(&first, &error);
  assert_int_equal(curl_library_load(&second, NULL), status);
  if (status != JP_OK)
    assert_non_null(strstr(error.text, "libcurl4"));
  else
    assert_true(first == second && first->multi_poll != NULL);
}

UNIT_MAIN

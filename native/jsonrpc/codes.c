#include "jsonrpc/codes.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { CODE_1_1_MIN = 100, CODE_1_1_MAX = 999 };

static const struct {
  int code;
  const char *message;
} messages[] = {
    {JSONRPC_PARSE_ERROR, "Parse error"},
    {JSONRPC_INVALID_REQUEST, "Invalid Request"},
    {JSONRPC_METHOD_NOT_FOUND, "Method not found"},
    {JSONRPC_INVALID_PARAMS, "Invalid params"},
    {JSONRPC_INTERNAL_ERROR, "Internal error"},
    {JSONRPC_SERVER_ERROR, "Server error"},
    {JSONRPC_ACCESS_DENIED, "RPC access denied"},
    {JSONRPC_1_1_SERVER_ERROR, "Server error"},
    {JSONRPC_1_1_PARSE_ERROR, "Parse error"},
    {JSONRPC_1_1_BAD_CALL, "Bad call"},
    {JSONRPC_1_1_SERVICE_ERROR, "Service error"},
    {JSONRPC_1_1_PROCEDURE_NOT_FOUND, "Procedure not found"},
    {JSONRPC_1_1_ACCESS_DENIED, "Access denied"},
    {JSONRPC_1_1_NOT_BY_GET, "Procedure not callable by HTTP GET"},
};

/* docs/jsonrpc-1.1.md, "Answers" */
static const struct {
  int code;
  int code_1_1;
} counterparts[] = {
    {JSONRPC_PARSE_ERROR, JSONRPC_1_1_PARSE_ERROR},
    {JSONRPC_INVALID_REQUEST, JSONRPC_1_1_BAD_CALL},
    {JSONRPC_INVALID_PARAMS, JSONRPC_1_1_BAD_CALL},
    {JSONRPC_METHOD_NOT_FOUND, JSONRPC_1_1_PROCEDURE_NOT_FOUND},
    {JSONRPC_INTERNAL_ERROR, JSONRPC_1_1_SERVER_ERROR},
    {JSONRPC_SERVER_ERROR, JSONRPC_1_1_SERVICE_ERROR},
    {JSONRPC_ACCESS_DENIED, JSONRPC_1_1_ACCESS_DENIED},
};

const char *jsonrpc_code_message(int code)
{
  for (size_t i = 0; i < COUNT_OF(messages); i++) {
    if (messages[i].code == code)
      return messages[i].message;
  }
  return "Server error";
}

int jsonrpc_code_1_1(int code)
{
  if (code >= CODE_1_1_MIN && code <= CODE_1_1_MAX)
    return code;
  for (size_t i = 0; i < COUNT_OF(counterparts); i++) {
    if (counterparts[i].code == code)
      return counterparts[i].code_1_1;
  }
  return JSONRPC_1_1_SERVICE_ERROR; /* a handler's own code: the procedure itself failed */
}

const char *jsonrpc_message_1_1(int code, const char *message)
{
  bool is_standard = strcmp(message, jsonrpc_code_message(code)) == 0;
  return is_standard ? jsonrpc_code_message(jsonrpc_code_1_1(code)) : message;
}

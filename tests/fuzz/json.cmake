jpeer_fuzz_target(json_fuzz json_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/json jpeer_json PkgConfig::JANSSON)
target_sources(json_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit/json/oracle.c)

jpeer_fuzz_target(number_fuzz number_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/number jpeer_base)
jpeer_fuzz_target(jsonrpc_fuzz jsonrpc_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/jsonrpc jpeer_jsonrpc)
jpeer_fuzz_target(library_fuzz library_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/jsonrpc jpeer_jsonrpc)
jpeer_fuzz_target(piece_fuzz piece_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/piece jpeer_op)
jpeer_fuzz_target(type_fuzz type_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/type jpeer_op)

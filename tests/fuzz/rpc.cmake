jpeer_fuzz_target(batch_fill_fuzz batch_fill_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/batch_fill jpeer_rpc)
jpeer_fuzz_target(identifier_fuzz identifier_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/identifier jpeer_rpc)
jpeer_fuzz_target(rpc_params_fuzz rpc_params_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/rpc_params jpeer_rpc)
target_sources(rpc_params_fuzz PRIVATE touch_operation.c)
jpeer_fuzz_target(callback_messages_fuzz callback_messages_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/callback_messages
  jpeer_rpc)
target_sources(callback_messages_fuzz PRIVATE touch_operation.c ${PROJECT_SOURCE_DIR}/tests/unit/rpc/stub_callbacks.c
  ${PROJECT_SOURCE_DIR}/tests/unit/rpc/stub_jni.c)
jpeer_fuzz_target(binary_params_fuzz binary_params_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/binary_params jpeer_rpc)
target_sources(binary_params_fuzz PRIVATE touch_operation.c ${PROJECT_SOURCE_DIR}/tests/unit/rpc/stub_callbacks.c ${PROJECT_SOURCE_DIR}/tests/unit/rpc/stub_jni.c)
if(JPEER_FASTPATH)
  jpeer_fuzz_target(shape_cache_fuzz shape_cache_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/shape_cache jpeer_rpc
    PkgConfig::CMOCKA)
  target_sources(shape_cache_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit/rpc/fastpath/read_twice.c
    ${PROJECT_SOURCE_DIR}/tests/unit/rpc/stub_callbacks.c ${PROJECT_SOURCE_DIR}/tests/unit/rpc/stub_jni.c ${PROJECT_SOURCE_DIR}/tests/unit/rpc/show_operation.c)
  jpeer_fuzz_target(known_messages_fuzz known_messages_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/known_messages
    jpeer_rpc PkgConfig::CMOCKA)
  foreach(source colfer/known_bench.c colfer/sample_request.c lent_worker.c service_bench.c stub_callbacks.c stub_jni.c)
    target_sources(known_messages_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit/rpc/${source})
  endforeach()
  target_include_directories(known_messages_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit/rpc)
endif()

jpeer_fuzz_target(json_batch_fuzz json_batch_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/json_batch rpc_stubs)
jpeer_fuzz_target(identifier_fuzz identifier_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/identifier jpeer_rpc)
jpeer_fuzz_target(rpc_params_fuzz rpc_params_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/rpc_params jpeer_rpc
  fuzz_touch_operation)
jpeer_fuzz_target(json_callbacks_fuzz json_callbacks_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/json_callbacks
  rpc_stubs fuzz_touch_operation)
jpeer_fuzz_target(binary_params_fuzz binary_params_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/binary_params rpc_stubs
  fuzz_touch_operation)
if(JPEER_FASTPATH)
  jpeer_fuzz_target(shape_cache_fuzz shape_cache_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/shape_cache
    rpc_read_twice rpc_stubs)
  jpeer_fuzz_target(known_messages_fuzz known_messages_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/known_messages
    rpc_known_bench rpc_service_bench rpc_stubs)
endif()

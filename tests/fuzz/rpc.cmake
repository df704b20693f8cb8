jpeer_fuzz_target(rpc_params_fuzz rpc_params_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/rpc_params jpeer_rpc)
jpeer_fuzz_target(repeats_fuzz repeats_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/repeats jpeer_rpc PkgConfig::CMOCKA)
target_sources(repeats_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit/rpc/read_twice.c
  ${PROJECT_SOURCE_DIR}/tests/unit/rpc/show_operation.c)

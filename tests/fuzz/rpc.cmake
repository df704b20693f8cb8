jpeer_fuzz_target(rpc_params_fuzz rpc_params_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/rpc_params jpeer_rpc)

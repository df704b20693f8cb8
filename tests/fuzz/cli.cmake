jpeer_fuzz_target(cli_fuzz cli_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/cli jpeer_options)

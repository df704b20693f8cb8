jpeer_fuzz_target(colfer_fuzz colfer_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/colfer colfer_kinds colfer_print)

jpeer_fuzz_target(colfer_fuzz colfer_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/colfer jpeer_colfer)
target_sources(colfer_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit/colfer/kinds.c)

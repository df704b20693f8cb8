jpeer_fuzz_target(jar_fuzz jar_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/jar jpeer_classfile)

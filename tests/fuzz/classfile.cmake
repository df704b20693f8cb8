jpeer_fuzz_target(classfile_fuzz classfile_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/classfile jpeer_classfile)

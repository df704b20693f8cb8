# Over the class files that tests/unit/classfile compiles.
jpeer_unit_test(test_rpc_meta test_meta.c jpeer_rpc PkgConfig::JANSSON ZLIB::ZLIB)
target_compile_definitions(test_rpc_meta PRIVATE TEST_CLASSES="${CMAKE_BINARY_DIR}/tests/classfile-classes")
add_dependencies(test_rpc_meta classfile_test_classes)

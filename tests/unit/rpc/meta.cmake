# Over the class files that tests/unit/classfile compiles.
jpeer_unit_test(test_meta meta/test_meta.c jpeer_rpc PkgConfig::JANSSON PkgConfig::ZIP ZLIB::ZLIB)
target_compile_definitions(test_meta PRIVATE TEST_CLASSES="${CMAKE_BINARY_DIR}/tests/classfile-classes"
  CLASSES="${CMAKE_CURRENT_SOURCE_DIR}/meta/classes.txt")
add_dependencies(test_meta classfile_test_classes)
jpeer_unit_test(test_document_cache meta/test_document_cache.c jpeer_rpc)
jpeer_unit_test(test_meta_json meta/test_meta_json.c jpeer_rpc)
jpeer_unit_test(test_meta_query meta/test_meta_query.c jpeer_rpc)

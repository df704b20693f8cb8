# Over the class files that tests/unit/classfile compiles.
jpeer_unit_test(test_meta meta/test_meta.c jpeer_rpc PkgConfig::JANSSON PkgConfig::ZIP ZLIB::ZLIB)
target_compile_definitions(test_meta PRIVATE TEST_CLASSES="${CMAKE_BINARY_DIR}/tests/classfile-classes")
add_dependencies(test_meta classfile_test_classes)
jpeer_unit_test(test_document_cache meta/test_document_cache.c jpeer_rpc)
jpeer_unit_test(test_meta_prefixes meta/test_meta_prefixes.c jpeer_rpc)

add_executable(test_meta_jdk meta/test_meta_jdk.c)
target_link_libraries(test_meta_jdk PRIVATE jpeer_flags PkgConfig::CMOCKA jpeer_rpc PkgConfig::JANSSON)
get_filename_component(javac ${Java_JAVAC_EXECUTABLE} REALPATH)
get_filename_component(bin ${javac} DIRECTORY)
get_filename_component(java_home ${bin} DIRECTORY)
add_test(NAME test_meta_jdk COMMAND test_meta_jdk ${java_home})
set_tests_properties(test_meta_jdk PROPERTIES LABELS unit TIMEOUT 120)

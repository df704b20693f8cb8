# rpc/fastpath over the stub of jni.
foreach(name test_shape_cache test_whole_number_path)
  jpeer_unit_test(${name} fastpath/${name}.c rpc_stubs)
endforeach()
target_compile_definitions(test_shape_cache PRIVATE SHAPE_CASES="${CMAKE_CURRENT_SOURCE_DIR}/fastpath/shapes.txt")
add_shared_objects(rpc_read_twice fastpath/read_twice.c)
target_link_libraries(test_shape_cache PRIVATE rpc_read_twice)
target_link_libraries(test_whole_number_path PRIVATE rpc_service_bench)

# Known binary messages.
add_shared_objects(rpc_known_bench fastpath/known_bench.c)
jpeer_unit_test(test_known_messages fastpath/test_known_messages.c rpc_known_bench rpc_service_bench rpc_stubs)

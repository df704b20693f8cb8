# rpc/fastpath over the stub of jni.
foreach(name test_shape_cache test_whole_number_path)
  jpeer_unit_test(${name} fastpath/${name}.c jpeer_rpc)
  target_sources(${name} PRIVATE stub_callbacks.c stub_jni.c)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()
target_sources(test_shape_cache PRIVATE fastpath/read_twice.c show_operation.c)
target_sources(test_whole_number_path PRIVATE lent_worker.c service_bench.c)

# Known binary messages.
jpeer_unit_test(test_known_messages colfer/test_known_messages.c jpeer_rpc)
target_sources(test_known_messages PRIVATE colfer/known_bench.c colfer/sample_request.c lent_worker.c service_bench.c stub_callbacks.c
  stub_jni.c)
target_include_directories(test_known_messages PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/colfer)

# The service of binary messages over the stub of jni.
foreach(part codec serve without_worker)
  jpeer_unit_test(test_${part}_colfer colfer/test_${part}.c jpeer_rpc)
  target_sources(test_${part}_colfer PRIVATE colfer/messages_bench.c lent_worker.c service_bench.c stub_callbacks.c stub_jni.c)
  target_include_directories(test_${part}_colfer PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/colfer)
endforeach()

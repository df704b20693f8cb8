# Callbacks over the stubs of jni, with connections of the tests' own.
foreach(part callback_calls callback_order callback_threads callbacks)
  set(name test_${part}_rpc)
  jpeer_unit_test(${name} callbacks/test_${part}.c jpeer_rpc)
  target_sources(${name} PRIVATE callback_bench.c lent_worker.c service_bench.c stub_callbacks.c stub_jni.c)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()

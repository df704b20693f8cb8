# Callbacks over the stubs of jni, with connections of the tests' own.
foreach(part callback_call callback_incoming callback_threads callbacks)
  set(name test_${part}_rpc)
  jpeer_unit_test(${name} callbacks/test_${part}.c rpc_callback_bench rpc_service_bench rpc_stubs)
endforeach()
target_compile_definitions(test_callbacks_rpc PRIVATE FAILED_REQUESTS="${CMAKE_CURRENT_SOURCE_DIR}/callbacks/failed_requests.txt")

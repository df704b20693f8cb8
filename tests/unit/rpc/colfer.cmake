# The service of binary messages over the stub of jni.
foreach(part codec serve without_worker)
  jpeer_unit_test(test_${part}_colfer colfer/test_${part}.c rpc_messages_bench rpc_service_bench rpc_stubs)
endforeach()

# The service of binary messages over the stub of jni.
jpeer_unit_test(test_binary_codec colfer/test_binary_codec.c colfer_print rpc_service_bench rpc_stubs)

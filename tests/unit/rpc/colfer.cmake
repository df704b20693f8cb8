# The service of binary messages over the stub of jni.
jpeer_unit_test(test_serve_colfer colfer/test_serve.c rpc_service_bench rpc_stubs)

jpeer_fuzz_target(http_fuzz http_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/http jpeer_net)
jpeer_fuzz_target(ws_frames_fuzz ws_frames_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/ws_frames jpeer_net)
jpeer_fuzz_target(http_query_fuzz http_query_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/http_query jpeer_net)

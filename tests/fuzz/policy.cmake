foreach(parser policy_yaml policy_pattern policy_cover)
  jpeer_fuzz_target(${parser}_fuzz ${parser}_fuzz.c ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${parser} jpeer_policy)
endforeach()

# One interface target carries the flags that every target of the project is built with.
add_library(jpeer_flags INTERFACE)
target_compile_options(jpeer_flags INTERFACE -Wall -Wextra $<$<BOOL:${JPEER_WERROR}>:-Werror>)
# Clang, which the fuzz preset builds with, also warns where the last members of an initializer are left out to be zero.
target_compile_options(jpeer_flags INTERFACE $<$<C_COMPILER_ID:Clang>:-Wno-missing-field-initializers>)
# And where only assertions use a table, in a build without them.
target_compile_options(jpeer_flags INTERFACE $<$<C_COMPILER_ID:Clang>:-Wno-unneeded-internal-declaration>)
target_compile_definitions(jpeer_flags INTERFACE _GNU_SOURCE)
target_link_libraries(jpeer_flags INTERFACE Threads::Threads)
include(CheckCCompilerFlag)
# The tests' own code, not what they test: ON in tests/CMakeLists.txt for all folders below.
define_property(TARGET PROPERTY JPEER_TEST_CODE INHERITED)
set(is_test_code $<BOOL:$<TARGET_PROPERTY:JPEER_TEST_CODE>>)
# Nothing depends on its speed, and optimised it would take as long to compile as the peer.
target_compile_options(jpeer_flags INTERFACE "$<$<AND:$<CONFIG:RelWithDebInfo>,${is_test_code}>:-O0;-g1>")
# Three hundred programs are linked, in half the time by gold, which is a part of Debian's binutils. What is installed or
# measured is linked as ever.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold JPEER_HAS_GOLD)
if(JPEER_HAS_GOLD AND NOT JPEER_FUZZ)
  target_link_options(jpeer_flags INTERFACE $<${is_test_code}:-fuse-ld=gold>)
endif()
# Hardening, for builds that optimise and are not instrumented: FORTIFY_SOURCE needs optimisation, and hides from the
# sanitizers what it checks itself. No -z ibt or shstk: HotSpot's code keeps to neither, and so the process cannot.
include(CheckPIESupported)
check_pie_supported()
add_library(jpeer_hardening INTERFACE)
set(JPEER_HARDENED OFF)
if(JPEER_HARDEN AND NOT JPEER_SANITIZE AND NOT JPEER_FUZZ AND NOT JPEER_COVERAGE AND NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  set(JPEER_HARDENED ON)
  target_compile_options(jpeer_hardening INTERFACE "$<$<NOT:${is_test_code}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER JPEER_HAS${flag} has)
    check_c_compiler_flag(${flag} ${has})
    if(${has})
      target_compile_options(jpeer_hardening INTERFACE $<$<NOT:${is_test_code}>:${flag}>)
    endif()
  endforeach()
  target_link_options(jpeer_hardening INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
target_link_libraries(jpeer_flags INTERFACE jpeer_hardening)
# In a package nothing says in which folder it was built (docs/packages.md). The map that fits and comes last counts. It is
# linked without debug information, which LTO gives random names, because the build ID is a sum of all.
if(JPEER_PACKAGE)
  target_compile_options(jpeer_hardening INTERFACE
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
  target_link_options(jpeer_hardening INTERFACE -Wl,--strip-all)
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON) # the other one is the folder, and leaves its length and its part of the build ID
  set(CMAKE_C_ARCHIVE_CREATE "<CMAKE_AR> qcD <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_C_ARCHIVE_FINISH "<CMAKE_RANLIB> -D <TARGET>")
endif()
# What the sources that a call goes through are compiled with beside the others' flags.
set(jpeer_call_flags "")
# GCC clears structs of 100 to 500 bytes with a string instruction, which takes longer to begin than such a struct takes
# to be written. A pair of new and delete_object takes 12 % less time without (653 ns instead of 743).
set(strategy -mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign)
check_c_compiler_flag(${strategy} JPEER_HAS_MEMSET_STRATEGY)
if(JPEER_HAS_MEMSET_STRATEGY)
  list(APPEND jpeer_call_flags $<$<NOT:$<CONFIG:Debug>>:${strategy}>)
endif()
# They carry GCC's intermediate form beside their machine code. Only programs that jpeer_optimise_whole names are compiled
# again from it, as one; all else, a hundred tests above all, is linked from the machine code.
if(JPEER_LTO AND CMAKE_C_COMPILER_ID STREQUAL GNU)
  check_c_compiler_flag("-flto=auto -ffat-lto-objects" JPEER_HAS_FAT_LTO)
  if(JPEER_HAS_FAT_LTO)
    list(APPEND jpeer_call_flags -flto=auto -ffat-lto-objects)
    set(as_one -flto=auto -Wall -Wextra $<$<BOOL:${JPEER_WERROR}>:-Werror>)
    target_link_options(jpeer_flags INTERFACE
      "$<IF:$<BOOL:$<TARGET_PROPERTY:JPEER_OPTIMISE_WHOLE>>,${as_one},-fno-lto>")
  endif()
endif()
if(JPEER_SANITIZE)
  target_compile_options(jpeer_flags INTERFACE -fsanitize=${JPEER_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(jpeer_flags INTERFACE -fsanitize=${JPEER_SANITIZE})
endif()
if(JPEER_FUZZ)
  target_compile_options(jpeer_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(JPEER_COVERAGE)
  target_compile_options(jpeer_flags INTERFACE --coverage)
  target_link_options(jpeer_flags INTERFACE --coverage)
endif()

# jpeer_library(NAME SOURCES ... COLD ... LINKS ...): one static library a folder, with an explicit source list. SOURCES
# are compiled with jpeer_call_flags. COLD are sources that no call goes through: they go without, and linking a program
# that is optimised as one takes two thirds of the time.
# Headers are included by folder: "base/text.h", "policy/policy.h", "jni/jvm.h".
function(jpeer_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;COLD;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_COLD})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/native ${PROJECT_SOURCE_DIR})
  if(ARG_SOURCES)
    set_property(SOURCE ${ARG_SOURCES} APPEND PROPERTY COMPILE_OPTIONS ${jpeer_call_flags})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINKS} PRIVATE jpeer_flags ${ARG_PRIVATE_LINKS})
endfunction()

# jpeer_optimise_whole(NAME): a program that is installed or measured; with JPEER_LTO it is optimised as one.
function(jpeer_optimise_whole name)
  set_target_properties(${name} PROPERTIES JPEER_OPTIMISE_WHOLE ON)
endfunction()

# jpeer_test_program(NAME FILE LINKS...): a cmocka executable; the caller adds its tests. `ctest -R test_FILE` finds the
# tests of test_FILE.c, which jpeer_check_test_files knows of from here on.
function(jpeer_test_program name source)
  cmake_path(GET source STEM stem)
  if(NOT name MATCHES "^${stem}(_|$)")
    message(FATAL_ERROR "The test ${name} of ${source} has to be named ${stem}, or ${stem}_VARIANT")
  endif()
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE jpeer_flags PkgConfig::CMOCKA ${ARGN})
  set_property(GLOBAL APPEND PROPERTY JPEER_TEST_FILES ${CMAKE_CURRENT_SOURCE_DIR}/${source})
endfunction()

# jpeer_compile_as_product(NAME): a test program with sources of the product, compiled another way than in the product.
function(jpeer_compile_as_product name)
  set_target_properties(${name} PROPERTIES JPEER_TEST_CODE OFF)
endfunction()

# jpeer_check_test_files(FOLDER): each test_*.c in it is built; one that is not would go unnoticed.
function(jpeer_check_test_files folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/test_*.c)
  get_property(built GLOBAL PROPERTY JPEER_TEST_FILES)
  list(REMOVE_ITEM files ${built})
  if(files)
    message(FATAL_ERROR "Nothing builds ${files}")
  endif()
endfunction()

# jpeer_unit_test(NAME FILE LINKS...): one cmocka executable a file, labelled "unit".
function(jpeer_unit_test name source)
  jpeer_test_program(${name} ${source} ${ARGN})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 600)
endfunction()

# jpeer_fuzz_target(NAME SOURCE CORPUS LINKS...): with the fuzz preset a libFuzzer binary; in every
# other build the corpus is replayed through the same entry point as an ordinary test.
function(jpeer_fuzz_target name source corpus)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE jpeer_flags ${ARGN})
  if(JPEER_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_link_libraries(${name} PRIVATE fuzz_replay)
    add_test(NAME ${name} COMMAND ${name} ${corpus})
    set_tests_properties(${name} PROPERTIES LABELS corpus TIMEOUT 600)
  endif()
endfunction()

# Every JVM that the tests are run with. Looked for each time: a JDK that comes later, or goes, counts at once.
file(GLOB jpeer_libjvms ${JPEER_TEST_JVMS}/*/lib/server/libjvm.so)
set(JPEER_TEST_JAVA_HOMES "")
foreach(libjvm ${jpeer_libjvms})
  file(REAL_PATH ${libjvm} libjvm)
  string(REPLACE /lib/server/libjvm.so "" home ${libjvm})
  list(APPEND JPEER_TEST_JAVA_HOMES ${home})
endforeach()
list(REMOVE_DUPLICATES JPEER_TEST_JAVA_HOMES)

# jpeer_jvm_test(NAME FILE LINKS...): a cmocka executable that starts a JVM (tests/unit/jni/with_jvm.h); run with each
# JVM, once as it is and once under -Xcheck:jni, which only prints. Labelled "jvm", the first also "plain", the second
# "checked".
function(jpeer_jvm_test name source)
  jpeer_test_program(${name} ${source} jpeer_with_jvm ${ARGN})
  target_include_directories(${name} PRIVATE ${JPEER_JNI_DIR} ${JPEER_JNI_DIR}/linux)
  foreach(home ${JPEER_TEST_JAVA_HOMES})
    get_filename_component(jdk ${home} NAME)
    jpeer_add_jvm_test(${name}_${jdk} "JAVA_HOME=${home}" ${name})
    set_tests_properties(${name}_${jdk} PROPERTIES LABELS "jvm;plain")
    jpeer_add_jvm_test(${name}_${jdk}_checked "JAVA_HOME=${home};JPEER_TEST_JVM_OPTIONS=-Xcheck:jni" ${name})
    set_tests_properties(${name}_${jdk}_checked PROPERTIES LABELS "jvm;checked" FAIL_REGULAR_EXPRESSION
      "WARNING in native method;FATAL ERROR in native method;WARNING: JNI local refs")
  endforeach()
endfunction()

# jpeer_add_jvm_test(TEST ENVIRONMENT COMMAND...): HotSpot handles SIGSEGV itself and keeps what it never frees.
function(jpeer_add_jvm_test test environment)
  add_test(NAME ${test} COMMAND ${ARGN})
  set_tests_properties(${test} PROPERTIES LABELS jvm TIMEOUT 600 ENVIRONMENT
    "${environment};ASAN_OPTIONS=handle_segv=0:intercept_tls_get_addr=0;LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp")
endfunction()

# llhttp comes as C sources (package node-llhttp) that keep their own warnings.
add_library(jpeer_llhttp STATIC
  ${LLHTTP_SOURCE_DIR}/api.c ${LLHTTP_SOURCE_DIR}/http.c ${LLHTTP_SOURCE_DIR}/llhttp.c)
target_include_directories(jpeer_llhttp SYSTEM PUBLIC ${LLHTTP_INCLUDE_DIR})
target_compile_definitions(jpeer_llhttp PUBLIC LLHTTP_STRICT_MODE=1)
target_compile_options(jpeer_llhttp PRIVATE -w)
target_link_libraries(jpeer_llhttp PRIVATE jpeer_hardening)
if(JPEER_SANITIZE)
  target_compile_options(jpeer_llhttp PRIVATE -fsanitize=${JPEER_SANITIZE} -fno-omit-frame-pointer)
endif()
if(JPEER_FUZZ)
  target_compile_options(jpeer_llhttp PRIVATE -fsanitize=fuzzer-no-link)
endif()

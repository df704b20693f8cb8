# Debian 12's packages; nothing is downloaded.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto SSL)
find_path(LLHTTP_INCLUDE_DIR llhttp.h PATHS /usr/share/include PATH_SUFFIXES llhttp REQUIRED)
find_path(LLHTTP_SOURCE_DIR llhttp.c PATHS /usr/share/llhttp REQUIRED)

# Makes the tables of value classes.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
set(jpeer_value_classes ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/value-classes)
set(jpeer_value_classes_from ${PROJECT_SOURCE_DIR}/tools/value-classes ${PROJECT_SOURCE_DIR}/native/op/value_classes.json)

if(NOT JPEER_PEER)
  return()
endif()

find_package(ZLIB REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(ZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
if(JPEER_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

# jni.h and jvmti.h come from the JDK; libjvm itself is found when the program runs.
find_package(Java 17 REQUIRED COMPONENTS Development)
# They end before the JVM's second compiler pays off: without it they take half the processor time.
set(jpeer_short_run -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC)
set(jpeer_javac ${Java_JAVAC_EXECUTABLE} ${jpeer_short_run} --release 17)
set(jpeer_jar ${Java_JAR_EXECUTABLE} ${jpeer_short_run})
# Jars of two builds are equal, where this jar can do that (JDK 17.0.3).
execute_process(COMMAND ${jpeer_jar} --help OUTPUT_VARIABLE help)
if(help MATCHES "--date=")
  list(APPEND jpeer_jar --date=2000-01-01T00:00:00Z)
endif()
find_path(JPEER_JNI_DIR jni.h
  HINTS $ENV{JAVA_HOME}/include
  PATHS /usr/lib/jvm/java-17-openjdk-amd64/include /usr/lib/jvm/java-17-openjdk-arm64/include
        /usr/lib/jvm/default-java/include
  NO_CMAKE_FIND_ROOT_PATH # the same for all processors
  REQUIRED)

# Debian's libwslay-dev has no pkg-config file.
find_path(WSLAY_INCLUDE_DIR wslay/wslay.h REQUIRED)
find_library(WSLAY_LIBRARY wslay REQUIRED)

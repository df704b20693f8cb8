# libjpeer-jsonrpc as others install it: made of the very objects that the peer serves through.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(jsonrpc_version 1.0) # JP_JSONRPC_VERSION_MAJOR and _MINOR of jpeer/jsonrpc.h
set(jsonrpc_objects
  $<TARGET_OBJECTS:jpeer_jsonrpc>
  $<TARGET_OBJECTS:jpeer_json>
  $<FILTER:$<TARGET_OBJECTS:jpeer_base>,INCLUDE,/\(arena|buffer|decimal|number|number_format|status|text|text_wide\)\\.c\\.o$>)

add_library(jpeer-jsonrpc SHARED ${jsonrpc_objects})
add_dependencies(jpeer-jsonrpc jpeer_jsonrpc jpeer_json jpeer_base)
set_target_properties(jpeer-jsonrpc PROPERTIES
  LINKER_LANGUAGE C VERSION ${jsonrpc_version} SOVERSION 1 EXPORT_NAME jsonrpc)
target_link_libraries(jpeer-jsonrpc PRIVATE jpeer_flags m)
# A file that the list above lacks fails the build, not the programs of others. A sanitizer's own names stay undefined.
if(NOT JPEER_SANITIZE AND NOT JPEER_FUZZ)
  target_link_options(jpeer-jsonrpc PRIVATE -Wl,--no-undefined)
endif()

# In the archive the internal names are made local, so that they cannot meet those of a program, and nothing stays that
# one compiler alone can read (JPEER_LTO).
set(merged ${CMAKE_CURRENT_BINARY_DIR}/jpeer-jsonrpc-merged.o)
add_custom_command(OUTPUT ${merged}
  COMMAND ${CMAKE_LINKER} -r -o ${merged} ${jsonrpc_objects}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_* ${merged}
  DEPENDS jpeer_jsonrpc jpeer_json jpeer_base ${jsonrpc_objects}
  COMMAND_EXPAND_LISTS VERBATIM)
add_library(jpeer-jsonrpc-static STATIC ${merged})
set_target_properties(jpeer-jsonrpc-static PROPERTIES
  LINKER_LANGUAGE C OUTPUT_NAME jpeer-jsonrpc EXPORT_NAME jsonrpc-static)
target_link_libraries(jpeer-jsonrpc-static INTERFACE m)

add_library(jpeer-jsonrpc-jansson SHARED jansson/jansson_codec.c)
set_target_properties(jpeer-jsonrpc-jansson PROPERTIES
  VERSION ${jsonrpc_version} SOVERSION 1 EXPORT_NAME jsonrpc-jansson
  INSTALL_RPATH $ORIGIN) # libjpeer-jsonrpc lies beside it
target_include_directories(jpeer-jsonrpc-jansson PRIVATE ${PROJECT_SOURCE_DIR}/native)
target_link_libraries(jpeer-jsonrpc-jansson PUBLIC jpeer-jsonrpc PRIVATE jpeer_flags PkgConfig::JANSSON)

foreach(target jpeer-jsonrpc jpeer-jsonrpc-static)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/native/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

set(jsonrpc_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/jpeer-jsonrpc)
install(TARGETS jpeer-jsonrpc jpeer-jsonrpc-static jpeer-jsonrpc-jansson
  EXPORT jpeer-jsonrpc-targets COMPONENT jsonrpc)
install(EXPORT jpeer-jsonrpc-targets NAMESPACE jpeer:: DESTINATION ${jsonrpc_package_dir} COMPONENT jsonrpc)
install(FILES ${PROJECT_SOURCE_DIR}/native/include/jpeer/jsonrpc.h
              ${PROJECT_SOURCE_DIR}/native/include/jpeer/jsonrpc_jansson.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/jpeer COMPONENT jsonrpc)

configure_package_config_file(jpeer-jsonrpc-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/jpeer-jsonrpc-config.cmake INSTALL_DESTINATION ${jsonrpc_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/jpeer-jsonrpc-config-version.cmake
  VERSION ${jsonrpc_version} COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/jpeer-jsonrpc-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/jpeer-jsonrpc-config-version.cmake
  DESTINATION ${jsonrpc_package_dir} COMPONENT jsonrpc)

# The way from the folder of the .pc files up to the prefix, so that the tree can be moved.
file(RELATIVE_PATH jsonrpc_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(package jpeer-jsonrpc jpeer-jsonrpc-jansson)
  configure_file(${package}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT jsonrpc)
endforeach()

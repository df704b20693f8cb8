# libjpeer-client as others install it. It needs libjpeer-jsonrpc, whose functions read the JSON of answers.
set(client_version 1.0) # JP_CLIENT_VERSION_MAJOR and _MINOR of jpeer/client.h
set(client_parts
  jpeer_client jpeer_client_common jpeer_client_messages jpeer_colfer jpeer_json jpeer_llhttp jpeer_ring
  jpeer_base)
set(client_objects
  $<TARGET_OBJECTS:jpeer_client>
  $<TARGET_OBJECTS:jpeer_client_common>
  $<TARGET_OBJECTS:jpeer_client_messages>
  $<FILTER:$<TARGET_OBJECTS:jpeer_colfer>,EXCLUDE,/print\\.c\\.o$>
  $<TARGET_OBJECTS:jpeer_json>
  $<TARGET_OBJECTS:jpeer_llhttp>
  $<TARGET_OBJECTS:jpeer_ring>
  $<FILTER:$<TARGET_OBJECTS:jpeer_base>,INCLUDE,/\(arena|base64|base64_wide|buffer|chunk_line|decimal|http_chars|number|number_format|primitives|processors|spin_policy|stack|status|text|text_wide|uuid\)\\.c\\.o$>)
set(client_symbols ${CMAKE_CURRENT_SOURCE_DIR}/jpeer-client.map)

add_library(jpeer-client SHARED ${client_objects})
add_dependencies(jpeer-client ${client_parts})
set_target_properties(jpeer-client PROPERTIES
  LINKER_LANGUAGE C VERSION ${client_version} SOVERSION 1 EXPORT_NAME client LINK_DEPENDS ${client_symbols}
  INSTALL_RPATH $ORIGIN) # libjpeer-jsonrpc lies beside it
target_link_options(jpeer-client PRIVATE -Wl,--version-script,${client_symbols})
target_link_libraries(jpeer-client PUBLIC jpeer-jsonrpc PRIVATE jpeer_flags OpenSSL::Crypto m)
# A file that the list above lacks fails the build, not the programs of others. A sanitizer's own names stay undefined.
if(NOT JPEER_SANITIZE AND NOT JPEER_FUZZ)
  target_link_options(jpeer-client PRIVATE -Wl,--no-undefined)
endif()

if(JPEER_CLIENT_ZEROMQ)
  target_link_libraries(jpeer-client PRIVATE PkgConfig::ZMQ)
  set(client_zmq zmq)
  set(client_zmq_flag -lzmq)
endif()

# In the archive the internal names are made local: native/jsonrpc/install.cmake says why.
set(merged ${CMAKE_CURRENT_BINARY_DIR}/jpeer-client-merged.o)
add_custom_command(OUTPUT ${merged}
  COMMAND ${CMAKE_LINKER} -r -o ${merged} ${client_objects}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_* ${merged}
  DEPENDS ${client_parts} ${client_objects}
  COMMAND_EXPAND_LISTS VERBATIM)
add_library(jpeer-client-static STATIC ${merged})
set_target_properties(jpeer-client-static PROPERTIES
  LINKER_LANGUAGE C OUTPUT_NAME jpeer-client EXPORT_NAME client-static)
# By name: others may have these libraries without the packages that describe them to CMake and pkg-config, which with the
# shared library nobody needs.
target_link_libraries(jpeer-client-static INTERFACE
  jpeer-jsonrpc-static ${client_zmq} $<BUILD_INTERFACE:OpenSSL::Crypto> $<INSTALL_INTERFACE:crypto> Threads::Threads m)

add_library(jpeer-client-jansson SHARED jansson/client_trees.c)
set_target_properties(jpeer-client-jansson PROPERTIES
  VERSION ${client_version} SOVERSION 1 EXPORT_NAME client-jansson INSTALL_RPATH $ORIGIN LINK_DEPENDS ${client_symbols})
target_include_directories(jpeer-client-jansson PRIVATE ${PROJECT_SOURCE_DIR}/native)
target_link_options(jpeer-client-jansson PRIVATE -Wl,--version-script,${client_symbols})
target_link_libraries(jpeer-client-jansson PUBLIC jpeer-client PRIVATE jpeer_flags PkgConfig::JANSSON)

foreach(target jpeer-client jpeer-client-static)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/native/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

set(client_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/jpeer-client)
install(TARGETS jpeer-client jpeer-client-static jpeer-client-jansson EXPORT jpeer-client-targets COMPONENT client)
install(EXPORT jpeer-client-targets NAMESPACE jpeer:: DESTINATION ${client_package_dir} COMPONENT client)
install(FILES ${PROJECT_SOURCE_DIR}/native/include/jpeer/client.h ${PROJECT_SOURCE_DIR}/native/include/jpeer/request.h
              ${PROJECT_SOURCE_DIR}/native/include/jpeer/client.hpp
              ${PROJECT_SOURCE_DIR}/native/include/jpeer/client_jansson.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/jpeer COMPONENT client)

configure_package_config_file(jpeer-client-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/jpeer-client-config.cmake INSTALL_DESTINATION ${client_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/jpeer-client-config-version.cmake
  VERSION ${client_version} COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/jpeer-client-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/jpeer-client-config-version.cmake
  DESTINATION ${client_package_dir} COMPONENT client)

# The way from the folder of the .pc files up to the prefix, so that the tree can be moved.
file(RELATIVE_PATH client_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(package jpeer-client jpeer-client-jansson)
  configure_file(${package}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT client)
endforeach()

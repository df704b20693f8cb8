# What CPack needs to know.
set(JPEER_MAINTAINER "jpeer maintainers <maintainers@jpeer.example>" CACHE STRING "Who answers for a package")
set(CPACK_PACKAGE_NAME jpeer)
set(CPACK_PACKAGE_VENDOR jpeer)
set(CPACK_PACKAGE_CONTACT "${JPEER_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)

set(epoch "$ENV{SOURCE_DATE_EPOCH}")
if(epoch STREQUAL "")
  execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} log -1 --format=%ct OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT epoch MATCHES "^[0-9]+$")
  message(FATAL_ERROR "A package needs a time: set SOURCE_DATE_EPOCH, because these sources are in no repository")
endif()
configure_file(package_time.cmake.in package_time.cmake @ONLY)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_BINARY_DIR}/package_time.cmake)

if(JPEER_PACKAGE STREQUAL "tar")
  # Not TGZ, which has the files in the order of the folders of this machine.
  set(CPACK_GENERATOR External)
  set(CPACK_MONOLITHIC_INSTALL ON)
  set(CPACK_EXTERNAL_ENABLE_STAGING ON)
  set(CPACK_EXTERNAL_PACKAGE_SCRIPT ${CMAKE_CURRENT_SOURCE_DIR}/archive.cmake)
  set(CPACK_PACKAGE_FILE_NAME jpeer-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
  include(CPack)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON) # for files that are not below /usr
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(deb_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/native/client ${PROJECT_BINARY_DIR}/native/jsonrpc)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_COMPONENTS_ALL "")

# As Debian's policy wants them: both change logs, and no time in a compressed file.
execute_process(COMMAND date -u -R -d @${epoch} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE)
configure_file(debian/changelog.in changelog.Debian @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/CHANGELOG.md changelog COPYONLY)
foreach(file changelog changelog.Debian)
  execute_process(COMMAND gzip -9nkf ${file} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# jpeer_deb(NAME SECTION COMPONENTS names SUMMARY text TEXT text [DEPENDS text] [RECOMMENDS text] [CONTROL files]): a
# package of these components. The files of packaging/debian that begin with its name are its scripts and what lintian
# is to accept. This is a macro, because CPack reads variables.
macro(jpeer_deb package section)
  cmake_parse_arguments(ARG "" "SUMMARY;TEXT;DEPENDS;RECOMMENDS" "COMPONENTS" ${ARGN})
  list(GET ARG_COMPONENTS 0 first)
  set(only_in_all "")
  if(first STREQUAL "python3")
    set(only_in_all EXCLUDE_FROM_ALL)
  endif()
  foreach(component ${ARG_COMPONENTS})
    string(TOUPPER ${component} upper)
    set(CPACK_COMPONENT_${upper}_GROUP ${package})
    list(APPEND CPACK_COMPONENTS_ALL ${component})
  endforeach()
  string(TOUPPER ${package} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARG_DEPENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${ARG_RECOMMENDS}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${ARG_SUMMARY}\n${ARG_TEXT}")
  set(notices ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz ${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian.gz debian/copyright)
  install(FILES ${notices} DESTINATION ${docs}/${package} COMPONENT ${first} ${only_in_all})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/debian/${package}.lintian-overrides)
    install(FILES debian/${package}.lintian-overrides DESTINATION share/lintian/overrides RENAME ${package}
      COMPONENT ${first} ${only_in_all})
  endif()
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "")
  foreach(script conffiles postinst prerm postrm shlibs triggers)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/debian/${package}.${script})
      configure_file(debian/${package}.${script} ${package}/${script} @ONLY)
      list(APPEND CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/${package}/${script})
    endif()
  endforeach()
endmacro()

jpeer_deb(jpeer java COMPONENTS program
  SUMMARY "JVM whose objects other programs can call"
  TEXT "jpeer runs a Java application or Java libraries in a process of their
own, the peer. Programs in Python, C, C++ and any language that speaks
JSON-RPC construct objects there, call methods, read and write fields,
and give Java functions to call, over shared memory, Unix sockets,
WebSocket, HTTP and ZeroMQ. A policy says which members clients may use.
This package has the program, its manual, and a template unit of systemd
for peers that are services."
  DEPENDS "default-jre-headless | java17-runtime-headless" RECOMMENDS "libedit2, libcurl4")
set(library_text "With libjpeer-client, programs in C and C++ call the Java objects of a
peer, and implement Java interfaces by callbacks. It needs no JVM.
libjpeer-jsonrpc has servers and clients of JSON-RPC 2.0 over any
transport, without Java.")
jpeer_deb(libjpeer${JPEER_ABI} libs COMPONENTS client-runtime jsonrpc-runtime
  SUMMARY "libraries that call Java objects of a jpeer peer" TEXT "${library_text}")
jpeer_deb(libjpeer-dev libdevel COMPONENTS client jsonrpc
  SUMMARY "libraries that call Java objects of a jpeer peer (development files)"
  TEXT "${library_text}
This package has the headers, the archives, and packages for CMake and
pkg-config."
  DEPENDS "libjpeer${JPEER_ABI} (= ${deb_version}), libjansson-dev, libssl-dev, libzmq3-dev")
if(TARGET jpeer_python)
  jpeer_deb(python3-jpeer python COMPONENTS python3
    SUMMARY "Java classes, objects and lambdas from Python"
    TEXT "The module jpeer starts a JVM beside a Python program, or connects to a
peer that runs, and shows Java classes as Python classes: objects,
collections, exceptions, fields, arrays, and functions that Java calls."
    DEPENDS "python3 (>= 3.11), jpeer (= ${deb_version})")
endif()
# Services have their settings here.
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/jpeer COMPONENT program)
# Debian has compressed manuals.
install(CODE "
  file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1/*.1\")
  execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
include(CPack)

# A library as others install it, made of the very objects that the peer or the tests use.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# jpeer_find_libraries_in(NAME FOLDERS): where an installed file looks for libraries, beside the system's folders. A .deb
# package's are in these. In the relocatable archive the libraries of other projects look there, too (RPATH, not RUNPATH).
function(jpeer_find_libraries_in name)
  if(JPEER_PACKAGE STREQUAL "deb")
    return()
  endif()
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "${ARGN}")
  if(JPEER_PACKAGE STREQUAL "tar")
    target_link_options(${name} PRIVATE -Wl,--disable-new-dtags)
  endif()
endfunction()

# The relocatable archive brings what Debian 12 does not have everywhere (packaging/CMakeLists.txt).
set(jpeer_bundle jpeer)
set(jpeer_library_rpath $ORIGIN)
if(JPEER_PACKAGE STREQUAL "tar")
  list(APPEND jpeer_library_rpath $ORIGIN/${jpeer_bundle})
endif()

# jpeer_install_library(PART PARTS targets OBJECTS objects HEADERS files JANSSON file.c [SYMBOLS file.map])
# makes and installs, as the components PART-runtime (what programs need that were built with it) and PART (all else):
# - jpeer-PART, shared, of the objects of PARTS; SYMBOLS says which names it exports, else all that are not hidden are;
# - jpeer-PART-static, the same as an archive;
# - jpeer-PART-jansson, shared, of JANSSON: the part for programs that use jansson;
# - the HEADERS of jpeer/, the packages of CMake (jpeer-PART-config.cmake.in) and pkg-config (jpeer-PART.pc.in and
#   jpeer-PART-jansson.pc.in, which know @PROJECT_VERSION@ and @pc_prefix@).
# The caller links jpeer-PART and jpeer-PART-static with what they need.
function(jpeer_install_library part)
  cmake_parse_arguments(ARG "" "JANSSON;SYMBOLS" "PARTS;OBJECTS;HEADERS" ${ARGN})
  set(name jpeer-${part})

  # Programs ask the header which interface they are built with.
  list(GET ARG_HEADERS 0 header)
  file(STRINGS ${PROJECT_SOURCE_DIR}/native/include/jpeer/${header} major REGEX "^#define JP_[A-Z]+_VERSION_MAJOR ${JPEER_ABI}$")
  if(major STREQUAL "")
    message(FATAL_ERROR "The number JPEER_ABI is ${JPEER_ABI}, and jpeer/${header} has another one")
  endif()

  add_library(${name} SHARED ${ARG_OBJECTS})
  add_dependencies(${name} ${ARG_PARTS})
  target_link_libraries(${name} PRIVATE jpeer_flags m)
  # A file that OBJECTS lacks fails the build, not the programs of others. A sanitizer's own names stay undefined.
  if(NOT JPEER_SANITIZE AND NOT JPEER_FUZZ)
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()

  # In the archive the internal names are made local, so that they cannot meet those of a program, and nothing stays that
  # one compiler alone can read (JPEER_LTO).
  set(merged ${CMAKE_CURRENT_BINARY_DIR}/${name}-merged.o)
  add_custom_command(OUTPUT ${merged}
    COMMAND ${CMAKE_LINKER} -r -o ${merged} ${ARG_OBJECTS}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_*
            $<$<BOOL:${JPEER_PACKAGE}>:--strip-debug> ${merged}
    DEPENDS ${ARG_PARTS} ${ARG_OBJECTS}
    COMMAND_EXPAND_LISTS VERBATIM)
  add_library(${name}-static STATIC ${merged})
  set_target_properties(${name}-static PROPERTIES OUTPUT_NAME ${name})

  add_library(${name}-jansson SHARED ${ARG_JANSSON})
  target_include_directories(${name}-jansson PRIVATE ${PROJECT_SOURCE_DIR}/native)
  target_link_libraries(${name}-jansson PUBLIC ${name} PRIVATE jpeer_flags PkgConfig::JANSSON)

  foreach(variant "" -static -jansson)
    set_target_properties(${name}${variant} PROPERTIES LINKER_LANGUAGE C EXPORT_NAME ${part}${variant})
  endforeach()
  foreach(shared ${name} ${name}-jansson)
    set_target_properties(${shared} PROPERTIES VERSION ${JPEER_ABI}.${PROJECT_VERSION} SOVERSION ${JPEER_ABI})
    if(ARG_SYMBOLS)
      set_target_properties(${shared} PROPERTIES LINK_DEPENDS ${ARG_SYMBOLS})
      target_link_options(${shared} PRIVATE -Wl,--version-script,${ARG_SYMBOLS})
    endif()
  endforeach()
  foreach(shared ${name} ${name}-jansson)
    jpeer_find_libraries_in(${shared} ${jpeer_library_rpath}) # jpeer-PART lies beside its part for jansson
  endforeach()
  foreach(target ${name} ${name}-static)
    target_include_directories(${target} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/native/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(TARGETS ${name} ${name}-static ${name}-jansson EXPORT ${name}-targets
    LIBRARY COMPONENT ${part}-runtime NAMELINK_COMPONENT ${part} ARCHIVE COMPONENT ${part})
  install(EXPORT ${name}-targets NAMESPACE jpeer:: DESTINATION ${package_dir} COMPONENT ${part})
  list(TRANSFORM ARG_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/native/include/jpeer/)
  install(FILES ${ARG_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/jpeer COMPONENT ${part})

  configure_package_config_file(${name}-config.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/${name}-config.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/${name}-config-version.cmake
    VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/${name}-config-version.cmake
    DESTINATION ${package_dir} COMPONENT ${part})

  # The way from the folder of the .pc files up to the prefix, so that the tree can be moved.
  file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  foreach(package ${name} ${name}-jansson)
    configure_file(${package}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc
      DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${part})
  endforeach()
endfunction()

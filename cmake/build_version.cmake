# cmake -DOUTPUT=FILE.c -DVERSION=M.N.P -DTYPE=TEXT -DCOMMIT=ID -DROOT=DIR -P build_version.cmake
# Writes the text that native/cli/build_version.h declares, if it differs from the file's. COMMIT is for sources outside a
# repository; if it is empty, git is asked about ROOT.
set(commit "${COMMIT}")
if(commit STREQUAL "")
  execute_process(COMMAND git -C ${ROOT} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    set(commit unknown)
  else()
    execute_process(COMMAND git --no-optional-locks -C ${ROOT} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT changes STREQUAL "")
      string(APPEND commit " with changes")
    endif()
  endif()
endif()
set(text "#include \"cli/build_version.h\"\n\nconst char build_version[] = \"jpeer ${VERSION} (commit ${commit}, ${TYPE})\";\n")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()

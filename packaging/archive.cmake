# Run by CPack: makes the relocatable archive of the installed files, with the same bytes on each machine.
set(archive ${CPACK_PACKAGE_DIRECTORY}/${CPACK_PACKAGE_FILE_NAME}.tar.gz)
cmake_path(GET CPACK_TEMPORARY_DIRECTORY PARENT_PATH parent)
cmake_path(GET CPACK_TEMPORARY_DIRECTORY FILENAME folder)
execute_process(
  COMMAND tar --create --sort=name --format=ustar --mtime=@$ENV{SOURCE_DATE_EPOCH} --owner=root:0 --group=root:0
          --mode=u+rw,go+r-w --directory=${parent} ${folder}
  COMMAND gzip -9n
  OUTPUT_FILE ${archive} COMMAND_ERROR_IS_FATAL ANY)
set(CPACK_EXTERNAL_BUILT_PACKAGES ${archive})

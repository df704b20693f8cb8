# cmake -DOUTPUT=FILE.c -DINPUT=FILE -DHEADER=FOLDER/FILE.h -DNAME=IDENTIFIER -P embed_text.cmake
# Writes a file as the C array NAME with its NAME_length, which HEADER declares.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT}
  "#include \"${HEADER}\"\n\nconst char ${NAME}[] = {${bytes}};\nconst size_t ${NAME}_length = sizeof ${NAME};\n")

# cmake -DOUTPUT=FILE.c -DROOT=DIR -DCLASSES=a/B.class,a/C.class -P embed_classes.cmake
# Writes the class files as C arrays: the table that jni/start/peer_classes.h declares.
string(REPLACE "," ";" classes "${CLASSES}")
set(arrays "")
set(rows "")
set(number 0)
foreach(class ${classes})
  file(READ ${ROOT}/${class} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "\\.class$" "" name "${class}")
  string(APPEND arrays "static const unsigned char class_${number}[] = {${bytes}};\n")
  string(APPEND rows "    {\"${name}\", class_${number}, sizeof class_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT}
  "#include \"jni/start/peer_classes.h\"\n\n${arrays}\n"
  "const struct jvm_peer_class jvm_peer_classes[] = {\n${rows}    {0},\n};\n")

# Writes OUT, a C file with the table policy_presets (one entry for each name in NAMES, from FOLDER/NAME.yaml) and the
# text policy_dangerous_yaml (from DANGEROUS).
# Run with cmake -P, so that the build needs no other tool.
string(REPLACE "," ";" names "${NAMES}")
list(JOIN names ", " listed)
set(arrays "")
set(entries "")
foreach(name IN LISTS names)
  file(READ ${FOLDER}/${name}.yaml bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(MAKE_C_IDENTIFIER ${name} identifier)
  string(APPEND arrays "static const unsigned char ${identifier}[] = {${bytes}};\n")
  string(APPEND entries "    {\"${name}\", ${identifier}, sizeof ${identifier}},\n")
endforeach()
file(READ ${DANGEROUS} dangerous HEX)
string(REGEX REPLACE "(..)" "0x\\1," dangerous "${dangerous}")
file(WRITE ${OUT} "#include \"policy/presets.h\"\n\n${arrays}
const struct policy_preset policy_presets[] = {\n${entries}};
const size_t policy_preset_count = sizeof policy_presets / sizeof policy_presets[0];
const char policy_preset_names[] = \"${listed}\";
const unsigned char policy_dangerous_yaml[] = {${dangerous}};
const size_t policy_dangerous_size = sizeof policy_dangerous_yaml;\n")

#include "tests/unit/colfer/kinds.h"

static const struct colfer_member members[] = {
    {"truth", COLFER_BOOL, offsetof(struct kinds, truth), NULL},
    {"byte", COLFER_UINT8, offsetof(struct kinds, byte), NULL},
    {"number", COLFER_UINT32, offsetof(struct kinds, number), NULL},
    {"large", COLFER_UINT64, offsetof(struct kinds, large), NULL},
    {"whole", COLFER_INT32, offsetof(struct kinds, whole), NULL},
    {"wide", COLFER_INT64, offsetof(struct kinds, wide), NULL},
    {"text", COLFER_TEXT, offsetof(struct kinds, text), NULL},
    {"binary", COLFER_BINARY, offsetof(struct kinds, binary), NULL},
    {"inner", COLFER_STRUCT, offsetof(struct kinds, inner), &kinds_type},
    {"texts", COLFER_TEXTS, offsetof(struct kinds, texts), NULL},
    {"list", COLFER_STRUCTS, offsetof(struct kinds, list), &kinds_type},
};

const struct colfer_type kinds_type = {"kinds", sizeof(struct kinds), members,
                                       sizeof members / sizeof members[0]};

static struct kinds empty;
static struct kinds with_inner = {.inner = &empty};
static struct kinds pair[] = {{.byte = 7}, {.truth = true}};
static struct text words[] = {TEXT("a"), TEXT(""), TEXT("\xC3\xA9")};

const struct kinds_form kinds_forms[] = {
    {{0}, TEXT("\x7f"), "{}"},
    {{.truth = true}, TEXT("\x00\x7f"), "{truth: true}"},
    {{.byte = 1}, TEXT("\x01\x01\x7f"), "{byte: 1}"},
    {{.byte = 255}, TEXT("\x01\xff\x7f"), "{byte: 255}"},
    {{.number = 1}, TEXT("\x02\x01\x7f"), "{number: 1}"},
    {{.number = 127}, TEXT("\x02\x7f\x7f"), "{number: 127}"},
    {{.number = 128}, TEXT("\x02\x80\x01\x7f"), "{number: 128}"},
    {{.number = (1u << 21) - 1}, TEXT("\x02\xff\xff\x7f\x7f"), "{number: 2097151}"},
    {{.number = 1u << 21}, TEXT("\x82\x00\x20\x00\x00\x7f"), "{number: 2097152}"},
    {{.number = UINT32_MAX}, TEXT("\x82\xff\xff\xff\xff\x7f"), "{number: 4294967295}"},
    {{.large = 300}, TEXT("\x03\xac\x02\x7f"), "{large: 300}"},
    {{.large = (UINT64_C(1) << 49) - 1},
     TEXT("\x03\xff\xff\xff\xff\xff\xff\x7f\x7f"),
     "{large: 562949953421311}"},
    {{.large = UINT64_C(1) << 49},
     TEXT("\x83\x00\x02\x00\x00\x00\x00\x00\x00\x7f"),
     "{large: 562949953421312}"},
    {{.large = UINT64_MAX},
     TEXT("\x83\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
     "{large: 18446744073709551615}"},
    {{.whole = 1}, TEXT("\x04\x01\x7f"), "{whole: 1}"},
    {{.whole = -1}, TEXT("\x84\x01\x7f"), "{whole: -1}"},
    {{.whole = INT32_MAX}, TEXT("\x04\xff\xff\xff\xff\x07\x7f"), "{whole: 2147483647}"},
    {{.whole = INT32_MIN}, TEXT("\x84\x80\x80\x80\x80\x08\x7f"), "{whole: -2147483648}"},
    {{.wide = 128}, TEXT("\x05\x80\x01\x7f"), "{wide: 128}"},
    {{.wide = -128}, TEXT("\x85\x80\x01\x7f"), "{wide: -128}"},
    {{.wide = INT64_MAX},
     TEXT("\x05\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x7f"),
     "{wide: 9223372036854775807}"},
    {{.wide = INT64_MIN},
     TEXT("\x85\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f"),
     "{wide: -9223372036854775808}"},
    {{.text = TEXT("x")}, TEXT("\x06\x01x\x7f"), "{text: \"x\"}"},
    {{.text = TEXT("\xE2\x82\xAC\0")}, TEXT("\x06\x04\xE2\x82\xAC\0\x7f"), "{text: \"\xE2\x82\xAC\\x00\"}"},
    {{.binary = TEXT("\xff\0\x7f")}, TEXT("\x07\x03\xff\0\x7f\x7f"), "{binary: ff007f}"},
    {{.inner = &empty}, TEXT("\x08\x7f\x7f"), "{inner: {}}"},
    {{.inner = &with_inner}, TEXT("\x08\x08\x7f\x7f\x7f"), "{inner: {inner: {}}}"},
    {{.texts = {words, 3}},
     TEXT("\x09\x03\x01"
          "a\x00\x02\xC3\xA9\x7f"),
     "{texts: [\"a\", \"\", \"\xC3\xA9\"]}"},
    {{.list = {pair, 2}}, TEXT("\x0a\x02\x01\x07\x7f\x00\x7f\x7f"), "{list: [{byte: 7}, {truth: true}]}"},
    {{.truth = true, .byte = 2, .whole = 3, .list = {pair, 1}},
     TEXT("\x00\x01\x02\x04\x03\x0a\x01\x01\x07\x7f\x7f"),
     "{truth: true, byte: 2, whole: 3, list: [{byte: 7}]}"},
};
const size_t kinds_form_count = sizeof kinds_forms / sizeof kinds_forms[0];

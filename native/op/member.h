#ifndef JPEER_OP_MEMBER_H
#define JPEER_OP_MEMBER_H
/* The kinds of members that an operation reaches, and the flags of members in class files. Constant data. */

enum op_member_kind {
  OP_MEMBER_METHOD,
  OP_MEMBER_STATIC_METHOD,
  OP_MEMBER_CONSTRUCTOR,
  OP_MEMBER_FIELD,
  OP_MEMBER_STATIC_FIELD
};

enum { /* JVMS 4.5, 4.6 */
       OP_ACC_PUBLIC = 0x0001,
       OP_ACC_PRIVATE = 0x0002,
       OP_ACC_PROTECTED = 0x0004,
       OP_ACC_STATIC = 0x0008,
       OP_ACC_FINAL = 0x0010,
       OP_ACC_VARARGS = 0x0080
};

#endif

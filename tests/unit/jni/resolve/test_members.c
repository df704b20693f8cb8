#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

static struct members_session session;

static void classes(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'com.example.DoesNotExist'}",
       "-32601 java.lang.ClassNotFoundException: com.example.DoesNotExist", NULL},
      {"call", "{'type':'com.example.DoesNotExist[]','method':'x'}",
       "-32601 java.lang.ClassNotFoundException: [Lcom.example.DoesNotExist;", NULL},
      {"new", "{'type':'Calculator'}", "-32601 java.lang.ClassNotFoundException: Calculator", NULL},
      {"new", "{'type':'fixtures.calculator'}", "-32", NULL}, /* what the file system makes of it */
      {"new", "{'type':'int'}", "-32602 Type name is a Java reserved keyword", NULL},
      {"new", "{'type':'java/lang/String'}", "-32602 Invalid characters in type", NULL},
      {"new", "{'type':'fixtures.Outer$Nested'}", "fixtures.Outer$Nested ref", NULL},
      {"new", "{'type':'java.lang.String','args':[{'type':'[C','value':['a','b']}]}", "java.lang.String ab",
       NULL},
      {"new", "{'type':'java.lang.Integer','args':[5]}", "java.lang.Integer 5", NULL},
      {"new", "{'type':'java.util.ArrayList','args':[{'type':'int','value':-1}]}",
       "-32000 java.lang.IllegalArgumentException: Illegal Capacity: -1", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

static void constructors(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'fixtures.Overloads'}", "fixtures.Overloads ref", "o"},
      {"get", "{'type':'fixtures.Overloads','field':'constructed','instance':$o}", "java.lang.String ()",
       NULL},
      {"new", "{'type':'fixtures.Overloads','args':[5]}", "fixtures.Overloads ref", "o"},
      {"get", "{'type':'fixtures.Overloads','field':'constructed','instance':$o}", "java.lang.String (int)",
       NULL},
      {"new", "{'type':'fixtures.Overloads','args':[5000000000]}", "fixtures.Overloads ref", "o"},
      {"get", "{'type':'fixtures.Overloads','field':'constructed','instance':$o}", "java.lang.String (long)",
       NULL},
      {"new", "{'type':'fixtures.Overloads','args':['x']}", "fixtures.Overloads ref", "o"},
      {"get", "{'type':'fixtures.Overloads','field':'constructed','instance':$o}",
       "java.lang.String (String)", NULL},
      {"new", "{'type':'fixtures.Overloads','args':['x', 5]}", "fixtures.Overloads ref", "o"},
      {"get", "{'type':'fixtures.Overloads','field':'constructed','instance':$o}",
       "java.lang.String (Object...)", NULL},
      {"new", "{'type':'fixtures.Members','args':[{'type':'String','value':'p'}]}", "fixtures.Members ref",
       "m"},
      {"get", "{'type':'fixtures.Members','field':'publicField','instance':$m}",
       "java.lang.String private constructor p", NULL},
      {"new", "{'type':'fixtures.User'}",
       "-32601 java.lang.NoSuchMethodException: No matching constructor found: fixtures.User(); candidates: "
       "fixtures.User(java.lang.String, int)",
       NULL},
      {"new", "{'type':'fixtures.AbstractShape','args':['x']}",
       "-32000 java.lang.InstantiationException: fixtures.AbstractShape", NULL},
      {"new", "{'type':'fixtures.Shape'}",
       "-32601 java.lang.NoSuchMethodException: No matching constructor found", NULL},
      {"new", "{'type':'fixtures.Color'}",
       "-32601 java.lang.NoSuchMethodException: No matching constructor found", NULL},
      {"new", "{'type':'fixtures.Color','args':['RED',0]}",
       "-32601 java.lang.NoSuchMethodException: No matching constructor found", NULL},
      {"new", "{'type':'fixtures.Throwables$FailsToConstruct'}",
       "-32000 java.lang.IllegalStateException: constructor failed", NULL},
      {"new", "{'type':'fixtures.Outer'}", "fixtures.Outer ref", "outer"},
      {"new", "{'type':'fixtures.Outer$Inner','args':[{'ref':$outer}]}", "fixtures.Outer$Inner ref", "inner"},
      {"call", "{'type':'fixtures.Outer$Inner','method':'depth','instance':$inner}", "int 2", NULL},
      {"new", "{'type':'java.lang.Class'}", "-32601 java.lang.NoSuchMethodException: No matching constructor",
       NULL},
      {"new", "{'type':'jpeer.members.Finals$Pair','args':[1,2]}", "jpeer.members.Finals$Pair ref", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

static void arrays(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'int[]','args':[3]}", "[I [0,0,0] ref", "ints"},
      {"get", "{'type':'int[]','field':'length','instance':$ints}", "int 3", NULL},
      {"get", "{'type':'[I','field':'length','instance':$ints}", "int 3", NULL},
      {"put", "{'type':'int[]','field':'length','instance':$ints,'value':5}",
       "-32000 java.lang.IllegalAccessException: [I.length", NULL},
      {"call", "{'type':'int[]','method':'clone','instance':$ints}", "[I [0,0,0] ref", NULL},
      {"get", "{'type':'int[]','field':'length'}", "-32602 'length' is an instance member", NULL},
      {"new", "{'type':'int[]','args':[{'type':'int','value':2}]}", "[I [0,0] ref", NULL},
      {"new", "{'type':'int[]','args':[1,2,3]}", "[I [1,2,3] ref", NULL},
      {"new", "{'type':'int[]'}", "[I [] ref", NULL},
      {"new", "{'type':'int[]','args':[{'type':'int[]','value':[7,8]}]}", "[I [7,8] ref", NULL},
      {"new", "{'type':'int[]','args':[-1]}", "-32000 java.lang.NegativeArraySizeException: -1", NULL},
      {"new", "{'type':'long[]','args':[2147483647]}", "-32000 java.lang.OutOfMemoryError", NULL},
      {"new", "{'type':'int[]','args':[1,'x']}", "-32602 argument 1: \"x\"", NULL},
      {"new", "{'type':'int[][]','args':[2]}", "[[I ref", "grid"},
      {"new", "{'type':'int[][]','args':[[1,2],[3]]}", "[[I ref", NULL},
      {"new", "{'type':'java.lang.String[]','args':['a','b']}", "[Ljava.lang.String; [\"a\",\"b\"] ref",
       NULL},
      {"new", "{'type':'java.lang.String[]','args':[{'type':'String[]','value':['a']}]}",
       "[Ljava.lang.String; [\"a\"] ref", NULL},
      {"new", "{'type':'int[][]','args':[{'type':'int[]','value':[1]}]}", "[[I ref", "row"},
      {"get", "{'type':'int[][]','field':'length','instance':$row}", "int 1", NULL},
      {"new", "{'type':'int[][]','args':[{'type':'int[][]','value':[[1],[2]]}]}", "[[I ref", "row"},
      {"get", "{'type':'int[][]','field':'length','instance':$row}", "int 2", NULL},
      {"new", "{'type':'java.lang.Object[]','args':[{'type':'int[]','value':[1]}]}",
       "[Ljava.lang.Object; ref", NULL},
      {"new", "{'type':'java.lang.String[]','args':[2]}", "[Ljava.lang.String; [null,null] ref", NULL},
      {"new", "{'type':'java.lang.Integer[]','args':[1,null]}", "[Ljava.lang.Integer; [1,null] ref", NULL},
      {"new", "{'type':'fixtures.User[]','args':[2]}", "[Lfixtures.User; ref", "users"},
      {"get", "{'type':'java.lang.Object[]','field':'length','instance':$users}", "int 2", NULL},
      {"call", "{'type':'java.util.Arrays','method':'toString','args':[{'ref':$ints}]}",
       "java.lang.String [0, 0, 0]", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

static void pieces_of_arrays(void **state)
{
  (void)state;
#define GET_PIECE(type, array, piece, wanted)                                                                \
  {                                                                                                          \
    "get", "{'type':'" type "','field':'" piece "','instance':$" array "}", wanted, NULL                     \
  }
#define PUT_PIECE(type, array, piece, value, wanted)                                                         \
  {                                                                                                          \
    "put", "{'type':'" type "','field':'" piece "','instance':$" array ",'value':" value "}", wanted, NULL   \
  }
#define OUT_OF_BOUNDS "-32000 java.lang.ArrayIndexOutOfBoundsException: "
  static const struct members_case made[] = {
      {"new", "{'type':'long[]','args':[1,2,3]}", "[J [1,2,3] ref", "longs"},
      {"new", "{'type':'fixtures.Color[]','args':[2]}", "[Lfixtures.Color; ref", "colors"},
      {"new", "{'type':'int[][]','args':[[1],[2,3]]}", "[[I ref", "nested"},
  };
  static const struct members_case cases[] = {
      GET_PIECE("long[]", "longs", "[0]", "long 1"),
      PUT_PIECE("long[]", "longs", "[1]", "7", "void"),
      PUT_PIECE("long[]", "longs", "[2]", "{'type':'int','value':8}", "void"),
      GET_PIECE("long[]", "longs", "[-1]", "long 8"),
      GET_PIECE("long[]", "longs", "[:]", "[J [1,7,8] ref"),
      GET_PIECE("long[]", "longs", "[1:1]", "[J [] ref"),
      GET_PIECE("long[]", "longs", "[3]", OUT_OF_BOUNDS "Index 3 out of bounds for length 3"),
      GET_PIECE("long[]", "longs", "[:4]", OUT_OF_BOUNDS "Range [:4] out of bounds for length 3"),
      PUT_PIECE("long[]", "longs", "[-4]", "7", OUT_OF_BOUNDS "Index -4 out of bounds for length 3"),
      PUT_PIECE("long[]", "longs", "[0]", "1.5", "-32602 value: 1.5"),
      PUT_PIECE("long[]", "longs", "[0]", "'x'", "-32602 value: "),
      PUT_PIECE("long[]", "longs", "[0]", "null", "-32602 value: null: a primitive cannot be null"),
      GET_PIECE("int[]", "longs", "[0]", "-32602 The object with objRef "),
      PUT_PIECE("fixtures.Color[]", "colors", "[0]", "'GREEN'", "void"),
      GET_PIECE("fixtures.Color[]", "colors", "[0]", "fixtures.Color$1 GREEN ref"),
      GET_PIECE("fixtures.Color[]", "colors", "[1]", "fixtures.Color null"),
      GET_PIECE("java.lang.Enum[]", "colors", "[1]", "java.lang.Enum null"),
      PUT_PIECE("java.lang.Object[]", "colors", "[1]", "'x'", "-32000 java.lang.ArrayStoreException"),
      GET_PIECE("java.lang.Object[]", "colors", "[0:1]", "[Lfixtures.Color; ref"),
      GET_PIECE("int[][]", "nested", "[1]", "[I [2,3] ref"),
      PUT_PIECE("int[][]", "nested", "[0]", "{'type':'int[]','value':[9]}", "void"),
      PUT_PIECE("int[][]", "nested", "[1]", "{'ref':$longs}", "-32602 value: ref "),
      GET_PIECE("int[][]", "nested", "[0]", "[I [9] ref"),
      GET_PIECE("java.lang.Object", "nested", "[0]",
                "-32601 java.lang.NoSuchFieldException: No field '[0]' found in java.lang.Object"),
      {"get", "{'type':'int[]','field':'[0]'}", "-32602 ", NULL},
  };
  MEMBERS_CHECK(&session, made);
  /* Twice: the second time each is a member that the thread knows. */
  MEMBERS_CHECK(&session, cases);
  MEMBERS_CHECK(&session, cases);
#undef GET_PIECE
#undef PUT_PIECE
#undef OUT_OF_BOUNDS
}

static void receivers_that_are_values(void **state)
{
  (void)state;
#define CALL_ON(type, method, value, wanted)                                                                 \
  {                                                                                                          \
    "call", "{'type':'" type "','method':'" method "','instance':" value "}", wanted, NULL                   \
  }
  static const struct members_case cases[] = {
      CALL_ON("java.lang.String", "length", "{'type':'String','value':'hello'}", "int 5"),
      CALL_ON("java.lang.String", "length", "{'type':'java.lang.String','value':''}", "int 0"),
      CALL_ON("java.lang.CharSequence", "length", "{'type':'java.lang.String','value':'ab'}", "int 2"),
      CALL_ON("java.lang.Integer", "doubleValue", "{'type':'int','value':5}", "double 5.0"),
      CALL_ON("java.lang.Number", "intValue", "{'type':'double','value':5.5}", "int 5"),
      CALL_ON("java.lang.Number", "intValue", "{'type':'long','value':6}", "int 6"),
      CALL_ON("fixtures.Color", "taste", "{'type':'fixtures.Color','value':'GREEN'}",
              "java.lang.String fresh"),
      CALL_ON("fixtures.Color", "taste", "{'type':'fixtures.Color','value':'RED'}", "java.lang.String plain"),
      CALL_ON("java.util.Collection", "size", "{'type':'List','value':[1,[2]]}", "int 2"),
      CALL_ON("java.util.Collection", "size", "{'type':'Set','value':[1,1]}", "int 1"),
      CALL_ON("java.util.Map", "size", "{'type':'Map','value':{'a':1}}", "int 1"),
      CALL_ON("java.lang.Object", "toString", "{'type':'Object','value':5}", "java.lang.String 5"),
      CALL_ON("java.time.LocalDate", "getYear", "{'type':'java.time.LocalDate','value':'2024-02-29'}",
              "int 2024"),
      CALL_ON("java.lang.String", "length", "{'type':'String','value':null}",
              "-32602 instance: null: there is no object"),
      CALL_ON("java.lang.String", "length", "{'type':'int','value':5}",
              "-32602 The instance is of java.lang.Integer, not of java.lang.String"),
      CALL_ON("java.lang.Integer", "intValue", "{'type':'byte','value':300}",
              "-32602 instance: 300: out of range"),
      CALL_ON("java.util.List", "size", "{'type':'List','value':[[1,{'type':'byte','value':300}]]}",
              "-32602 instance[0][1]: 300: out of range"),
      CALL_ON("java.util.List", "size", "{'type':'List','value':[{'ref':99999}]}",
              "-32000 java.lang.NullPointerException: No object found with objRef: 99999"),
      CALL_ON("java.lang.Object", "toString", "{'type':'no.such.Thing','value':5}",
              "-32601 java.lang.ClassNotFoundException: no.such.Thing"),
      CALL_ON("java.lang.Object", "toString", "{'type':'fixtures.User','value':[]}",
              "-32602 instance: an array: cannot become fixtures.User"),
  };
  MEMBERS_CHECK(&session, cases);
  MEMBERS_CHECK(&session, cases);
#undef CALL_ON
}

static void methods(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'fixtures.Calculator'}", "fixtures.Calculator ref", "calc"},
      {"call",
       "{'type':'fixtures.Calculator','method':'add','args':[{'type':'int','value':5},{'type':'int','value':"
       "3}]}",
       "int 8", NULL},
      {"call", "{'type':'fixtures.Calculator','method':'add','args':[5,3],'instance':$calc}", "int 8", NULL},
      {"call", "{'type':'fixtures.Calculator','method':'addLong','args':[5,5000000000]}", "long 5000000005",
       NULL},
      {"call", "{'type':'fixtures.Calculator','method':'addDouble','args':[0.5,1]}", "double 1.5", NULL},
      {"call", "{'type':'fixtures.Calculator','method':'accumulate','args':[0],'instance':$calc}", "int 0",
       NULL},
      {"call", "{'type':'fixtures.Calculator','method':'accumulate','args':[1]}",
       "-32602 'accumulate' is an instance member of fixtures.Calculator", NULL},
      {"call", "{'type':'fixtures.Calculator','method':'add','args':['x']}",
       "-32601 java.lang.NoSuchMethodException: No matching method 'add' found: "
       "fixtures.Calculator.add(java.lang.String); candidates: fixtures.Calculator.add(int, int)",
       NULL},
      {"call", "{'type':'fixtures.Calculator','method':'nothing'}",
       "-32601 java.lang.NoSuchMethodException: No matching method 'nothing' found", NULL},
      {"call", "{'type':'fixtures.Calculator','method':'<init>','instance':$calc}",
       "-32601 java.lang.NoSuchMethodException: No matching method '<init>' found", NULL},
      {"call", "{'type':'fixtures.Calculator','method':'','instance':$calc}", "-32", NULL},
      {"call", "{'type':'fixtures.Calculator','method':'add','instance':99,'args':[1,2]}",
       "-32000 java.lang.NullPointerException: No object found with objRef: 99", NULL},
      {"call", "{'type':'java.lang.String','method':'valueOf','args':[{'ref':99}]}",
       "-32000 java.lang.NullPointerException: No object found with objRef: 99", NULL},
      {"call", "{'type':'fixtures.Members','method':'publicStatic','instance':$calc}",
       "java.lang.String public static", NULL},
      {"new", "{'type':'fixtures.Members'}", "fixtures.Members ref", "m"},
      {"call", "{'type':'fixtures.Members','method':'nothing','instance':$m}", "void", NULL},
      {"call", "{'type':'fixtures.Members','method':'staticNothing'}", "void", NULL},
      {"call", "{'type':'fixtures.Members','method':'protectedMethod','instance':$m}",
       "java.lang.String protected", NULL},
      {"call", "{'type':'fixtures.Members','method':'packageMethod','instance':$m}",
       "java.lang.String package", NULL},
      {"call", "{'type':'fixtures.Members','method':'privateMethod','instance':$m}",
       "java.lang.String private private field", NULL},
      {"call", "{'type':'fixtures.Members','method':'privateStatic'}",
       "java.lang.String private static field", NULL},
      {"call", "{'type':'fixtures.Members','method':'publicMethod','instance':$calc}",
       "-32602 The object with objRef", NULL},
      {"call", "{'type':'java.lang.Math','method':'max','args':[3,4]}", "int 4", NULL},
      {"call", "{'type':'java.lang.Integer','method':'toString','args':[255]}", "java.lang.String 255", NULL},
      {"call", "{'type':'java.lang.Integer','method':'toString','args':[255,16]}", "java.lang.String ff",
       NULL},
      {"call", "{'type':'jpeer.members.Statics','method':'not','args':[true]}", "boolean false", NULL},
      {"call", "{'type':'jpeer.members.Statics','method':'plus','args':[{'type':'byte','value':127}]}",
       "byte -128", NULL},
      {"call", "{'type':'jpeer.members.Statics','method':'plus','args':[{'type':'short','value':7}]}",
       "short 8", NULL},
      {"call",
       "{'type':'jpeer.members.Statics','method':'upper','args':[{'type':'char','value':'\xC3\xA9'}]}",
       "char \xC3\x89", NULL},
      {"call", "{'type':'jpeer.members.Statics','method':'half','args':[3f]}", "float 1.5", NULL},
      {"call", "{'type':'jpeer.members.Statics','method':'half','args':[3d]}", "double 1.5", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

static void inheritance(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'jpeer.members.Lookup$Child'}", "jpeer.members.Lookup$Child ref", "c"},
      {"call", "{'type':'jpeer.members.Lookup$Child','method':'virtual','instance':$c}",
       "java.lang.String Child.virtual", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Base','method':'virtual','instance':$c}",
       "java.lang.String Child.virtual", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Child','method':'kept','instance':$c}",
       "java.lang.String Base.kept Base.secretBase.hiddenBase.both(int)Base.privateStatic", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Child','method':'hidden','instance':$c}",
       "java.lang.String Base.hidden", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Base','method':'hidden','instance':$c}",
       "java.lang.String Base.hidden", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Child','method':'both','instance':$c,'args':[1]}",
       "java.lang.String Child.both(long)", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Base','method':'both','instance':$c,'args':[1]}",
       "java.lang.String Base.both(int)", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Child','method':'privateStatic'}",
       "java.lang.String Base.privateStatic", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Child','method':'statics'}", "java.lang.String Child.statics",
       NULL},
      {"call", "{'type':'jpeer.members.Lookup$Base','method':'statics','instance':$c}",
       "java.lang.String Base.statics", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Left','method':'side','instance':$c}",
       "java.lang.String leftright", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Right','method':'given','instance':$c}",
       "java.lang.String given", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Right','method':'hashCode','instance':$c,'args':[1]}",
       "-32601 java.lang.NoSuchMethodException: No matching method 'hashCode' found", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Left','method':'getClass','instance':$c}",
       "java.lang.Class jpeer.members.Lookup$Child ref", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Left','method':'only'}", "java.lang.String Left.only", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Child','method':'only','instance':$c}",
       "-32601 java.lang.NoSuchMethodException: No matching method 'only' found", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Child','method':'self','instance':$c}",
       "jpeer.members.Lookup$Child ref", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Base','method':'self','instance':$c}",
       "jpeer.members.Lookup$Child ref", NULL},
      {"call", "{'type':'java.lang.Object','method':'equals','instance':$c,'args':[{'ref':$c}]}",
       "boolean true", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Child','method':'asked','instance':$c,'args':[1]}",
       "java.lang.String static int", NULL},
      {"call", "{'type':'jpeer.members.Lookup$Child','method':'asked','args':['x']}", "-32602 'asked'", NULL},
      {"get", "{'type':'jpeer.members.Lookup$Child','field':'name','instance':$c}",
       "java.lang.String Child.name", NULL},
      {"get", "{'type':'jpeer.members.Lookup$Base','field':'name','instance':$c}",
       "java.lang.String Base.name", NULL},
      {"get", "{'type':'jpeer.members.Lookup$Child','field':'secret','instance':$c}",
       "java.lang.String Base.secret", NULL},
      {"get", "{'type':'jpeer.members.Lookup$Child','field':'shared'}", "java.lang.String Base.shared", NULL},
      {"get", "{'type':'jpeer.members.Lookup$Child','field':'SIDE'}", "java.lang.String left", NULL},
      {"get", "{'type':'jpeer.members.Lookup$Child','field':'none'}",
       "-32601 java.lang.NoSuchFieldException: No field 'none' found in jpeer.members.Lookup$Child", NULL},
      {"get", "{'type':'jpeer.members.Lookup$Child','field':'name'}", "-32602 'name' is an instance member",
       NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

static void overloads(void **state)
{
  (void)state;
#define OVERLOAD(method, args, wanted)                                                                       \
  {                                                                                                          \
    "call", "{'type':'fixtures.Overloads','method':'" method "','args':" args "}", wanted, NULL              \
  }
  static const struct members_case cases[] = {
      {"new", "{'type':'java.util.ArrayList'}", "java.util.ArrayList ref", "list"},
      {"new", "{'type':'java.lang.StringBuilder'}", "java.lang.StringBuilder ref", "builder"},
      OVERLOAD("widen", "[5]", "java.lang.String long"),
      OVERLOAD("widen", "[{'type':'Integer','value':5}]", "java.lang.String Integer"),
      OVERLOAD("widen", "[{'type':'short','value':5}]", "java.lang.String long"),
      OVERLOAD("widen", "['x']", "java.lang.String Object"),
      OVERLOAD("box", "[5]", "java.lang.String Integer"),
      OVERLOAD("box", "[5,6]", "java.lang.String int..."),
      OVERLOAD("box", "[]", "java.lang.String int..."),
      OVERLOAD("specific", "['x']", "java.lang.String String"),
      OVERLOAD("specific", "[5]", "java.lang.String Integer"),
      OVERLOAD("specific", "[5l]", "java.lang.String Number"),
      OVERLOAD("specific", "[true]", "java.lang.String Object"),
      OVERLOAD("specific", "[{'ref':$builder}]", "java.lang.String CharSequence"),
      OVERLOAD("specific", "[{'type':'Object','ref':$builder}]", "java.lang.String Object"),
      OVERLOAD("specific", "[{'type':'Object','value':'x'}]", "java.lang.String Object"),
      OVERLOAD("specific", "[{'type':'Number','value':null}]", "java.lang.String Number"),
      OVERLOAD("specific", "[null]",
               "-32601 java.lang.NoSuchMethodException: No matching method 'specific' found: ambiguous for "
               "(null): "),
      OVERLOAD("narrowest", "[5]", "java.lang.String int"),
      OVERLOAD("narrowest", "[5000000000]", "java.lang.String long"),
      OVERLOAD("narrowest", "[5.5]", "java.lang.String double"),
      OVERLOAD("narrowest", "[5f]", "java.lang.String float"),
      OVERLOAD("narrowest", "[{'type':'byte','value':5}]", "java.lang.String byte"),
      OVERLOAD("narrowest", "[{'type':'char','value':'a'}]", "java.lang.String int"),
      OVERLOAD("narrowest", "[{'type':'Short','value':5}]", "java.lang.String short"),
      OVERLOAD("ambiguous", "[null]",
               "-32601 java.lang.NoSuchMethodException: No matching method 'ambiguous' found: ambiguous for "
               "(null): fixtures.Overloads.ambiguous("),
      OVERLOAD("ambiguous", "[{'type':'String','value':null}]", "java.lang.String String"),
      OVERLOAD("crossed", "[5,6]",
               "-32601 java.lang.NoSuchMethodException: No matching method 'crossed' found: ambiguous for "
               "(int, int)"),
      OVERLOAD("crossed", "['x',6]", "java.lang.String Object,Integer"),
      OVERLOAD("collection", "[{'ref':$list}]", "java.lang.String List"),
      OVERLOAD("collection", "[{'type':'Collection','ref':$list}]", "java.lang.String Collection"),
      OVERLOAD("collection", "[[1]]", "java.lang.String List"),
      OVERLOAD("remove", "[{'ref':$list},1]", "java.lang.String int"),
      OVERLOAD("remove", "[{'ref':$list},{'type':'Integer','value':1}]", "java.lang.String Object"),
      OVERLOAD("varargs", "['x']", "int 0"),
      OVERLOAD("varargs", "['x',1,2,3]", "int 3"),
      OVERLOAD("varargs", "['x',{'type':'int[]','value':[1,2]}]", "int 2"),
      OVERLOAD("varargs", "['x',[1,2]]", "int 2"),
      OVERLOAD("varargs", "[]", "-32601 java.lang.NoSuchMethodException: No matching method 'varargs' found"),
      OVERLOAD("join", "['a','b']", "java.lang.String a+b"),
      OVERLOAD("join", "[]", "java.lang.String "),
      OVERLOAD("join", "[null]", "java.lang.String null"),
      OVERLOAD("join", "[{'type':'String[]','value':['a','c']}]", "java.lang.String a+c"),
      OVERLOAD("objects", "[1,'x',{'ref':$list}]", "java.lang.String 3"),
      OVERLOAD("objects", "[{'type':'Object[]','value':[1,2]}]", "java.lang.String 2"),
      OVERLOAD("chars", "[65]", "java.lang.String int"),
      OVERLOAD("chars", "[{'type':'char','value':'A'}]", "java.lang.String char"),
      OVERLOAD("chars", "['A']", "java.lang.String char"),
  };
  MEMBERS_CHECK(&session, cases);
}

static void costs(void **state)
{
  (void)state;
#define COST(method, args, wanted)                                                                           \
  {                                                                                                          \
    "call", "{'type':'jpeer.members.Numbers','method':'" method "','args':" args "}", wanted, NULL           \
  }
  static const struct members_case cases[] = {
      COST("small", "[5]", "java.lang.String short"),
      COST("small", "[200]", "java.lang.String short"),
      COST("small", "[70000]", "-32602 argument 0: 70000: out of range for short (-32768 to 32767)"),
      COST("big", "[12345678901234567890]", "java.lang.String BigInteger"),
      COST("big", "[1.5]", "java.lang.String BigDecimal"),
      COST("big", "[5]", "java.lang.String BigInteger"),
      COST("text", "['A']", "java.lang.String char"),
      COST("text", "['12']", "java.lang.String int"),
      COST("array", "[[1,2]]", "java.lang.String int[]"),
      COST("array", "[['a']]", "java.lang.String String[]"),
      COST("arrays", "[[1,2]]", "java.lang.String int[]"),
      COST("arrays", "[[1,5000000000]]", "java.lang.String long[]"),
      COST("arrays", "[[1,1.5]]", "java.lang.String double[]"),
      COST("arrays", "[[1,'a']]", "java.lang.String Object[]"),
      COST("arrays", "[[]]",
           "-32601 java.lang.NoSuchMethodException: No matching method 'arrays' found: ambiguous"),
      COST("arrays", "[[[1],[]],5]", "java.lang.String int[][]"),
      COST("arrays", "[[[1],[1.5]],5]", "java.lang.String double[][]"),
      COST("arrays", "[[],[]]", "java.lang.String int[][]"),
      COST("crossed", "[[],[]]",
           "-32601 java.lang.NoSuchMethodException: No matching method 'crossed' found: ambiguous"),
      COST("queue", "[[1]]", "java.lang.String LinkedBlockingQueue"),
      COST("sorted", "[{'a':1}]", "java.lang.String ConcurrentSkipListMap"),
      COST("either", "[[1]]",
           "-32601 java.lang.NoSuchMethodException: No matching method 'either' found: ambiguous"),
      COST("either", "[{'a':1}]",
           "-32601 java.lang.NoSuchMethodException: No matching method 'either' found: "),
      COST("many", "[[1]]", "java.lang.String Set"),
      COST("many", "[[1],[2]]", "java.lang.String Object,List"),
      COST("spread", "[1,2,3]", "java.lang.String byte3"),
      COST("spread", "[]", "java.lang.String byte0"),
      COST("wrapped", "[5]", "java.lang.String Long"),
      COST("flag", "[true]", "java.lang.String String true"),
      COST("flag", "[12]", "java.lang.String String 12"),
      COST("onlyByte", "[5]", "java.lang.String byte 5"),
      COST("onlyByte", "[300]", "-32602 argument 0: 300: out of range for byte (-128 to 127)"),
      COST("onlyByte", "[5]", "java.lang.String byte 5"),
      COST("onlyInt", "[5.7]", "-32602 argument 0: 5.7: not an integer for int"),
      COST("onlyInt", "['5']", "java.lang.String int 5"),
      COST("onlyInt", "[null]", "-32602 argument 0: null: a primitive cannot be null for int"),
      COST("onlyInt", "[true]", "-32601 java.lang.NoSuchMethodException: No matching method 'onlyInt' found"),
      COST("onlyInt", "[5l]", "-32601 java.lang.NoSuchMethodException: No matching method 'onlyInt' found"),
      COST("onlyFloat", "[0.1]", "java.lang.String float 0.1"),
      COST("shown", "[null]", "java.lang.String public"),
      COST("shown", "[5]", "java.lang.String public"),
      COST("choose", "[5]", "java.lang.String long"),
      COST("choose", "[5f]", "java.lang.String float"),
      COST("choose", "[5.0]", "java.lang.String double"),
  };
  MEMBERS_CHECK(&session, cases);
}

static void fields(void **state)
{
  (void)state;
#define GET(type, field, wanted)                                                                             \
  {                                                                                                          \
    "get", "{'type':'" type "','field':'" field "'}", wanted, NULL                                           \
  }
#define PUT(type, field, value, wanted)                                                                      \
  {                                                                                                          \
    "put", "{'type':'" type "','field':'" field "','value':" value "}", wanted, NULL                         \
  }
#define GET_ON(type, field, wanted)                                                                          \
  {                                                                                                          \
    "get", "{'type':'" type "','field':'" field "','instance':$on}", wanted, NULL                            \
  }
#define PUT_ON(type, field, value, wanted)                                                                   \
  {                                                                                                          \
    "put", "{'type':'" type "','field':'" field "','instance':$on,'value':" value "}", wanted, NULL          \
  }
#define STATICS "jpeer.members.Statics"
  static const struct members_case cases[] = {
      PUT(STATICS, "z", "false", "void"),
      GET(STATICS, "z", "boolean false"),
      PUT(STATICS, "b", "{'type':'byte','value':-7}", "void"),
      GET(STATICS, "b", "byte -7"),
      PUT(STATICS, "b", "9", "void"),
      GET(STATICS, "b", "byte 9"),
      PUT(STATICS, "b", "300", "-32602 value: 300: out of range for byte"),
      PUT(STATICS, "c", "'x'", "void"),
      GET(STATICS, "c", "char x"),
      PUT(STATICS, "c", "'AB'", "-32602 value: \"AB\": out of range for char (one UTF-16 unit)"),
      PUT(STATICS, "s", "-300", "void"),
      GET(STATICS, "s", "short -300"),
      PUT(STATICS, "i", "{'type':'int','value':2147483647}", "void"),
      GET(STATICS, "i", "int 2147483647"),
      PUT(STATICS, "i", "{'type':'long','value':1}", "-32602 value: 1: long does not become int"),
      PUT(STATICS, "i", "null", "-32602 value: null: a primitive cannot be null"),
      PUT(STATICS, "j", "{'type':'int','value':5}", "void"),
      GET(STATICS, "j", "long 5"),
      PUT(STATICS, "f", "0.1", "void"),
      GET(STATICS, "f", "float 0.1"),
      PUT(STATICS, "d", "1e300", "void"),
      GET(STATICS, "d", "double 1.0E300"),
      PUT(STATICS, "text", "'t\xC3\xA9\xF0\x9F\x98\x80'", "void"),
      GET(STATICS, "text", "java.lang.String t\xC3\xA9\xF0\x9F\x98\x80"),
      PUT(STATICS, "text", "null", "void"),
      GET(STATICS, "text", "java.lang.String null"),
      PUT(STATICS, "text", "{'type':'java.lang.Object','value':'x'}",
          "-32602 value: \"x\": java.lang.Object does not become java.lang.String"),
      PUT(STATICS, "object", "[1,2]", "void"),
      GET(STATICS, "object", "java.util.ArrayList ref"),
      PUT(STATICS, "object", "5", "void"),
      GET(STATICS, "object", "java.lang.Integer 5"),
      PUT(STATICS, "hidden", "11", "void"),
      GET(STATICS, "hidden", "long 11"),
      {"new", "{'type':'fixtures.Fields'}", "fixtures.Fields ref", "on"},
      GET_ON("fixtures.Fields", "aBoolean", "boolean true"),
      GET_ON("fixtures.Fields", "aByte", "byte 1"),
      GET_ON("fixtures.Fields", "aShort", "short 2"),
      GET_ON("fixtures.Fields", "aChar", "char c"),
      GET_ON("fixtures.Fields", "anInt", "int 4"),
      GET_ON("fixtures.Fields", "aLong", "long 5"),
      GET_ON("fixtures.Fields", "aFloat", "float 6.5"),
      GET_ON("fixtures.Fields", "aDouble", "double 7.25"),
      GET_ON("fixtures.Fields", "anInteger", "java.lang.Integer 9"),
      GET_ON("fixtures.Fields", "anObject", "java.lang.Object null"),
      GET_ON("fixtures.Fields", "ints", "[I [1,2,3] ref"),
      GET_ON("fixtures.Fields", "color", "fixtures.Color RED ref"),
      PUT_ON("fixtures.Fields", "color", "'GREEN'", "void"),
      GET_ON("fixtures.Fields", "color", "fixtures.Color$1 GREEN ref"),
      PUT_ON("fixtures.Fields", "color", "'BROWN'",
             "-32602 value: \"BROWN\": fixtures.Color has no such constant"),
      PUT_ON("fixtures.Fields", "ints", "[4,5]", "void"),
      GET_ON("fixtures.Fields", "ints", "[I [4,5] ref"),
      PUT_ON("fixtures.Fields", "user", "{'ref':$on}", "-32602 value: ref"),
      PUT_ON("fixtures.Fields", "aVolatile", "6", "void"),
      GET_ON("fixtures.Fields", "aVolatile", "int 6"),
      GET_ON("fixtures.Fields", "aStatic", "int 12"),
      PUT("fixtures.Fields", "anInt", "5", "-32602 'anInt' is an instance member"),
  };
  MEMBERS_CHECK(&session, cases);
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  members_session_init(&session, thread);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes),
      cmocka_unit_test(constructors),
      cmocka_unit_test(arrays),
      cmocka_unit_test(pieces_of_arrays),
      cmocka_unit_test(receivers_that_are_values),
      cmocka_unit_test(methods),
      cmocka_unit_test(inheritance),
      cmocka_unit_test(overloads),
      cmocka_unit_test(costs),
      cmocka_unit_test(fields),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  members_session_fini(&session);
  return failures;
}

int main(void)
{
  return with_jvm(run_all);
}

#include "tests/ledger/reference_ledger.h"
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include <stdio.h>
#include <stdlib.h>

static struct members_session session;

#define ECHO(method, args, wanted)                                                                           \
  {                                                                                                          \
    "call", "{'type':'fixtures.Arguments','method':'" method "','args':" args "}", wanted, NULL              \
  }
#define TELL(method, args, wanted)                                                                           \
  {                                                                                                          \
    "call", "{'type':'jpeer.members.Conversions','method':'" method "','args':" args "}", wanted, NULL       \
  }

static void primitives(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      ECHO("echoBoolean", "[{'type':'boolean','value':true}]", "boolean true"),
      ECHO("echoBoolean", "[{'type':'boolean','value':'true'}]", "boolean true"),
      ECHO("echoBoolean", "[{'type':'boolean','value':'yes'}]",
           "-32602 argument 0: \"yes\": of another kind"),
      ECHO("echoBoolean", "[{'type':'boolean','value':1}]", "-32602 argument 0: 1: of another kind"),
      ECHO("echoByte", "[{'type':'byte','value':-128}]", "byte -128"),
      ECHO("echoByte", "[{'type':'byte','value':300}]",
           "-32602 argument 0: 300: out of range for byte (-128 to 127)"),
      ECHO("echoByte", "[{'type':'byte','value':128}]", "-32602 argument 0: 128: out of range"),
      ECHO("echoByte", "[{'type':'byte','value':-129}]", "-32602 argument 0: -129: out of range"),
      ECHO("echoShort", "[{'type':'short','value':32767}]", "short 32767"),
      ECHO("echoShort", "[{'type':'short','value':32768}]", "-32602 argument 0: 32768: out of range"),
      ECHO("echoChar", "[{'type':'char','value':'A'}]", "char A"),
      ECHO("echoChar", "[{'type':'char','value':'AB'}]", "-32602 argument 0: \"AB\": out of range for char"),
      ECHO("echoChar", "[{'type':'char','value':''}]", "-32602 argument 0: \"\": out of range for char"),
      ECHO("echoChar", "[{'type':'char','value':'\xF0\x9F\x98\x80'}]", "-32602 argument 0: "),
      ECHO("echoInt", "[{'type':'int','value':-2147483648}]", "int -2147483648"),
      ECHO("echoInt", "[{'type':'int','value':2147483648}]", "-32602 argument 0: 2147483648: out of range"),
      ECHO("echoInt", "[{'type':'int','value':'5'}]", "int 5"),
      ECHO("echoInt", "[{'type':'int','value':'5x'}]", "-32602 argument 0: \"5x\": of another kind for int"),
      ECHO("echoInt", "[{'type':'int','value':5.7}]", "-32602 argument 0: 5.7: not an integer for int"),
      ECHO("echoInt", "[{'type':'int','value':5l}]", "-32602 argument 0: 5l: its suffix"),
      ECHO("echoInt", "[{'type':'int','value':null}]", "-32602 argument 0: null: a primitive cannot be null"),
      ECHO("echoInt", "[{'type':'int','value':[1]}]", "-32602 argument 0: an array: of another kind"),
      ECHO("echoInt", "[{'type':'int','value':{}}]", "-32602 argument 0: a JSON object: of another kind"),
      ECHO("echoInt", "[{'type':'Integer','value':null}]", "-32602 argument 0: null: a primitive"),
      ECHO("echoInt", "[{'type':'Integer','value':7}]", "int 7"),
      ECHO("echoInt", "[{'type':'void','value':7}]", "-32602 Type name is a Java reserved keyword"),
      ECHO("echoInt", "[{'type':'in:t','value':7}]", "-32602 Invalid characters in type"),
      ECHO("echoInt", "[{'type':'no.such.Thing','value':7}]",
           "-32601 java.lang.ClassNotFoundException: no.such.Thing"),
      ECHO("echoLong", "[{'type':'long','value':9223372036854775807}]", "long 9223372036854775807"),
      ECHO("echoLong", "[{'type':'long','value':9223372036854775808}]",
           "-32602 argument 0: 9223372036854775808"),
      ECHO("echoLong", "[{'type':'long','value':100l}]", "long 100"),
      ECHO("echoLong", "[{'type':'int','value':100}]", "long 100"),
      ECHO("echoLong", "[{'type':'char','value':'A'}]", "long 65"),
      ECHO("echoFloat", "[{'type':'float','value':1.5}]", "float 1.5"),
      ECHO("echoFloat", "[{'type':'float','value':0.1f}]", "float 0.1"),
      ECHO("echoFloat", "[{'type':'float','value':1e39}]", "-32602 argument 0: 1e39: out of range for float"),
      ECHO("echoFloat", "[{'type':'float','value':'NaN'}]", "float NaN"),
      ECHO("echoFloat", "[{'type':'float','value':16777217}]", "float 1.6777216E7"),
      ECHO("echoFloat", "[{'type':'long','value':3}]", "float 3.0"),
      ECHO("echoDouble", "[{'type':'double','value':3.14}]", "double 3.14"),
      ECHO("echoDouble", "[{'type':'double','value':3}]", "double 3.0"),
      ECHO("echoDouble", "[{'type':'double','value':-0.0}]", "double -0.0"),
      ECHO("echoDouble", "[{'type':'double','value':1e400}]", "-32602 argument 0: 1e400: out of range"),
      ECHO("echoDouble", "[{'type':'double','value':'-Infinity'}]", "double -Infinity"),
      ECHO("echoDouble", "[{'type':'float','value':0.5}]", "double 0.5"),
      ECHO("echoDouble", "[12345678901234567890]", "double 1.2345678901234567E19"),
  };
  MEMBERS_CHECK(&session, cases);
}

static void boxes_and_strings(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      ECHO("echoBoxedBoolean", "[{'type':'java.lang.Boolean','value':false}]", "java.lang.Boolean false"),
      ECHO("echoBoxedByte", "[{'type':'Byte','value':1}]", "java.lang.Byte 1"),
      ECHO("echoBoxedShort", "[{'type':'Short','value':2}]", "java.lang.Short 2"),
      ECHO("echoBoxedChar", "[{'type':'Character','value':'c'}]", "java.lang.Character c"),
      ECHO("echoBoxedInt", "[{'type':'java.lang.Integer','value':4}]", "java.lang.Integer 4"),
      ECHO("echoBoxedInt", "[{'type':'java.lang.Integer','value':4.5}]",
           "-32602 argument 0: 4.5: not an integer"),
      ECHO("echoBoxedInt", "[{'type':'java.lang.Integer','value':null}]", "java.lang.Integer null"),
      ECHO("echoBoxedInt", "[null]", "java.lang.Integer null"),
      ECHO("echoBoxedLong", "[{'type':'Long','value':5}]", "java.lang.Long 5"),
      ECHO("echoBoxedFloat", "[{'type':'Float','value':6.5}]", "java.lang.Float 6.5"),
      ECHO("echoBoxedDouble", "[{'type':'Double','value':7}]", "java.lang.Double 7.0"),
      ECHO("echoBoxedDouble", "[7.5]", "java.lang.Double 7.5"),
      ECHO("echoBoxedLong", "[{'type':'int','value':5}]",
           "-32601 java.lang.NoSuchMethodException: No matching method 'echoBoxedLong' found"),
      ECHO("echoString", "[{'type':'java.lang.String','value':'hello'}]", "java.lang.String hello"),
      ECHO("echoString", "[{'type':'String','value':12}]", "java.lang.String 12"),
      ECHO("echoString", "[{'type':'String','value':true}]", "java.lang.String true"),
      ECHO("echoString", "[{'type':'String','value':[1]}]", "-32602 argument 0: an array: cannot become"),
      ECHO("echoString", "[{'type':'String','value':null}]", "java.lang.String null"),
      ECHO("echoString", "['']", "java.lang.String "),
      ECHO("echoString", "['\xF0\x9F\x98\x80\xC3\xA9']", "java.lang.String \xF0\x9F\x98\x80\xC3\xA9"),
      ECHO("lengthOf", "['\xF0\x9F\x98\x80\xC3\xA9']", "int 3"),
      ECHO("lengthOf", "['a\\u0000b']", "int 3"),
      ECHO("lengthOf", "['\\ud800']", "int 1"),
      ECHO("lengthOf", "[{'type':'String','value':null}]", "-32000 java.lang.NullPointerException"),
  };
  MEMBERS_CHECK(&session, cases);
}

static void natural_forms(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      TELL("any", "[5]", "java.lang.String Integer:5"),
      TELL("any", "[5000000000]", "java.lang.String Long:5000000000"),
      TELL("any", "[12345678901234567890]", "java.lang.String BigInteger:12345678901234567890"),
      TELL("any", "[5.5]", "java.lang.String Double:5.5"),
      TELL("any", "[1e3]", "java.lang.String Double:1000.0"),
      TELL("any", "[1e400]", "-32602 argument 0: 1e400: out of range for double"),
      TELL("any", "[5f]", "java.lang.String Float:5.0"),
      TELL("any", "[5d]", "java.lang.String Double:5.0"),
      TELL("any", "[5l]", "java.lang.String Long:5"),
      TELL("any", "[true]", "java.lang.String Boolean:true"),
      TELL("any", "['x']", "java.lang.String String:x"),
      TELL("any", "[null]", "java.lang.String null"),
      TELL("any", "[[1,'x',null,[2.5]]]",
           "java.lang.String ArrayList[Integer:1 String:x null ArrayList[Double:2.5 ] ]"),
      TELL("any", "[{'type':'Object','value':5}]", "java.lang.String Integer:5"),
      TELL("any", "[{'type':'Object','value':{'a':1,'b':[2]}}]",
           "java.lang.String HashMap{a=Integer:1 b=ArrayList[Integer:2 ] }"),
      TELL("number", "[5]", "java.lang.String Integer:5"),
      TELL("number", "[{'type':'Number','value':5000000000}]", "java.lang.String Long:5000000000"),
      TELL("number", "[{'type':'Number','value':'5'}]",
           "-32602 argument 0: \"5\": an object of java.lang.String, not of java.lang.Number"),
      TELL("chars", "['x']", "java.lang.String String:x"),
      TELL("chars", "[{'type':'CharSequence','value':'x'}]", "java.lang.String String:x"),
      TELL("comparable", "[5.5]", "java.lang.String Double:5.5"),
      TELL("serializable", "['s']", "java.lang.String String:s"),
      TELL("serializable", "[[1]]", "java.lang.String ArrayList[Integer:1 ]"),
      TELL("iterable", "[[1]]", "java.lang.String ArrayList[Integer:1 ]"),
      TELL("thread", "['x']", "-32601 java.lang.NoSuchMethodException"),
      TELL("thread", "[{'type':'java.lang.Thread','value':'x'}]",
           "-32602 argument 0: \"x\": cannot become java.lang.Thread; pass a ref"),
      TELL("thread", "[{'type':'java.lang.Thread','value':{}}]",
           "-32602 argument 0: a JSON object: cannot become java.lang.Thread"),
  };
  MEMBERS_CHECK(&session, cases);
}

static void arrays(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'java.util.ArrayList'}", "java.util.ArrayList ref", "list"},
      {"new", "{'type':'fixtures.User','args':['u',1]}", "fixtures.User ref", "user"},
      ECHO("echoInts", "[{'type':'int[]','value':[1,2,3]}]", "[I [1,2,3] ref"),
      ECHO("echoInts", "[{'type':'[I','value':[1,-2]}]", "[I [1,-2] ref"),
      ECHO("echoInts", "[{'type':'int[]','value':[]}]", "[I [] ref"),
      ECHO("echoInts", "[{'type':'int[]','value':null}]", "[I null"),
      ECHO("echoInts", "[{'type':'int[]','value':[1,null]}]", "-32602 argument 0"),
      ECHO("echoInts", "[{'type':'int[]','value':[1d]}]", "-32602 argument 0"),
      ECHO("echoInts", "[{'type':'int[]','value':5}]", "-32602 argument 0"),
      ECHO("echoInts", "[{'type':'Integer[]','value':[1]}]", "-32601 java.lang.NoSuchMethodException"),
      ECHO("echoInts", "[[1,2]]", "[I [1,2] ref"),
      ECHO("echoInts", "[[1,2.5]]", "-32602 argument 0[1]: 2.5: not an integer for int"),
      ECHO("echoInts", "[[1,null]]", "-32602 argument 0[1]: null: a primitive cannot be null"),
      ECHO("echoInts", "[[{'type':'short','value':4},{'type':'Byte','value':5}]]", "[I [4,5] ref"),
      ECHO("echoInts", "[[{'type':'long','value':4}]]", "-32602 argument 0[0]: 4: long does not become int"),
      ECHO("echoLongs", "[{'type':'long[]','value':[2398239l,-23l,7]}]", "[J [2398239,-23,7] ref"),
      ECHO("echoDoubles", "[{'type':'double[]','value':[239823d,38723d,2323d]}]",
           "[D [239823.0,38723.0,2323.0] ref"),
      ECHO("echoFloats", "[{'type':'float[]','value':[23f,1f,0.1f]}]", "[F [23.0,1.0,0.1] ref"),
      ECHO("echoShorts", "[{'type':'short[]','value':[-1,2]}]", "[S [-1,2] ref"),
      ECHO("echoBytes", "[{'type':'byte[]','value':[-1,127]}]", "[B [-1,127] ref"),
      ECHO("echoBytes", "[{'type':'byte[]','value':'AAH/','encoding':'base64'}]", "[B [0,1,-1] ref"),
      ECHO("echoBooleans", "[{'type':'boolean[]','value':[true,false]}]", "[Z [true,false] ref"),
      ECHO("echoChars", "[{'type':'char[]','value':['a','b']}]", "[C [\"a\",\"b\"] ref"),
      ECHO("echoStrings", "[{'type':'String[]','value':['a',null,'\xC3\xA9']}]",
           "[Ljava.lang.String; [\"a\",null,\"\xC3\xA9\"] ref"),
      ECHO("echoIntegers", "[{'type':'java.lang.Integer[]','value':[1,null,3]}]",
           "[Ljava.lang.Integer; [1,null,3] ref"),
      ECHO("echoGrid", "[{'type':'int[][]','value':[[1],[],[2,3]]}]", "[[I ref"),
      ECHO("sumGrid", "[{'type':'[[I','value':[[1],[],[2,3]]}]", "int 6"),
      ECHO("sumGrid", "[[[1],[2,3]]]", "int 6"),
      TELL("grid", "[{'type':'int[][]','value':[[1],null]}]", "java.lang.String int[][][int[1] null ]"),
      TELL("cube", "[{'type':'long[][][]','value':[[[5,6],[7]]]}]", "java.lang.String 1/2/2/5"),
      TELL("objects", "[{'type':'Object[]','value':[1,'x',{'ref':$list},[2]]}]",
           "java.lang.String Object[][Integer:1 String:x ArrayList[] ArrayList[Integer:2 ] ]"),
      TELL("objects", "[{'type':'Object[]','value':[1,'x',[2],{'type':'Long','value':3}]}]",
           "java.lang.String Object[][Integer:1 String:x ArrayList[Integer:2 ] Long:3 ]"),
      TELL("objects",
           "[[true,{'type':'byte','value':-1},{'type':'char','value':'x'},-3,-4l,1.5f,-2.5,null,'s',"
           "{'type':'Double','value':'NaN'},{'type':'String','value':'t'},[1,'u']]]",
           "java.lang.String Object[][Boolean:true Byte:-1 Character:x Integer:-3 Long:-4 Float:1.5 "
           "Double:-2.5 null String:s Double:NaN String:t ArrayList[Integer:1 String:u ] ]"),
      TELL("strings",
           "[{'type':'String[]','value':['a',null,{'type':'String','value':'b'},5,true,'\xC3\xA9']}]",
           "java.lang.String String[][String:a null String:b String:5 String:true String:\xC3\xA9 ]"),
      TELL("strings", "[{'type':'String[]','value':['a',{'type':'int','value':1}]}]",
           "-32602 argument 0[1]: 1: an object of java.lang.Integer, not of java.lang.String"),
      TELL("strings", "[{'type':'String[]','value':['a',[1]]}]",
           "-32602 argument 0[1]: an array: cannot become a java.lang.String"),
      TELL("integers", "[{'type':'Integer[]','value':[1,null,{'type':'int','value':2},'3']}]",
           "java.lang.String Integer[][Integer:1 null Integer:2 Integer:3 ]"),
      TELL("integers", "[{'type':'Integer[]','value':[1,2.5]}]",
           "-32602 argument 0[1]: 2.5: not an integer for int"),
      TELL("integers", "[{'type':'Integer[]','value':[1,{'type':'long','value':2}]}]",
           "-32602 argument 0[1]: 2: an object of java.lang.Long, not of java.lang.Integer"),
      TELL("strings", "[['a','b']]", "java.lang.String String[][String:a String:b ]"),
      TELL("integers", "[[1,2]]", "java.lang.String Integer[][Integer:1 Integer:2 ]"),
      TELL("lists", "[{'type':'java.util.List[]','value':[[1],[2]]}]",
           "java.lang.String List[][ArrayList[Integer:1 ] ArrayList[Integer:2 ] ]"),
      TELL("doubles", "[[1,2.5]]", "java.lang.String [1.0, 2.5]"),
      TELL("floats", "[[1,2.5]]", "java.lang.String [1.0, 2.5]"),
      TELL("letters", "[['a','b']]", "java.lang.String ab"),
      TELL("flags", "[[true]]", "java.lang.String [true]"),
      TELL("bytes", "[[1,2]]", "java.lang.String [1, 2]"),
      TELL("bytes", "[[1,200]]", "-32602 argument 0[1]: 200: out of range for byte"),
      ECHO("names", "[{'type':'fixtures.User[]','value':[{'ref':$user},null]}]", "java.lang.String u;-;"),
      ECHO("names", "[[{'ref':$user}]]", "java.lang.String u;"),
      ECHO("names", "[{'type':'fixtures.User[]','value':[{'ref':99}]}]",
           "-32000 java.lang.NullPointerException: No object found with objRef: 99"),
      TELL("strings", "[{'type':'String[]','value':[{'ref':$user}]}]", "-32602 argument 0[0]: ref"),
  };
  MEMBERS_CHECK(&session, cases);
}

static void collections(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'fixtures.User','args':['u',1]}", "fixtures.User ref", "user"},
      ECHO("sumArrayList",
           "[{'type':'java.util.ArrayList','value':[{'type':'java.lang.Integer','value':39},{'type':'java."
           "lang."
           "Integer','value':5}]}]",
           "int 44"),
      ECHO("sum", "[[1,2,3]]", "int 6"),
      ECHO("sumValues", "[{'type':'java.util.HashMap','value':{'key1':39.0,'key2':5.8}}]", "double 44.8"),
      TELL("any", "[{'type':'List','value':[1,{'type':'int','value':2},{'type':'String','value':'x'}]}]",
           "java.lang.String ArrayList[Integer:1 Integer:2 String:x ]"),
      TELL("any", "[{'type':'ArrayList','value':[[1],{'a':{'type':'Long','value':1}}]}]",
           "java.lang.String ArrayList[ArrayList[Integer:1 ] HashMap{a=Long:1 } ]"),
      TELL(
          "any",
          "[[true,{'type':'byte','value':-1},{'type':'char','value':'x'},{'type':'Short','value':-2},-3,-4l,"
          "1.5f,{'type':'double','value':-2.5},null,{'type':'Double','value':null},'s',"
          "{'type':'Double','value':'NaN'},{'type':'Double','value':2}]]",
          "java.lang.String ArrayList[Boolean:true Byte:-1 Character:x Short:-2 Integer:-3 Long:-4 Float:1.5 "
          "Double:-2.5 null null String:s Double:NaN Double:2.0 ]"),
      TELL("any", "[{'type':'List','value':[1,{'type':'int','value':null}]}]",
           "-32602 argument 0[1]: null: a primitive cannot be null for int"),
      TELL("any", "[{'type':'List','value':[{'type':'Long','value':1},{'type':'Long','value':1.5}]}]",
           "-32602 argument 0[1]: 1.5: not an integer for long"),
      TELL("any", "[{'type':'Collection','value':[]}]", "java.lang.String ArrayList[]"),
      TELL("any", "[{'type':'Set','value':[1,1]}]", "java.lang.String HashSet[Integer:1 ]"),
      TELL("any", "[{'type':'HashMap','value':{'a':null}}]", "java.lang.String HashMap{a=null }"),
      TELL("any", "[{'type':'Map','value':{}}]", "java.lang.String HashMap{}"),
      TELL("any", "[{'type':'java.util.LinkedList','value':[2,1]}]",
           "java.lang.String LinkedList[Integer:2 Integer:1 ]"),
      TELL("any", "[{'type':'java.util.TreeMap','value':{'b':1,'a':2}}]",
           "java.lang.String TreeMap{a=Integer:2 b=Integer:1 }"),
      TELL("any", "[{'type':'java.util.LinkedHashMap','value':{'b':1}}]",
           "java.lang.String LinkedHashMap{b=Integer:1 }"),
      TELL("any", "[{'type':'java.util.EnumMap','value':{}}]",
           "-32602 argument 0: a JSON object: the enum of its keys is not declared here: pass a ref"),
      TELL("any", "[{'type':'java.util.Collections$EmptyList','value':[]}]",
           "-32602 argument 0: an array: java.util.Collections$EmptyList has no public constructor without"),
      TELL("any", "[{'type':'List','value':{}}]",
           "-32602 argument 0: a JSON object: java.util.List takes a JSON array"),
      TELL("any", "[{'type':'Map','value':[]}]",
           "-32602 argument 0: an array: java.util.Map takes a JSON object"),
      TELL("any", "[{'type':'List','value':'x'}]",
           "-32602 argument 0: \"x\": java.util.List takes a JSON array"),
      TELL("any", "[{'type':'List','value':[1,{'type':'byte','value':300}]}]",
           "-32602 argument 0[1]: 300: out of range for byte"),
      TELL("any", "[{'type':'List','value':[[1,{'type':'int','value':'x'}]]}]",
           "-32602 argument 0[0][1]: \"x\": of another kind for int"),
      TELL("any", "[{'type':'List','value':[{'type':'fixtures.Color','value':'RED'}]}]",
           "java.lang.String ArrayList[Color:RED ]"),
      TELL("any", "[{'type':'List','value':[{'type':'int[]','value':[1]}]}]",
           "java.lang.String ArrayList[int[1] ]"),
      TELL("linked", "[{'a':1}]", "java.lang.String LinkedHashMap{a=Integer:1 }"),
      TELL("sortedMap", "[{'b':1}]", "java.lang.String TreeMap{b=Integer:1 }"),
      TELL("sortedSet", "[{'type':'java.util.SortedSet','value':[2,1]}]",
           "java.lang.String TreeSet[Integer:1 Integer:2 ]"),
      TELL("treeSet", "[[2,1]]", "java.lang.String TreeSet[Integer:1 Integer:2 ]"),
      TELL("treeSet", "[{'type':'java.util.TreeSet','value':[2,'x']}]",
           "-32000 java.lang.ClassCastException"),
      TELL("deque", "[{'type':'java.util.Deque','value':[2,1]}]",
           "java.lang.String LinkedList[Integer:2 Integer:1 ]"),
      TELL("cow", "[[1]]", "java.lang.String CopyOnWriteArrayList[Integer:1 ]"),
      TELL("bag", "[{'type':'jpeer.members.Conversions$Bag','value':[1,'x']}]",
           "java.lang.String Bag[Integer:1 String:x ]"),
      TELL("bag", "[[1,'x']]", "java.lang.String Bag[Integer:1 String:x ]"),
      TELL("spiteful", "[[1]]", "-32000 java.lang.IllegalStateException: not 1"),
      TELL("sized", "[[1]]", "-32602 argument 0: an array: jpeer.members.Conversions$Sized has no public"),
  };
  MEMBERS_CHECK(&session, cases);
}

static void from_text(void **state)
{
  (void)state;
#define UUID_TEXT "01234567-89ab-cdef-0123-456789abcdef"
  static const struct members_case cases[] = {
      TELL("decimal", "[{'type':'java.math.BigDecimal','value':'1.50'}]", "java.lang.String BigDecimal:1.50"),
      TELL("decimal", "['1.50']", "java.lang.String BigDecimal:1.50"),
      TELL("decimal", "[1.50]", "java.lang.String BigDecimal:1.50"),
      TELL("decimal", "['x']", "-32602 argument 0: \"x\": no java.math.BigDecimal"),
      TELL("integer", "[{'type':'java.math.BigInteger','value':'123456789012345678901'}]",
           "java.lang.String BigInteger:123456789012345678901"),
      TELL("integer", "[123456789012345678901]", "java.lang.String BigInteger:123456789012345678901"),
      TELL("uuid", "[{'type':'java.util.UUID','value':'" UUID_TEXT "'}]", "java.lang.String UUID:" UUID_TEXT),
      TELL("uuid", "['" UUID_TEXT "']", "java.lang.String UUID:" UUID_TEXT),
      TELL("uuid", "['nonsense']", "-32602 argument 0: \"nonsense\": no java.util.UUID: Invalid UUID"),
      TELL("date", "['2024-02-29']", "java.lang.String LocalDate:2024-02-29"),
      TELL("date", "['2023-02-29']", "-32602 argument 0: \"2023-02-29\": no java.time.LocalDate"),
      TELL("time", "['10:15:30']", "java.lang.String LocalTime:10:15:30"),
      TELL("dateTime", "['2024-02-29T10:15']", "java.lang.String LocalDateTime:2024-02-29T10:15"),
      TELL("offset", "['2024-02-29T10:15+01:00']", "java.lang.String OffsetDateTime:2024-02-29T10:15+01:00"),
      TELL("zoned", "['2024-02-29T10:15+01:00[Europe/Paris]']",
           "java.lang.String ZonedDateTime:2024-02-29T10:15+01:00[Europe/Paris]"),
      TELL("zone", "['Europe/Paris']", "java.lang.String Europe/Paris"),
      TELL("period", "['P1D']", "java.lang.String Period:P1D"),
      TELL("year", "['2024']", "java.lang.String Year:2024"),
      TELL("yearMonth", "['2024-02']", "java.lang.String YearMonth:2024-02"),
      ECHO("takeInstant", "['1970-01-01T00:01:00Z']", "long 60"),
      ECHO("takeDuration", "['PT1.5S']", "long 1500"),
      TELL("named", "['java.lang.String']", "java.lang.String java.lang.String"),
      TELL("named", "[{'type':'java.lang.Class','value':'fixtures.User'}]", "java.lang.String fixtures.User"),
      TELL("named", "['int']", "java.lang.String int"),
      TELL("named", "['void']", "-32602 argument 0: \"void\": Type name is a Java reserved keyword"),
      TELL("named", "['int[][]']", "java.lang.String [[I"),
      TELL("named", "['fixtures.User[]']", "java.lang.String [Lfixtures.User;"),
      TELL("named", "['no.such.Thing']", "-32601 java.lang.ClassNotFoundException: no.such.Thing"),
      TELL("named", "['no such thing']", "-32602 argument 0: \"no such thing\": Invalid characters in type"),
      TELL("size", "['SMALL']", "java.lang.String Size:SMALL"),
      TELL("size", "[{'type':'jpeer.members.Conversions$Size','value':'LARGE'}]",
           "java.lang.String Size:LARGE"),
      TELL("size", "['small']", "-32602 argument 0: \"small\": jpeer.members.Conversions$Size has no such"),
      TELL("size", "['$VALUES']",
           "-32602 argument 0: \"$VALUES\": jpeer.members.Conversions$Size has no such"),
      TELL("sizes", "[{'type':'jpeer.members.Conversions$Size[]','value':['LARGE','SMALL']}]",
           "java.lang.String Size[][Size:LARGE Size:SMALL ]"),
      TELL("sizes", "[['LARGE']]", "java.lang.String Size[][Size:LARGE ]"),
      ECHO("takeColor", "['GREEN']", "java.lang.String fresh1"),
  };
  MEMBERS_CHECK(&session, cases);
}

static void references(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'fixtures.User','args':['u',1]}", "fixtures.User ref", "user"},
      {"new", "{'type':'java.util.ArrayList'}", "java.util.ArrayList ref", "list"},
      {"call", "{'type':'fixtures.User','method':'sameAs','instance':$user,'args':[{'ref':$user}]}",
       "boolean true", NULL},
      {"call",
       "{'type':'fixtures.User','method':'sameAs','instance':$user,'args':[{'type':'fixtures.User','ref':$"
       "user}]}",
       "boolean true", NULL},
      {"call",
       "{'type':'fixtures.User','method':'sameAs','instance':$user,'args':[{'type':'fixtures.User','ref':$"
       "list}]}",
       "-32602 argument 0: ref", NULL},
      {"call", "{'type':'fixtures.User','method':'sameAs','instance':$user,'args':[{'ref':$list}]}",
       "-32601 java.lang.NoSuchMethodException: No matching method 'sameAs' found", NULL},
      {"call",
       "{'type':'fixtures.User','method':'sameAs','instance':$user,'args':[{'type':'Object','ref':$user}]}",
       "-32601 java.lang.NoSuchMethodException", NULL},
      TELL("any", "[{'type':'int','ref':$list}]", "-32602 argument 0: ref"),
      TELL("named", "[{'type':'java.lang.Class','ref':$list}]", "-32602 argument 0: ref"),
  };
  MEMBERS_CHECK(&session, cases);
}

/* A guard that knows one forbidden class. */
static char asked[512];

static enum jp_status forbid(void *context, enum jvm_member_kind kind, struct text class_name,
                             struct text member, struct arena *arena, struct outcome *denied)
{
  size_t used = strlen(asked);
  snprintf(asked + used, sizeof asked - used, "%d %.*s.%.*s;", (int)kind, TEXT_ARGS(class_name),
           TEXT_ARGS(member));
  if (!text_equal(class_name, text_of(context)))
    return JP_OK;
  outcome_fail(denied, arena, FAILURE_DENIED, NULL, "forbidden");
  return JP_DENIED;
}

static void the_guard_is_asked_before_classes_load(void **state)
{
  (void)state;
  static const struct {
    const char *forbidden;
    struct members_case one;
  } cases[] = {
      {"secret.Thing", TELL("any", "[{'type':'secret.Thing','value':'X'}]", "-32001 forbidden")},
      {"secret.Thing", TELL("any", "[{'type':'secret.Thing[]','value':['X']}]", "-32001 forbidden")},
      {"secret.Thing", TELL("any", "[{'type':'secret.Thing','value':[1]}]", "-32001 forbidden")},
      {"secret.Thing",
       TELL("any", "[{'type':'List','value':[{'type':'secret.Thing','value':'X'}]}]", "-32001 forbidden")},
      {"secret.Thing", TELL("named", "['secret.Thing']", "-32001 forbidden")},
      {"secret.Thing", TELL("named", "['secret.Thing[]']", "-32001 forbidden")},
      {"jpeer.members.Conversions$Size", TELL("size", "['SMALL']", "-32001 forbidden")},
      {"jpeer.members.Conversions$Bag", TELL("bag", "[[1]]", "-32001 forbidden")},
      {"java.util.concurrent.TimeUnit",
       {"call", "{'type':'fixtures.Keyed','method':'units','args':[{'type':'Map','value':{'SECONDS':1}}]}",
        "-32001 forbidden", NULL}},
      {"java.util.concurrent.TimeUnit",
       {"call", "{'type':'fixtures.Keyed','method':'enums','args':[{'type':'java.util.EnumMap','value':{}}]}",
        "-32001 forbidden", NULL}},
      {"jpeer.members.Conversions$Size", TELL("named", "['int']", "java.lang.String int")},
  };
  session.guard.check = forbid;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    asked[0] = '\0';
    session.guard.context = (void *)cases[i].forbidden;
    members_check(&session, &cases[i].one);
    bool is_denial = strncmp(cases[i].one.wanted, "-32001", 6) == 0;
    assert_int_equal(strstr(asked, cases[i].forbidden) != NULL, is_denial);
  }
  session.guard.check = NULL;
}

/* 10,000 elements need no more local references than one does. */
static void large_values_need_few_references(void **state)
{
  (void)state;
  enum { ELEMENTS = 10000, ROOM = ELEMENTS * 40 + 200 };
  char *params = malloc(ROOM);
  assert_non_null(params);
  size_t used = (size_t)snprintf(
      params, ROOM, "{'type':'fixtures.Arguments','method':'sum','args':[{'type':'List','value':[");
  for (int i = 0; i < ELEMENTS; i++)
    used +=
        (size_t)snprintf(params + used, ROOM - used, "%s{'type':'Integer','value':1000}", i == 0 ? "" : ",");
  snprintf(params + used, ROOM - used, "]}]}");
  const struct members_case one = {"call", params, "int 10000000", NULL};
  members_check(&session, &one);
  free(params);
}

/* Elements cross in chunks, what is no scalar beside the others. */
static void long_lists_keep_their_order(void **state)
{
  (void)state;
  enum { ELEMENTS = 1200, EACH = 16, ROOM = ELEMENTS * EACH + 200 };
  char *params = malloc(ROOM);
  char *wanted = malloc(ROOM);
  assert_non_null(params);
  assert_non_null(wanted);
  size_t used = (size_t)snprintf(
      params, ROOM, "{'type':'jpeer.members.Conversions','method':'any','args':[{'type':'List','value':[");
  size_t told = (size_t)snprintf(wanted, ROOM, "java.lang.String ArrayList[");
  for (int i = 0; i < ELEMENTS; i++) {
    bool is_text = i % 5 == 0 && i < ELEMENTS / 2;
    used += (size_t)snprintf(params + used, ROOM - used, is_text ? "%s'%d'" : "%s%d", i == 0 ? "" : ",", i);
    told += (size_t)snprintf(wanted + told, ROOM - told, "%s:%d ", is_text ? "String" : "Integer", i);
  }
  snprintf(params + used, ROOM - used, "]}]}");
  snprintf(wanted + told, ROOM - told, "]");
  const struct members_case one = {"call", params, wanted, NULL};
  members_check(&session, &one);
  free(params);
  free(wanted);
}

static void long_maps_keep_their_entries(void **state)
{
  (void)state;
  enum { ENTRIES = 1200, EACH = 40, ROOM = ENTRIES * EACH + 200 };
  char *params = malloc(ROOM);
  char *wanted = malloc(ROOM);
  assert_non_null(params);
  assert_non_null(wanted);
  size_t used = (size_t)snprintf(
      params, ROOM, "{'type':'jpeer.members.Conversions','method':'any','args':[{'type':'Map','value':{");
  size_t told = (size_t)snprintf(wanted, ROOM, "java.lang.String HashMap{");
  for (int i = 0; i < ENTRIES; i++) {
    bool is_text = i % 3 == 0;
    used += (size_t)snprintf(params + used, ROOM - used,
                             is_text ? "%s'\xC3\xA9%04d':'%d\xE2\x82\xAC'" : "%s'\xC3\xA9%04d':%d",
                             i == 0 ? "" : ",", i, i);
    told +=
        (size_t)snprintf(wanted + told, ROOM - told,
                         is_text ? "\xC3\xA9%04d=String:%d\xE2\x82\xAC " : "\xC3\xA9%04d=Integer:%d ", i, i);
  }
  snprintf(params + used, ROOM - used, "}}]}");
  snprintf(wanted + told, ROOM - told, "}");
  const struct members_case one = {"call", params, wanted, NULL};
  members_check(&session, &one);
  free(params);
  free(wanted);
}

/* ENTRIES of them, the entry `at` with another text. */
static void check_keys(const char *method, const char *key_format, size_t at, const char *other,
                       const char *wanted)
{
  enum { ENTRIES = 1200, EACH = 64, ROOM = ENTRIES * EACH + 200 };
  char *params = malloc(ROOM);
  assert_non_null(params);
  size_t used = (size_t)snprintf(
      params, ROOM, "{'type':'fixtures.Keyed','method':'%s','args':[{'type':'Map','value':{", method);
  for (size_t i = 0; i < ENTRIES; i++) {
    char key[EACH];
    (void)snprintf(key, sizeof key, key_format, i);
    used += (size_t)snprintf(params + used, ROOM - used, "%s'%s':%zu", i == 0 ? "" : ",",
                             i == at ? other : key, i);
  }
  snprintf(params + used, ROOM - used, "}}]}");
  const struct members_case one = {"call", params, wanted, NULL};
  members_check(&session, &one);
  free(params);
}

/* Of wrappers, and of what is made as an object each, in more than one chunk. */
static void long_maps_have_the_keys_that_are_declared(void **state)
{
  (void)state;
  const char *uuid = "00000000-0000-0000-0000-%012zx";
  check_keys("count", "%zu", SIZE_MAX, "", "int 1200");
  check_keys("countUuids", uuid, SIZE_MAX, "", "int 1200");
  check_keys("count", "%zu", 1100, "x", "-32602 argument 0[1100]: the key \"x\"");
  check_keys("countUuids", uuid, 1100, "x", "-32602 argument 0[1100]: the key \"x\"");
  check_keys("count", "%zu", 700, "-0", "-32602 argument 0[700]: the key \"-0\": an earlier key is the same");
  check_keys("countUuids", uuid, 700, "0-0-0-0-5",
             "-32602 argument 0[700]: the key \"0-0-0-0-5\": an earlier key is the same");
}

static void texts_of_any_length_are_elements(void **state)
{
  (void)state;
  enum { LONGEST = 1100, ROOM = 2 * LONGEST + 400 };
  char params[ROOM];
  char wanted[ROOM];
  char text[LONGEST + 1];
  memset(text, 'x', LONGEST);
  for (int length = 1020; length < 1030; length++) {
    snprintf(params, ROOM,
             "{'type':'jpeer.members.Conversions','method':'any','args':[['a','%.*s',{'type':'String','value'"
             ":'%.*s'},"
             "{'type':'String','value':5},'']]}",
             length, text, length - 1, text);
    snprintf(wanted, ROOM, "java.lang.String ArrayList[String:a String:%.*s String:%.*s String:5 String: ]",
             length, text, length - 1, text);
    const struct members_case one = {"call", params, wanted, NULL};
    members_check(&session, &one);
  }
}

/* -Xcheck:jni tells of more local references than were asked for. */
static void many_arguments_have_room(void **state)
{
  (void)state;
  enum { ARGUMENTS = 300, ROOM = ARGUMENTS * 40 + 200 };
  static const struct members_case make = {"new", "{'type':'fixtures.User','args':['u',1]}",
                                           "fixtures.User ref", "user"};
  members_check(&session, &make);
  char *params = malloc(ROOM);
  assert_non_null(params);
  size_t used = (size_t)snprintf(params, ROOM, "{'type':'fixtures.Overloads','method':'objects','args':['x'");
  for (int i = 1; i < ARGUMENTS; i++)
    used += (size_t)snprintf(params + used, ROOM - used, i % 3 == 0 ? ",{'ref':$user}" : ",%d", i);
  snprintf(params + used, ROOM - used, "]}");
  const struct members_case one = {"call", params, "java.lang.String 300", NULL};
  members_check(&session, &one);
  members_check(&session, &one);
  free(params);
}

/* DEPTH levels of what opens and closes a level, in an Object. */
static void check_deep(const char *open, const char *inside, const char *close, const char *expected)
{
  enum { DEPTH = 100 };
  char params[2048] = "{'type':'java.util.Objects','method':'isNull','args':[{'type':'Object','value':";
  for (int i = 0; i < DEPTH; i++)
    strcat(params, open);
  strcat(params, inside);
  for (int i = 0; i < DEPTH; i++)
    strcat(params, close);
  strcat(params, "}]}");
  const struct members_case one = {"call", params, expected, NULL};
  reference_ledger_reset();
  members_check(&session, &one);
  assert_true(reference_ledger_depth() > DEPTH);
}

static void values_may_be_deep(void **state)
{
  (void)state;
  check_deep("[", "", "]", "boolean false");
  check_deep("{'k':", "1", "}", "boolean false");
  check_deep("[", "{'type':'int','value':'x'}", "]", "-32602 argument 0");
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  members_session_init(&session, thread);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(primitives),
      cmocka_unit_test(boxes_and_strings),
      cmocka_unit_test(natural_forms),
      cmocka_unit_test(arrays),
      cmocka_unit_test(collections),
      cmocka_unit_test(from_text),
      cmocka_unit_test(references),
      cmocka_unit_test(the_guard_is_asked_before_classes_load),
      cmocka_unit_test(large_values_need_few_references),
      cmocka_unit_test(long_lists_keep_their_order),
      cmocka_unit_test(long_maps_keep_their_entries),
      cmocka_unit_test(long_maps_have_the_keys_that_are_declared),
      cmocka_unit_test(texts_of_any_length_are_elements),
      cmocka_unit_test(many_arguments_have_room),
      cmocka_unit_test(values_may_be_deep),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  members_session_fini(&session);
  return failures;
}

int main(void)
{
  return with_jvm(run_all);
}

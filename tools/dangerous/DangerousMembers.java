import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import jdk.internal.org.objectweb.asm.ClassReader;
import jdk.internal.org.objectweb.asm.Handle;
import jdk.internal.org.objectweb.asm.Opcodes;
import jdk.internal.org.objectweb.asm.Type;
import jdk.internal.org.objectweb.asm.tree.AbstractInsnNode;
import jdk.internal.org.objectweb.asm.tree.ClassNode;
import jdk.internal.org.objectweb.asm.tree.FieldInsnNode;
import jdk.internal.org.objectweb.asm.tree.InvokeDynamicInsnNode;
import jdk.internal.org.objectweb.asm.tree.LdcInsnNode;
import jdk.internal.org.objectweb.asm.tree.MethodInsnNode;
import jdk.internal.org.objectweb.asm.tree.MethodNode;
import jdk.internal.org.objectweb.asm.tree.ModuleExportNode;
import jdk.internal.org.objectweb.asm.tree.analysis.Analyzer;
import jdk.internal.org.objectweb.asm.tree.analysis.AnalyzerException;
import jdk.internal.org.objectweb.asm.tree.analysis.Frame;
import jdk.internal.org.objectweb.asm.tree.analysis.Interpreter;
import jdk.internal.org.objectweb.asm.tree.analysis.Value;

/**
 * Writes policy/dangerous.yaml: the public members of a JDK's exported packages from whose arguments or object a value
 * reaches a member of SINKS, through a few calls (DEPTHS). Run by tools/dangerous-members, with the homes of JDKs as
 * arguments; the list is the union over them.
 *
 * A value is followed inside a method through locals, arrays, fields of the object and results of calls. A call is
 * one of the method that the named class declares or inherits, and of the lambda or the anonymous class that is made.
 * An overridden method counts like its overriding ones if at least half of these reach a sink. As a result,
 * the list is a good approximation, but neither complete nor free of false entries: members that are reached
 * through an object set before, a service or a look and feel, and found in another way, are among the SINKS
 * by hand.
 */
public final class DangerousMembers {
  /**
   * Parameters that name a document, in any method: parsers and the like are called through interfaces, factories and
   * services, where no flow can be followed.
   */
  private static final String NAMES_OF_DOCUMENTS = "\\([^)]*L(org/xml/sax/InputSource|org/w3c/dom/ls/LS(Input|Output)"
      + "|javax/xml/transform/(Source|Result)|javax/xml/crypto/(URIDereferencer|URIReference|OctetStreamData"
      + "|XMLCryptoContext|dsig/XML(Sign|Validate)Context)|java/security/(URIParameter|Policy\\$Parameters"
      + "|KeyStore\\$LoadStoreParameter)|java/security/cert/CertStoreParameters"
      + "|javax/security/auth/login/Configuration\\$Parameters);.*";

  /** A kind, a regular expression for classes, one for members, and one for descriptors. */
  private static final String[][] SINKS = {
    {"files", "java/io/FileInputStream", "<init>", "\\(Ljava/(lang/String|io/File);.*"},
    {"files", "java/io/FileOutputStream", "<init>", "\\(Ljava/(lang/String|io/File);.*"},
    {"files", "java/io/RandomAccessFile", "<init>", "\\(Ljava/(lang/String|io/File);.*"},
    {"files", "java/io/File", "can.*|createNewFile|createTempFile|delete.*|exists|get(Canonical|Free|Total|Usable).*"
        + "|is(Directory|File|Hidden)|lastModified|length|list.*|mkdirs?|renameTo|set.*", ".*"},
    {"files", "java/nio/file/Files", "(?!<).*", "\\(.*Ljava/nio/file/Path;.*"},
    {"files", "java/nio/file/FileSystems", "newFileSystem", ".*"},
    {"files", "java/nio/file/spi/FileSystemProvider", "new.*|create.*|delete.*|copy|move|is.*|check.*|read.*|set.*"
        + "|getFileStore", ".*"},
    {"files", "java/nio/channels/FileChannel", "open", ".*"},
    {"files", "java/nio/channels/AsynchronousFileChannel", "open", ".*"},
    {"files", "java/net/URL", "openConnection|openStream|getContent", ".*"},
    {"files", "java/.*|javax/.*|org/.*|com/sun/org/apache/.*|com/sun/rowset/.*|sun/security/.*", ".*",
        NAMES_OF_DOCUMENTS},
    // Members that read a name that was given before, or that is inside a given value.
    {"files", "org/w3c/dom/Document", "normalizeDocument", ".*"},
    {"files", "java/nio/file/Path", "toUri|toRealPath|register", ".*"},
    {"files", "java/security/cert/CertPath(Validator|Builder)", "getRevocationChecker", ".*"},
    {"files", "java/lang/System", "set(Property|Properties)|getProperties", ".*"},
    {"files", "java/security/Security", "setProperty", ".*"},
    {"files", "com/sun/management/HotSpotDiagnosticMXBean", "setVMOption", ".*"},
    {"files", "javax/print/attribute/standard/Destination", "<init>", ".*"},
    {"files", "java/awt/JobAttributes", "<init>|setFileName", ".*Ljava/lang/String;.*"},
    {"files", "javax/swing/plaf/basic/BasicHTML", "createHTMLView|updateRenderer", ".*"},
    {"files", "javax/swing/(JLabel|AbstractButton|JToolTip|JMenuItem|JButton|border/TitledBorder)",
        "<init>|set(Text|TipText|Title)", ".*Ljava/lang/String;.*"},
    {"files", "javax/swing/text/html/StyleSheet", "addRule|loadRules|importStyleSheet|get(Box|List)Painter", ".*"},
    {"files", "javax/swing/text/html/HTML(EditorKit|Document)", "read|insert.*|set(Inner|Outer)HTML", ".*"},
    {"processes", "java/lang/ProcessBuilder", "start|startPipeline", ".*"},
    {"processes", "java/lang/Runtime", "exec", ".*"},
    {"processes", "java/lang/ProcessImpl", "start", ".*"},
    {"processes", "java/lang/ProcessHandle", "destroy.*|allProcesses|children|descendants|parent|onExit|of|info", ".*"},
    {"processes", "java/awt/Desktop", "browse.*|edit|mail|open.*|print|moveToTrash", ".*"},
    {"processes", "java/awt/Robot", "<init>|key.*|mouse.*|create.*|getPixelColor", ".*"},
    {"processes", "com/sun/tools/attach/VirtualMachine", "attach|load.*", ".*"},
    {"classes", "java/lang/Class", "forName", ".*"},
    {"classes", "java/lang/ClassLoader", "(?!<)(loadClass|defineClass\\d?|find(System)?Class)", ".*"},
    {"classes", "java/lang/invoke/MethodHandles$Lookup", "findClass|define.*Class.*|ensureInitialized", ".*"},
    {"classes", "java/lang/ModuleLayer", "defineModules.*", ".*"},
    {"classes", "java/net/URLClassLoader", "<init>|newInstance", ".*"},
    {"classes", "java/util/ResourceBundle", "getBundle", ".*"},
    {"classes", "java/util/ServiceLoader", "load.*", ".*"},
    {"classes", "java/util/logging/Logger", "getLogger|getAnonymousLogger|logrb", ".*"},
    {"classes", "javax/xml/datatype/DatatypeFactory", "newInstance", "\\(Ljava/lang/String;.*"},
    {"classes", "javax/xml/parsers/DocumentBuilderFactory", "new(NS)?Instance", "\\(Ljava/lang/String;.*"},
    {"classes", "javax/xml/parsers/SAXParserFactory", "new(NS)?Instance", "\\(Ljava/lang/String;.*"},
    {"natives", "java/lang/System", "load|loadLibrary", ".*"},
    {"natives", "java/lang/Runtime", "load|loadLibrary", ".*"},
    {"natives", "java/lang/foreign/SymbolLookup", "libraryLookup", ".*"},
    {"natives", "java/lang/foreign/Linker", "downcallHandle|upcallStub", ".*"},
    {"natives", "java/lang/foreign/MemorySegment", "reinterpret", ".*"},
    {"natives", "sun/misc/Unsafe", "(?!<)(get|put|copy|set|allocate|free|define).*", ".*"},
    {"reflection", "java/lang/reflect/Method", "invoke", ".*"},
    {"reflection", "java/lang/reflect/Constructor", "newInstance", ".*"},
    {"reflection", "java/lang/reflect/Field", "(get|set)(Boolean|Byte|Char|Short|Int|Long|Float|Double)?", ".*"},
    {"reflection", "java/lang/reflect/AccessibleObject", "(try)?[sS]etAccessible", ".*"},
    {"reflection", "java/lang/reflect/Proxy", "newProxyInstance", ".*"},
    {"reflection", "java/lang/Class", "newInstance", ".*"},
    {"reflection", "java/lang/invoke/MethodHandle", "invoke.*", ".*"},
    {"reflection", "java/lang/invoke/MethodHandles$Lookup", "(find|unreflect|bind).*", ".*"},
    {"deserialization", "java/io/ObjectInputStream", "<init>|readObject|readUnshared", ".*"},
    {"deserialization", "java/io/ObjectInput", "readObject", ".*"},
    {"threads", "java/lang/Thread", "start|startVirtualThread|stop|suspend|resume|interrupt"
        + "|set(?!Name).*|enumerate|getAllStackTraces|getStackTrace", ".*"},
    {"threads", "java/lang/ThreadGroup", "stop|suspend|resume|interrupt|destroy|enumerate|set.*|list", ".*"},
    {"threads", "java/lang/Thread$Builder.*|java/util/concurrent/ThreadFactory", "start|unstarted|newThread|factory", ".*"},
    {"threads", "java/util/concurrent/(Executor|.*ExecutorService|.*Executor|ForkJoinPool|ForkJoinTask)",
        "execute|submit|invoke.*|schedule.*|fork", ".*"},
    {"threads", "java/util/Timer", "schedule.*", ".*"},
    {"threads", "java/util/concurrent/(CompletableFuture|CompletionStage)", ".*Async", ".*"},
    {"threads", "java/util/(Collection|stream/BaseStream)", "parallel|parallelStream", ".*"},
    {"threads", "java/lang/management/ThreadMXBean", "dump.*|find.*|getThread(Info|Cpu.*|User.*|Allocated.*)", ".*"},
    {"network", "java/net/(Server|Datagram|Multicast)?Socket", "<init>", "\\([^)]+\\).*"},
    {"network", "java/net/(Server|Datagram|Multicast)?Socket", "connect|bind|accept|send|receive|joinGroup", ".*"},
    {"network", "java/net/InetAddress", "get(All)?ByName|getHostName|getCanonicalHostName|isReachable|getLocalHost", ".*"},
    {"network", "java/net/NetworkInterface", "getBy.*|getNetworkInterfaces|networkInterfaces", ".*"},
    {"network", "java/net/InetSocketAddress", "<init>", "\\(Ljava/lang/String;.*"},
    {"network", "java/net/URL", "openConnection|openStream|getContent|equals|hashCode|sameFile", ".*"},
    {"network", "java/net/(URL|Http.*|Jar.*)Connection", "connect|get(Input|Output)Stream|getContent|getHeader.*", ".*"},
    {"network", "java/net/http/HttpClient", "send|sendAsync|newWebSocketBuilder", ".*"},
    {"network", "java/net/http/WebSocket$Builder", "buildAsync", ".*"},
    {"network", "java/nio/channels/.*(Socket|Datagram)Channel", "open|connect|bind|accept|send|receive|join", ".*"},
    {"network", "javax/net/(ssl/)?.*SocketFactory", "create.*Socket", ".*"},
    {"network", "java/sql/(DriverManager|Driver)", "getConnection|connect", ".*"},
    {"network", "javax/sql/.*DataSource", "get.*Connection", ".*"},
    {"network", "javax/naming/(directory/|ldap/|event/)?Initial.*Context|javax/naming/Context", "<init>|lookup.*|doLookup", ".*"},
    {"network", "java/rmi/(Naming|registry/(LocateRegistry|Registry)|server/UnicastRemoteObject)",
        "lookup|bind|rebind|unbind|list|getRegistry|createRegistry|exportObject", ".*"},
    {"network", "javax/management/remote/JMXConnector(Factory|Server)?", "connect|start|newJMXConnector", ".*"},
    {"network", "java/.*|javax/.*|org/.*|com/sun/org/apache/.*|com/sun/rowset/.*|sun/security/.*", ".*",
        NAMES_OF_DOCUMENTS},
    {"network", "com/sun/net/httpserver/Https?Server", "create|bind|start", ".*"},
  };

  private static final Map<String, String> MEANINGS = new LinkedHashMap<>();

  /** Much of the JDK loads classes and calls methods by its own names: at a greater distance that means nothing. */
  private static final Map<String, Integer> DEPTHS = Map.of("files", 5, "processes", 5, "classes", 3, "natives", 5,
      "reflection", 2, "deserialization", 4, "threads", 1, "network", 4);

  /** These packages are about files and hosts, and reach them by long ways. */
  private static final Pattern DEEPER = Pattern.compile("(java/(beans|net|nio)|javax/(imageio|print|sound|sql|xml)"
      + "|javax/swing/text|org/(jcp|w3c|xml)|com/sun/(org/apache|rowset|media)|sun/(net|nio|print))/.*");
  private static final Map<String, Integer> DEEPER_DEPTHS = Map.of("files", 12, "network", 12);

  static {
    MEANINGS.put("files", "opens, lists, changes or deletes files");
    MEANINGS.put("processes", "starts programs, or reaches into other processes");
    MEANINGS.put("classes", "loads classes");
    MEANINGS.put("natives", "loads native code, or reaches raw memory");
    MEANINGS.put("reflection", "calls members by name");
    MEANINGS.put("deserialization", "reads serialised objects");
    MEANINGS.put("threads", "starts threads, or stops, changes or shows those of others");
    MEANINGS.put("network", "connects, listens, or looks up hosts");
  }

    // ---- the classes of a JDK

  private record Call(String owner, String name, String descriptor, boolean isStatic, long[] flows) {}

  private static final class ClassFacts {
    String name;
    String superclass;
    List<String> interfaces;
    boolean isListed; // the class and the classes around it are public, and its package is exported
    final Map<String, Integer> methods = new LinkedHashMap<>(); // name and descriptor to access
    final Map<String, Set<String>> calls = new HashMap<>(); // of each method: keys with the text from the class file
    byte[] bytes;
  }

  private final Map<String, ClassFacts> classes = new HashMap<>();
  private final Map<String, List<String>> subtypes = new HashMap<>();
  private final Map<String, Set<String>> callers = new HashMap<>();
  private final Map<String, List<Call>> analysed = new HashMap<>();
  private final Map<String, Map<String, MethodNode>> nodes = new HashMap<>();

  /** The reader is of an older JDK than some classes: the format of code has not changed since. */
  private static byte[] lowerVersion(byte[] bytes) {
    if (bytes[7] > 61) {
      bytes[7] = 61;
    }
    return bytes;
  }

  private void readImage(Path home) throws IOException {
    try (FileSystem image = FileSystems.newFileSystem(URI.create("jrt:/"), Map.of("java.home", home.toString()))) {
      List<Path> modules;
      try (Stream<Path> listed = Files.list(image.getPath("/modules"))) {
        modules = listed.sorted().toList();
      }
      for (Path module : modules) {
        readModule(module);
      }
    }
    for (ClassFacts facts : classes.values()) {
      facts.isListed &= isOuterListed(facts.name);
      subtypes.computeIfAbsent(String.valueOf(facts.superclass), key -> new ArrayList<>()).add(facts.name);
      for (String each : facts.interfaces) {
        subtypes.computeIfAbsent(each, key -> new ArrayList<>()).add(facts.name);
      }
    }
    for (ClassFacts facts : classes.values()) {
      facts.calls.forEach((method, called) -> {
        for (String each : called) {
          String target = resolve(each);
          if (target != null) {
            callers.computeIfAbsent(target, key -> new TreeSet<>()).add(facts.name + "." + method);
          }
        }
      });
    }
  }

  private boolean isOuterListed(String name) {
    int dollar = name.lastIndexOf('$');
    ClassFacts outer = dollar < 0 ? null : classes.get(name.substring(0, dollar));
    return outer == null || outer.isListed && isOuterListed(outer.name);
  }

  private void readModule(Path module) throws IOException {
    Set<String> exported = new HashSet<>();
    byte[] info = lowerVersion(Files.readAllBytes(module.resolve("module-info.class")));
    ClassNode descriptor = new ClassNode();
    new ClassReader(info).accept(descriptor, 0);
    if (descriptor.module.exports != null) {
      for (ModuleExportNode each : descriptor.module.exports) {
        if (each.modules == null || each.modules.isEmpty()) {
          exported.add(each.packaze);
        }
      }
    }
    try (Stream<Path> files = Files.walk(module)) {
      files.filter(file -> file.toString().endsWith(".class") && !file.endsWith("module-info.class")).sorted()
          .forEach(file -> {
            try {
              readClass(lowerVersion(Files.readAllBytes(file)), exported);
            } catch (IOException failed) {
              throw new UncheckedIOException(failed);
            }
          });
    }
  }

  private void readClass(byte[] bytes, Set<String> exported) {
    ClassNode node = new ClassNode();
    new ClassReader(bytes).accept(node, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
    ClassFacts facts = new ClassFacts();
    facts.name = node.name;
    facts.superclass = node.superName;
    facts.interfaces = node.interfaces;
    facts.bytes = bytes;
    int slash = node.name.lastIndexOf('/');
    int access = node.innerClasses.stream().filter(each -> each.name.equals(node.name)).findFirst()
        .map(each -> each.access).orElse(node.access);
    facts.isListed = (access & Opcodes.ACC_PUBLIC) != 0
        && exported.contains(node.name.substring(0, Math.max(slash, 0)));
    for (MethodNode method : node.methods) {
      facts.methods.put(method.name + method.desc, method.access);
      Set<String> called = new HashSet<>();
      for (AbstractInsnNode instruction : method.instructions) {
        if (instruction instanceof MethodInsnNode call) {
          called.add(call.owner + "." + call.name + call.desc);
          for (String run : runOf(call)) {
            called.add(call.owner + "." + run);
          }
        } else if (instruction instanceof InvokeDynamicInsnNode dynamic) {
          for (Object argument : dynamic.bsmArgs) {
            if (argument instanceof Handle handle) {
              called.add(handle.getOwner() + "." + handle.getName() + handle.getDesc());
            }
          }
        }
      }
      facts.calls.put(method.name + method.desc, called);
    }
    classes.put(node.name, facts);
  }

  private static final Pattern ANONYMOUS = Pattern.compile(".*\\$\\d+");

  /** The methods by which others run an anonymous class that is made here. */
  private static List<String> runOf(MethodInsnNode call) {
    return call.name.equals("<init>") && ANONYMOUS.matcher(call.owner).matches()
        ? List.of("run()Ljava/lang/Object;", "call()Ljava/lang/Object;", "run()V", "get()Ljava/lang/Object;")
        : List.of();
  }

  /** The method that a name means: of the class itself, or of the nearest above it. */
  private String resolve(String key) {
    int dot = key.indexOf('.');
    String method = key.substring(dot + 1);
    ArrayDeque<String> open = new ArrayDeque<>(List.of(key.substring(0, dot)));
    Set<String> seen = new HashSet<>();
    while (!open.isEmpty()) {
      ClassFacts facts = classes.get(open.poll());
      if (facts == null || !seen.add(facts.name)) {
        continue;
      }
      if (facts.methods.containsKey(method)) {
        return facts.name + "." + method;
      }
      if (method.startsWith("<")) {
        return null;
      }
      if (facts.superclass != null) {
        open.addFirst(facts.superclass);
      }
      open.addAll(facts.interfaces);
    }
    return null;
  }

  // ---- the flow inside a method

  /** The parameters (by local variable) that a value comes from, and the instruction that made an object or array. */
  private record Flow(int size, long from, AbstractInsnNode origin) implements Value {
    @Override
    public int getSize() {
      return size;
    }
  }

  private static final class Flows extends Interpreter<Flow> {
    final Map<AbstractInsnNode, Long> made = new IdentityHashMap<>();
    boolean hasChanged;

    Flows() {
      super(Opcodes.ASM8);
    }

    private static Flow of(Type type, long from) {
      return type == null || type.getSort() != Type.VOID ? new Flow(type == null ? 1 : type.getSize(), from, null)
          : null;
    }

    private Flow making(AbstractInsnNode instruction, long from) {
      return new Flow(1, from | made.getOrDefault(instruction, 0L), instruction);
    }

    private void pour(Flow into, long from) {
      if (into.origin != null && (made.getOrDefault(into.origin, 0L) | from) != made.getOrDefault(into.origin, 0L)) {
        made.merge(into.origin, from, (old, more) -> old | more);
        hasChanged = true;
      }
    }

    @Override
    public Flow newValue(Type type) {
      return of(type, 0);
    }

    @Override
    public Flow newParameterValue(boolean isInstance, int local, Type type) {
      return of(type, local < Long.SIZE ? 1L << local : 0);
    }

    @Override
    public Flow newOperation(AbstractInsnNode instruction) {
      switch (instruction.getOpcode()) {
        case Opcodes.LCONST_0, Opcodes.LCONST_1, Opcodes.DCONST_0, Opcodes.DCONST_1:
          return new Flow(2, 0, null);
        case Opcodes.LDC:
          Object constant = ((LdcInsnNode) instruction).cst;
          return new Flow(constant instanceof Long || constant instanceof Double ? 2 : 1, 0, null);
        case Opcodes.GETSTATIC:
          return of(Type.getType(((FieldInsnNode) instruction).desc), 0);
        case Opcodes.NEW:
          return making(instruction, 0);
        default:
          return new Flow(1, 0, null);
      }
    }

    @Override
    public Flow copyOperation(AbstractInsnNode instruction, Flow value) {
      return value;
    }

    @Override
    public Flow unaryOperation(AbstractInsnNode instruction, Flow value) {
      switch (instruction.getOpcode()) {
        case Opcodes.GETFIELD:
          return of(Type.getType(((FieldInsnNode) instruction).desc), value.from);
        case Opcodes.CHECKCAST:
          return value;
        case Opcodes.INSTANCEOF, Opcodes.ARRAYLENGTH:
          return new Flow(1, 0, null);
        case Opcodes.NEWARRAY, Opcodes.ANEWARRAY:
          return making(instruction, 0);
        case Opcodes.LNEG, Opcodes.DNEG, Opcodes.I2L, Opcodes.I2D, Opcodes.L2D, Opcodes.F2L, Opcodes.F2D, Opcodes.D2L:
          return new Flow(2, value.from, null);
        default:
          return new Flow(1, value.from, null);
      }
    }

    @Override
    public Flow binaryOperation(AbstractInsnNode instruction, Flow left, Flow right) {
      switch (instruction.getOpcode()) {
        case Opcodes.PUTFIELD:
          pour(left, right.from);
          return null;
        case Opcodes.AALOAD:
          return new Flow(1, left.from, null);
        case Opcodes.LALOAD, Opcodes.DALOAD, Opcodes.LADD, Opcodes.DADD, Opcodes.LSUB, Opcodes.DSUB, Opcodes.LMUL,
            Opcodes.DMUL, Opcodes.LDIV, Opcodes.DDIV, Opcodes.LREM, Opcodes.DREM, Opcodes.LSHL, Opcodes.LSHR,
            Opcodes.LUSHR, Opcodes.LAND, Opcodes.LOR, Opcodes.LXOR:
          return new Flow(2, left.from | right.from, null);
        default:
          return new Flow(1, left.from | right.from, null);
      }
    }

    @Override
    public Flow ternaryOperation(AbstractInsnNode instruction, Flow array, Flow index, Flow value) {
      pour(array, value.from);
      return null;
    }

    @Override
    public Flow naryOperation(AbstractInsnNode instruction, List<? extends Flow> values) {
      long from = 0;
      for (Flow value : values) {
        from |= value.from;
      }
      if (instruction instanceof MethodInsnNode call) {
        if (call.getOpcode() != Opcodes.INVOKESTATIC) {
          pour(values.get(0), from);
        }
        return of(Type.getReturnType(call.desc), from);
      }
      if (instruction instanceof InvokeDynamicInsnNode dynamic) {
        return of(Type.getReturnType(dynamic.desc), from);
      }
      return making(instruction, 0);
    }

    @Override
    public void returnOperation(AbstractInsnNode instruction, Flow value, Flow expected) {}

    @Override
    public Flow merge(Flow left, Flow right) {
      if (left.equals(right)) {
        return left;
      }
      return new Flow(Math.min(left.size, right.size), left.from | right.from,
          left.origin == right.origin ? left.origin : null);
    }
  }

  private MethodNode nodeOf(String key) {
    int dot = key.indexOf('.');
    ClassFacts facts = classes.get(key.substring(0, dot));
    return nodes.computeIfAbsent(facts.name, name -> {
      ClassNode node = new ClassNode();
      new ClassReader(facts.bytes).accept(node, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
      Map<String, MethodNode> methods = new HashMap<>();
      for (MethodNode method : node.methods) {
        methods.put(method.name + method.desc, method);
      }
      return methods;
    }).get(key.substring(dot + 1));
  }

  /** The calls in a method, with the parameters that flow into each argument. */
  private List<Call> callsOf(String key) {
    return analysed.computeIfAbsent(key, missing -> {
      MethodNode method = nodeOf(key);
      Flows flows = new Flows();
      Frame<Flow>[] frames;
      try {
        do {
          flows.hasChanged = false;
          frames = new Analyzer<>(flows).analyze(key.substring(0, key.indexOf('.')), method);
        } while (flows.hasChanged);
      } catch (AnalyzerException failed) {
        throw new IllegalStateException(key, failed);
      }
      List<Call> calls = new ArrayList<>();
      for (int i = 0; i < frames.length; i++) {
        AbstractInsnNode instruction = method.instructions.get(i);
        if (frames[i] == null) {
          continue;
        }
        if (instruction instanceof MethodInsnNode call) {
          boolean isStatic = call.getOpcode() == Opcodes.INVOKESTATIC;
          long[] argumentFlows = popped(frames[i], call.desc, isStatic);
          calls.add(new Call(call.owner, call.name, call.desc, isStatic, argumentFlows));
          long all = 0;
          for (long each : argumentFlows) {
            all |= each;
          }
          for (String run : runOf(call)) {
            int parenthesis = run.indexOf('(');
            calls.add(new Call(call.owner, run.substring(0, parenthesis), run.substring(parenthesis), false,
                new long[] {all}));
          }
        } else if (instruction instanceof InvokeDynamicInsnNode dynamic) {
          long[] captured = popped(frames[i], dynamic.desc, true);
          for (Object argument : dynamic.bsmArgs) {
            if (argument instanceof Handle handle) {
              boolean isStatic = handle.getTag() == Opcodes.H_INVOKESTATIC;
              calls.add(new Call(handle.getOwner(), handle.getName(), handle.getDesc(), isStatic, captured));
            }
          }
        }
      }
      return calls;
    });
  }

  /** By the local variable of the called method. */
  private static long[] popped(Frame<Flow> frame, String descriptor, boolean isStatic) {
    Type[] types = Type.getArgumentTypes(descriptor);
    List<Long> flows = new ArrayList<>();
    int at = frame.getStackSize() - types.length - (isStatic ? 0 : 1);
    if (!isStatic) {
      flows.add(frame.getStack(at++).from);
    }
    for (Type type : types) {
      flows.add(frame.getStack(at++).from);
      if (type.getSize() == 2) {
        flows.add(0L);
      }
    }
    return flows.stream().mapToLong(Long::longValue).toArray();
  }

  // ---- from the sinks up

  /** Of one kind: methods, and the parameters that reach a sink. */
  private final class Reaching {
    final Map<String, Long> parameters = new LinkedHashMap<>();

    private boolean add(String method, long more) {
      long old = parameters.getOrDefault(method, 0L);
      parameters.put(method, old | more);
      return (old | more) != old;
    }

    void walk(Set<String> sinks, int depths, int deeper) {
      Set<String> level = new TreeSet<>(sinks);
      sinks.forEach(sink -> add(sink, ~0L));
      for (int depth = 0; depth < Math.max(depths, deeper) && !level.isEmpty(); depth++) {
        Set<String> next = new TreeSet<>();
        for (String reached : withOverridden(level)) {
          for (String caller : callers.getOrDefault(reached, Set.of())) {
            if (depth >= depths && !DEEPER.matcher(caller).matches()) {
              continue;
            }
            long from = 0;
            for (Call call : callsOf(caller)) {
              if (reached.equals(resolve(call.owner + "." + call.name + call.descriptor))) {
                from |= flowInto(call, parameters.get(reached));
              }
            }
            if (from != 0 && add(caller, from)) {
              next.add(caller);
            }
          }
        }
        level = next;
      }
      withOverridden(level);
    }

    private long flowInto(Call call, long wanted) {
      long from = 0;
      for (int i = 0; i < call.flows.length && i < Long.SIZE; i++) {
        from |= (wanted & 1L << i) != 0 ? call.flows[i] : 0;
      }
      return from;
    }

    /** Adds the methods above, where at least half of the methods that override them reach a sink. */
    private Set<String> withOverridden(Set<String> level) {
      Set<String> all = new TreeSet<>(level);
      for (String method : level) {
        int dot = method.indexOf('.');
        String signature = method.substring(dot + 1);
        long arguments = parameters.get(method) & ~1L;
        int access = classes.get(method.substring(0, dot)).methods.get(signature);
        if (signature.startsWith("<") || (access & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE)) != 0
            || arguments == 0) {
          continue;
        }
        for (String above : above(method.substring(0, dot))) {
          Integer overridden = classes.get(above).methods.get(signature);
          if (overridden != null && (overridden & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE)) == 0
              && mostReach(above, signature) && add(above + "." + signature, arguments)) {
            all.add(above + "." + signature);
          }
        }
      }
      return all;
    }

    private boolean mostReach(String base, String signature) {
      int concrete = 0;
      int reaching = 0;
      ArrayDeque<String> open = new ArrayDeque<>(List.of(base));
      Set<String> seen = new HashSet<>();
      while (!open.isEmpty()) {
        String name = open.poll();
        if (!seen.add(name)) {
          continue;
        }
        open.addAll(subtypes.getOrDefault(name, List.of()));
        Integer access = classes.get(name).methods.get(signature);
        if (access != null && (access & Opcodes.ACC_ABSTRACT) == 0) {
          concrete++;
          reaching += parameters.containsKey(name + "." + signature) ? 1 : 0;
        }
      }
      return reaching * 2 >= concrete;
    }
  }

  private Set<String> above(String name) {
    Set<String> all = new TreeSet<>();
    ArrayDeque<String> open = new ArrayDeque<>(List.of(name));
    while (!open.isEmpty()) {
      ClassFacts facts = classes.get(open.poll());
      if (facts == null) {
        continue;
      }
      List<String> direct = new ArrayList<>(facts.interfaces);
      if (facts.superclass != null) {
        direct.add(facts.superclass);
      }
      for (String each : direct) {
        if (classes.containsKey(each) && all.add(each)) {
          open.add(each);
        }
      }
    }
    return all;
  }

  private Set<String> sinksOf(String kind) {
    Set<String> found = new TreeSet<>();
    for (String[] sink : SINKS) {
      if (!sink[0].equals(kind)) {
        continue;
      }
      Pattern owner = Pattern.compile(sink[1].replace("$", "\\$"));
      Pattern wanted = Pattern.compile("(" + sink[2] + ")(" + sink[3] + ")");
      for (ClassFacts facts : classes.values()) {
        if (owner.matcher(facts.name).matches()) {
          facts.methods.keySet().stream().filter(method -> wanted.matcher(method).matches())
              .forEach(method -> found.add(facts.name + "." + method));
        }
      }
    }
    return found;
  }

  /** Kind to class to members. */
  private void list(Map<String, Map<String, Set<String>>> listed) {
    for (String kind : MEANINGS.keySet()) {
      Reaching reaching = new Reaching();
      reaching.walk(sinksOf(kind), DEPTHS.get(kind), DEEPER_DEPTHS.getOrDefault(kind, 0));
      for (String method : reaching.parameters.keySet()) {
        int dot = method.indexOf('.');
        ClassFacts facts = classes.get(method.substring(0, dot));
        String signature = method.substring(dot + 1);
        int access = facts.methods.get(signature);
        if (facts.isListed && (access & Opcodes.ACC_PUBLIC) != 0 && (access & Opcodes.ACC_SYNTHETIC) == 0) {
          listed.computeIfAbsent(kind, key -> new TreeMap<>())
              .computeIfAbsent(facts.name.replace('/', '.'), key -> new TreeSet<>())
              .add(signature.substring(0, signature.indexOf('(')));
        }
      }
    }
  }

  private static void print(Map<String, Map<String, Set<String>>> listed, StringBuilder out) {
    out.append("""
        # Made by tools/dangerous-members; do not edit. Public members of the JDK's exported packages from which what
        # a caller gives reaches one of these within a few calls. Errors and `jpeer policy check` name them.
        version: 1
        kinds:
        """);
    MEANINGS.forEach((kind, meaning) -> out.append("  ").append(kind).append(": ").append(meaning).append('\n'));
    out.append("members:\n");
    listed.forEach((kind, byClass) -> {
      out.append("  ").append(kind).append(":\n");
      byClass.forEach((name, members) -> {
        StringBuilder line = new StringBuilder("    " + name + ": [");
        int start = 0;
        String separator = "";
        for (String member : members) {
          if (line.length() - start + separator.length() + member.length() > 108) {
            line.append(",\n        ");
            start = line.length() - 8;
            separator = "";
          }
          line.append(separator).append(member);
          separator = ", ";
        }
        out.append(line).append("]\n");
      });
    });
  }

  public static void main(String[] homes) throws IOException {
    Map<String, Map<String, Set<String>>> listed = new LinkedHashMap<>();
    MEANINGS.keySet().forEach(kind -> listed.put(kind, new TreeMap<>()));
    for (String home : homes) {
      DangerousMembers jdk = new DangerousMembers();
      jdk.readImage(Path.of(home));
      jdk.list(listed);
    }
    StringBuilder out = new StringBuilder();
    print(listed, out);
    System.out.print(out);
  }
}

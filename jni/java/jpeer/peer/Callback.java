package jpeer.peer;

import java.lang.ref.Reference;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * What a proxy of a client's object does. Proxy.getInvocationHandler hands it to anyone, so it acts for its own proxy
 * alone, and for the methods that this has. C checks what it is given again.
 */
final class Callback implements InvocationHandler {
  private final CallbackKind kind;
  private final long number;
  private final long id;
  private Object proxy;

  private Callback(CallbackKind kind, long number, long id) {
    this.kind = kind;
    this.number = number;
    this.id = id;
  }

  /**
   * The handler of a new proxy. C knows it by the number, its client by the id. null: the proxy's class would be one
   * more than classesMax (0: any number).
   */
  static Callback make(CallbackKind kind, long number, long id, int classesMax) {
    Callback made = new Callback(kind, number, id);
    if (!kind.admitClass(classesMax)) {
      return null;
    }
    try {
      made.proxy = Proxy.newProxyInstance(kind.loader, kind.interfaces, made);
    } catch (Throwable e) { // interfaces that contradict one another, or memory is short
      kind.forgetClass();
      throw e;
    }
    Released.watch(made, number);
    return made;
  }

  @Override
  public Object invoke(Object target, Method method, Object[] arguments) throws Throwable {
    try {
      return act(target, method, arguments);
    } finally {
      // Compiled code may have forgotten both, while a call waits.
      Reference.reachabilityFence(this);
      Reference.reachabilityFence(target);
    }
  }

  private Object act(Object target, Method method, Object[] arguments) throws Throwable {
    if (target != proxy || target == null) {
      throw new IllegalArgumentException("this handler acts for its own proxy alone");
    }
    int index = kind.indexOf(method);
    if (index < 0) {
      return answerByIdentity(index, arguments);
    }
    int ofObject = kind.methodOfObject(index);
    if (ofObject != CallbackKind.OF_INTERFACE) {
      return callOrAnswer(index, ofObject, arguments);
    }
    return kind.isSent(index) ? call(index, arguments) : runDefault(index, arguments);
  }

  private Object answerByIdentity(int which, Object[] arguments) {
    switch (which) {
      case CallbackKind.EQUALS:
        return arguments != null && arguments.length == 1 && arguments[0] == proxy;
      case CallbackKind.HASH_CODE:
        return System.identityHashCode(proxy);
      case CallbackKind.TO_STRING:
        return "callback " + id;
      default: // FINALIZE
        return null;
    }
  }

  /** When its client has ended, others still have to find the object, to remove it from what they keep. */
  private Object callOrAnswer(int index, int which, Object[] arguments) throws Throwable {
    if (!isReachable(number)) {
      return answerByIdentity(which, arguments);
    }
    try {
      return call(index, arguments);
    } catch (CallbackException e) {
      if (isReachable(number)) {
        throw e;
      }
      return answerByIdentity(which, arguments);
    }
  }

  private Object runDefault(int index, Object[] arguments) throws Throwable {
    return kind.isDirect(index)
        ? InvocationHandler.invokeDefault(proxy, kind.method(index), arguments)
        : run(number, index, arguments);
  }

  private Object call(int index, Object[] arguments) throws Throwable {
    Waiting waiting = new Waiting();
    Thread thread = Thread.currentThread();
    if (!(thread instanceof PeerThread)) {
      return await(waiting, call(number, index, arguments, waiting, thread.isInterrupted()));
    }
    PeerThread own = (PeerThread) thread;
    Waiting outer = own.waiting;
    own.waiting = waiting;
    try {
      return await(waiting, call(number, index, arguments, waiting, thread.isInterrupted()));
    } finally {
      own.waiting = outer;
    }
  }

  /** What C gives is the wait itself as long as there is no result. */
  private Object await(Waiting waiting, Object first) throws Throwable {
    Object result = first;
    while (result == waiting) {
      try {
        waiting.park();
      } catch (Throwable e) { // the stack has ended, memory is short, or somebody has stopped the thread
        abandon(waiting);
        throw e;
      }
      result = resume(waiting);
    }
    return result;
  }

  private native Object call(
      long number, int index, Object[] arguments, Waiting waiting, boolean isInterrupted) throws Throwable;

  /** Whether the client can be called. */
  private native boolean isReachable(long number);

  private native Object resume(Waiting waiting) throws Throwable;

  private native void abandon(Waiting waiting);

  private native Object run(long number, int index, Object[] arguments) throws Throwable;
}

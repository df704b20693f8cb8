package jpeer.peer;

import java.lang.ref.Reference;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * The invocation handler of a client's object. Any code can get it by Proxy.getInvocationHandler, so it acts
 * only for its own proxy and the methods of that proxy. C checks all parameters again.
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
   * Makes the handler of a new proxy. C identifies the handler by the number, and the client identifies it by
   * the id. Returns null if the proxy's class would exceed classesMax (0: any number).
   */
  static Callback make(CallbackKind kind, long number, long id, int classesMax) {
    Callback made = new Callback(kind, number, id);
    if (!kind.admitClass(classesMax)) {
      return null;
    }
    try {
      made.proxy = Proxy.newProxyInstance(kind.loader, kind.interfaces, made);
    } catch (Throwable e) { // conflicting interfaces, or memory is short
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
      // Keeps both objects reachable while a call waits. Compiled code might drop them before.
      Reference.reachabilityFence(this);
      Reference.reachabilityFence(target);
    }
  }

  private Object act(Object target, Method method, Object[] arguments) throws Throwable {
    if (target != proxy || target == null) {
      throw new IllegalArgumentException("this handler acts only for its own proxy");
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

  /**
   * Calls the client. If the client has ended, equals and hashCode answer by the object's identity, so that
   * hash tables can still find and remove the object.
   */
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

  /** C returns the Waiting object itself until the call has a result. */
  private Object await(Waiting waiting, Object first) throws Throwable {
    Object result = first;
    while (result == waiting) {
      try {
        waiting.park();
      } catch (Throwable e) { // the stack is full, memory is short, or the thread was stopped
        abandon(waiting);
        throw e;
      }
      result = resume(waiting);
    }
    return result;
  }

  private native Object call(
      long number, int index, Object[] arguments, Waiting waiting, boolean isInterrupted) throws Throwable;

  /** True if the client can be called. */
  private native boolean isReachable(long number);

  private native Object resume(Waiting waiting) throws Throwable;

  private native void abandon(Waiting waiting);

  private native Object run(long number, int index, Object[] arguments) throws Throwable;
}

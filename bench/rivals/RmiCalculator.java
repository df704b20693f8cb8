import java.rmi.Remote;
import java.rmi.RemoteException;

/** What is called over RMI. */
public interface RmiCalculator extends Remote {
  int add(int a, int b) throws RemoteException;
}

import java.rmi.Remote;
import java.rmi.RemoteException;

/** The method that is called over RMI. */
public interface RmiCalculator extends Remote {
  int add(int a, int b) throws RemoteException;
}

"""Swing models without a screen: listeners in Python, on the thread that changes the model and on Swing's own
thread."""

import threading

import jpeer

with jpeer.launch(jvm_options=["-Djava.awt.headless=true"]) as java:
    swing = java.javax.swing

    model = swing.table.DefaultTableModel(jpeer.cast("java.lang.Object[]", ["name", "year"]), 0)
    events = []
    model.addTableModelListener(lambda event: events.append((event.getType(), event.getFirstRow())))
    model.addRow(jpeer.cast("java.lang.Object[]", ["Emma", 1815]))
    model.setValueAt("Persuasion", 0, 0)
    model.removeRow(0)
    event_class = swing.event.TableModelEvent
    assert events == [(event_class.INSERT, 0), (event_class.UPDATE, 0), (event_class.DELETE, 0)], events

    @jpeer.implements("javax.swing.event.ListDataListener")
    class Seen:
        def __init__(self):
            self.calls = []

        def intervalAdded(self, event):
            self.calls.append(("added", event.getIndex0()))

        def intervalRemoved(self, event):
            self.calls.append(("removed", event.getIndex0()))

        def contentsChanged(self, event):
            self.calls.append(("changed", event.getIndex0()))

    names = swing.DefaultListModel()
    seen = Seen()
    names.addListDataListener(seen)
    names.addElement("a")
    names.set(0, "b")
    names.removeListDataListener(seen)
    names.addElement("unheard")
    assert seen.calls == [("added", 0), ("changed", 0)], seen.calls

    pressed = threading.Event()
    button = swing.JButton("Save")
    button.addActionListener(lambda event: pressed.set() if swing.SwingUtilities.isEventDispatchThread() else None)
    swing.SwingUtilities.invokeLater(button.doClick)
    assert pressed.wait(60)

    # A Swing timer calls while Python does something else.
    ticks = threading.Semaphore(0)
    timer = swing.Timer(10, lambda event: ticks.release())
    timer.start()
    for _ in range(3):
        assert ticks.acquire(timeout=60)
    timer.stop()
    print("listeners were called:", *events, *seen.calls)

"""A million Java objects at the same time, then released: the memory that remains on both sides."""

import gc
import os

import jpeer

COUNT = 1_000_000


def resident_mib(process):
    with open(f"/proc/{process}/statm", encoding="ascii") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20


def sizes(java):
    gc.collect()
    java.gc()
    return resident_mib(os.getpid()), resident_mib(java.process_id)


with jpeer.launch(jvm_options=["-Xmx256m"]) as java:
    Object = java.java.lang.Object
    for _ in range(COUNT):
        Object()
    before, steady = java.stats()["objects"], sizes(java)
    for _ in range(2):
        held = [Object() for _ in range(COUNT)]
        assert java.stats()["objects"] >= COUNT
        del held
    after, left = java.stats()["objects"], sizes(java)
    for _ in range(COUNT):
        Object()
    again = sizes(java)
    assert after <= before, (before, after)
    assert again[0] <= left[0] + 16 and again[1] <= left[1] + 32, (steady, left, again)
    print(f"{4 * COUNT:,} objects made, {COUNT:,} at once; {after} left; MiB here and there {steady} -> {again}")

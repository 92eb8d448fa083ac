"""The worker of the conformance test for Python. conformance.py documents workers."""

import os
import sys
import threading

import redlock_agent


def say(*words):
    os.write(1, (" ".join(str(w) for w in words) + "\n").encode())


def hold(session, name, wait, over, locks):
    try:
        with session.lock(name, wait=wait) as lock:
            locks.append(lock)
            say(name, "holds", lock.token)
            while not over.is_set():
                lock.check()
                lock.lost.wait(0.01)
        say(name, "released")
    except redlock_agent.Lost:
        say(name, "lost")
    except (redlock_agent.Problem, redlock_agent.Unreachable) as e:
        say(name, "failed", getattr(e, "word", "unreachable"))


def fork(locks):
    if os.fork() == 0:
        try:
            locks[0].check()
            say("fork uses it")
        except redlock_agent.Closed:
            say("fork refused")
        os._exit(0)
    os.wait()


def main(socket, wait, *names):
    over, locks = threading.Event(), []
    with redlock_agent.Session(socket) as session:
        threads = [threading.Thread(target=hold, args=(session, name, float(wait), over, locks)) for name in names]
        for thread in threads:
            thread.start()
        for line in sys.stdin:
            if line == "fork\n":
                fork(locks)
            if line == "end\n":
                over.set()
                break
        for thread in threads:
            thread.join()


main(*sys.argv[1:])

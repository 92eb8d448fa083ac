"""A program under test: it writes to a store under a lock of an agent, and says what it believes.

    worker.py SOCKET STORE LONGEST KIND

Each line that it prints is an object: what, token, at (nanoseconds of the clock that all processes of
the machine share) and more. It holds a lock for up to LONGEST writes. If KIND is "stubborn", it does
not stop between its look at the lock and the end of the write, as code may that cannot.
"""

import json
import random
import signal
import sys
import time
import urllib.error
import urllib.request

import redlock_agent

SESSION = 2.0  # seconds


def clock():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def say(what, token=0, **more):
    print(json.dumps({"what": what, "token": token, "at": clock(), **more}), flush=True)


def write(store, token):
    try:
        urllib.request.urlopen(f"{store}?token={token}", data=b"", timeout=20).close()
        say("wrote", token)
    except urllib.error.HTTPError as e:
        e.close()
        say("stale" if e.code == 409 else "refused", token)


def turn(session, store, longest, kind):
    lock = session.lock("account", wait=5)
    try:
        with lock:
            say("held", lock.token)
            for _ in range(random.randint(1, longest)):
                at = clock()
                lock.check()
                say("valid", lock.token, at=at)
                if kind == "stubborn":
                    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                time.sleep(0.05)  # a program may be stopped here
                write(store, lock.token)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    except redlock_agent.Lost as e:
        say("lost", lock.token, late=redlock_agent.now() - lock._until, why=str(e))


def main(socket, store, longest, kind):
    while True:
        try:
            with redlock_agent.Session(socket, ttl=SESSION) as session:
                say("session")
                while session._over is None:
                    turn(session, store, longest, kind)
        except (redlock_agent.Problem, redlock_agent.Unreachable) as e:
            say("failed", why=str(e))
            time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])

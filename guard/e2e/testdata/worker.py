"""A program under test: it writes to a store under a lock of an agent, and says what it believes.

    worker.py SOCKET STORE LONGEST WAY

Each line that it prints is an object: what, token, at (nanoseconds of the clock that all processes of
the machine share) and more. It holds a lock for up to LONGEST writes. After SIGUSR1 it forks while it
holds the lock. WAY is how a write ends whose lock is lost:

    stubborn   not: the program does not look between its look at the lock and the end of the write
    timeout    the write has a timeout, of what is left
    interrupt  Lost is raised in it
    async      the task that writes is cancelled
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import redlock_agent

SESSION = 2.0  # seconds
forks = False


def clock():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def say(what, token=0, **more):
    print(json.dumps({"what": what, "token": token, "at": clock(), **more}), flush=True)


def look(lock):
    at = clock()
    lock.check()
    say("valid", lock.token, at=at)


def write(store, lock, timeout):
    try:
        urllib.request.urlopen(f"{store}?token={lock.token}", data=b"", timeout=timeout).close()
        say("wrote", lock.token)
    except urllib.error.HTTPError as e:
        e.close()
        say("stale" if e.code == 409 else "refused", lock.token)
    except OSError:
        lock.check()
        raise


def fork(lock):
    """A child works on under the lock of its parent, and another leaves the parent's block."""
    global forks
    forks = False
    for does in (works_on, leaves):
        if os.fork() == 0:
            try:
                does(lock)
                say(f"{does.__name__} in a child")
            except Exception as e:
                say(f"{does.__name__} in a child: {type(e).__name__}")
            finally:
                os._exit(0)


def works_on(lock):
    for _ in range(20):
        look(lock)
        time.sleep(0.05)


def leaves(lock):
    lock._session.__exit__(None, None, None)
    lock.__exit__(None, None, None)


def turn(session, store, longest, way):
    lock = session.lock("account", wait=5, interrupt=way == "interrupt")
    try:
        with lock:
            say("held", lock.token)
            for _ in range(random.randint(1, longest)):
                look(lock)
                if forks:
                    fork(lock)
                time.sleep(0.05)  # a program may be stopped here
                write(store, lock, lock.left() if way == "timeout" else 20)
    except redlock_agent.Lost as e:
        say("lost", lock.token, late=redlock_agent.now() - lock._until, why=str(e))


async def turn_of_task(session, store):
    lock = session.lock("account", wait=5)
    try:
        async with lock:
            say("held", lock.token)
            look(lock)
            where = urllib.parse.urlparse(store)
            reader, writer = await asyncio.open_connection(where.hostname, where.port)
            writer.write(f"POST /?token={lock.token} HTTP/1.0\r\n\r\n".encode())
            await reader.read()
    except redlock_agent.Lost as e:
        say("lost", lock.token, late=redlock_agent.now() - lock._until, why=str(e))


def main(socket, store, longest, way):
    def wanted(*_):
        global forks
        forks = True

    signal.signal(signal.SIGUSR1, wanted)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    session = None
    while True:
        try:
            session = session or redlock_agent.Session(socket, ttl=SESSION)
            if way == "async":
                asyncio.run(turn_of_task(session, store))
            else:
                turn(session, store, longest, way)
        except (redlock_agent.Problem, redlock_agent.Unreachable) as e:
            say("failed", why=str(e))
            time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])

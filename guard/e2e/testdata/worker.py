"""A program under test: it writes to a store under a lock of an agent, and prints what it knows of the lock.

    worker.py SOCKET STORE WAY

Each line that it prints is an object: what, token, at (nanoseconds of the clock that all processes of
the machine share) and more. It makes one write after the other, each with a lock of its own. WAY is what
ends a write whose lock is lost:

    stopped    nothing: the program stops itself after it has checked the lock and before the write
    timeout    a timeout: the time that is left of the lock
    interrupt  Lost, which is raised during the write
    async      the task that writes is cancelled
"""

import asyncio
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import redlock_agent

SESSION = 2.0  # seconds


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


def turn(session, store, way):
    lock = session.lock("account", wait=5, interrupt=way == "interrupt")
    try:
        with lock:
            say("held", lock.token)
            look(lock)
            if way == "stopped":
                os.kill(os.getpid(), signal.SIGSTOP)
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


def main(socket, store, way):
    session = None
    while True:
        try:
            session = session or redlock_agent.Session(socket, ttl=SESSION)
            if way == "async":
                asyncio.run(turn_of_task(session, store))
            else:
                turn(session, store, way)
        except (redlock_agent.Problem, redlock_agent.Unreachable) as e:
            say("failed", why=str(e))
            time.sleep(0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])

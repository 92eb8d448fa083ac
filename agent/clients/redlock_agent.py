"""Locks on a quorum of Redis masters, by a redlock agent beside this program.

    import redlock_agent

    with redlock_agent.Session("/run/redlock/agent.sock") as session:
        with session.lock("payroll", wait=60) as lock:
            pay(lock.token)     # hand the token to every store that you write to

Not promised: that work stops before another holds the lock. This program may be paused after it
looked and before it acts. The token is for that: a store that refuses a token lower than one it has
seen (docs/FENCING.md) refuses whoever comes too late.

The block of "with" ends with Lost when the lock can no longer be proved: at the end of what the
agent has told, by this program's own clock, whatever the network does; or earlier, when the agent
says that it is lost. In the main thread a SIGINT to itself does this (as Ctrl-C does: it also ends a
call that blocks). In another thread an exception is raised there, which ends Python code, but no
call that blocks: give such calls a timeout, of lock.left().

This is one file, for Python 3.9 and later, and it needs the standard library alone.
"""

import ctypes
import http.client
import json
import secrets
import signal
import socket
import ssl
import threading
import time
import urllib.parse

__all__ = ["Session", "Lock", "Problem", "Held", "Lost", "Unreachable"]


class Problem(Exception):
    """What the agent refused. word is the last word of its type, such as "held"."""

    def __init__(self, word, status, detail, retryable, free_in=0.0):
        super().__init__(f"{word}: {detail}")
        self.word, self.status, self.detail, self.retryable, self.free_in = word, status, detail, retryable, free_in


class Held(Problem):
    """Others hold the name."""


class Lost(Exception):
    """The lock can no longer be proved: another may hold it."""


class Unreachable(Exception):
    """The agent did not answer. What was asked may have been done or not."""


def now():
    """The clock that leases are told by. On Linux it also counts the time for which the machine is suspended."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Session:
    """The lease of this program with the agent at address: the path of a Unix socket, or
    https://host:port with a token and, if the system does not trust its certificate, the file of one
    that does. A thread keeps the session. It ends ttl seconds after this program was heard last, and
    its locks with it. Close it, or use it with "with"."""

    def __init__(self, address, ttl=15.0, token=None, ca_file=None):
        self._address, self._token, self._ttl = address, token, ttl
        self._tls = ssl.create_default_context(cafile=ca_file) if address.startswith("https://") else None
        self._locks = {}  # by id
        self._changed = threading.Condition()  # guards _locks, their fields, and _over
        self._over = None  # why the session has ended
        self.draining = False
        answer, _ = self._ask("POST", "/v1/sessions", {"ttl_ms": int(ttl * 1000)}, ttl)
        self._path = "/v1/sessions/" + answer["session"]
        self._keeper = threading.Thread(target=self._keep, name="redlock keeper", daemon=True)
        self._keeper.start()
        self._watcher = threading.Thread(target=self._watch, name="redlock watcher", daemon=True)
        self._watcher.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def lock(self, name, wait=0.0, ttl=None, mode="write", hold_at_least=None):
        """A context manager that holds name, or each of a list of names. It waits for wait seconds:
        0 is one attempt. It raises Held if others hold it, Problem, or Unreachable."""
        want = {"mode": mode, "wait_ms": int(wait * 1000)}
        want["name" if isinstance(name, str) else "names"] = name
        if ttl is not None:
            want["ttl_ms"] = int(ttl * 1000)
        if hold_at_least is not None:
            want["hold_at_least_ms"] = int(hold_at_least * 1000)
        return Lock(self, want, wait)

    def close(self):
        """Ends the session, and releases its locks."""
        with self._changed:
            if self._over is not None:
                return
            self._over = "it was closed"
            for lock in self._locks.values():
                lock._end("its session was closed")
            self._changed.notify_all()
        try:
            self._ask("DELETE", self._path, None, 2.0)
        except (Problem, Unreachable):
            pass  # it ends by itself

    def _ask(self, method, path, body, timeout):
        """Returns the answer, and the moment before the request was sent."""
        connection = None
        sent = now()
        try:
            if self._tls is not None:
                where = urllib.parse.urlsplit(self._address)
                connection = http.client.HTTPSConnection(where.hostname, where.port, timeout=timeout, context=self._tls)
            else:
                connection = _UnixConnection(self._address, timeout)
            headers = {"Content-Type": "application/json"}
            if self._token is not None:
                headers["Authorization"] = "Bearer " + self._token
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
            if not isinstance(answer, dict):
                raise ValueError("no object")
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise Unreachable(f"{method} at {self._address}: {e!r}") from e
        finally:
            if connection is not None:
                connection.close()
        if response.status == 200:
            return answer, sent
        word = answer.get("type", "").rpartition("#")[2]
        kind = Held if word == "held" else Problem
        raise kind(word, response.status, answer.get("detail", ""), answer.get("retryable", False), answer.get("free_in_ms", 0) / 1000)

    def _keep(self):
        """Renews the session, and what this program may believe of its locks."""
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: self._over is not None, self._ttl / 4):
                    return
                before = list(self._locks.items())
            try:
                answer, sent = self._ask("POST", self._path + "/keep", None, self._ttl / 4)
            except Unreachable:
                continue  # until the locks end by the clock
            except Problem as e:
                if e.word == "no-session":
                    self._lose(e.detail)
                    return
                continue
            held = {lock["id"]: lock for lock in answer["locks"]}
            with self._changed:
                self.draining = answer["draining"]
                for id, lock in before:
                    if self._locks.get(id) is not lock:
                        continue  # it was unlocked meanwhile
                    if id in held:
                        lock._until = max(lock._until, sent + held[id]["valid_for_ms"] / 1000)
                    else:
                        lock._end("the agent says that it is not held any more")
                self._changed.notify_all()

    def _lose(self, why):
        with self._changed:
            self._over = self._over or why
            for lock in self._locks.values():
                lock._end(why)
            self._changed.notify_all()

    def _watch(self):
        """Stops the work of locks whose time is over."""
        with self._changed:
            while self._over is None or self._locks:
                moment, first = now(), None
                for lock in list(self._locks.values()):
                    if lock._lost is None and lock._until <= moment:
                        lock._end("its time was over before the agent renewed it")
                    if lock._lost is not None:
                        lock._stop()
                    else:
                        first = lock._until if first is None else min(first, lock._until)
                # A suspended machine does not count in a wait: look at the clock now and then.
                self._changed.wait(min(1.0, first - moment) if first is not None else None)


class Lock:
    """A lock that is held within a block of "with"."""

    def __init__(self, session, want, wait):
        self._session, self._want, self._wait = session, want, wait
        self._id = None  # of the request, and of the lock
        self._until, self._lost, self._stopped = 0.0, None, False
        self._thread = None
        self.token, self.tokens = 0, {}

    def __enter__(self):
        session = self._session
        self._id, self._lost, self._stopped = secrets.token_hex(16), None, False
        deadline = now() + self._wait + session._ttl
        path = f"{session._path}/locks/{self._id}"
        try:
            while True:  # the same request gets the same lock
                try:
                    answer, sent = session._ask("PUT", path, self._want, self._wait + session._ttl)
                    if now() < sent + answer["valid_for_ms"] / 1000:
                        break  # else it was waited for longer: ask again what is left by now
                except Unreachable:
                    if now() >= deadline:
                        raise
                    time.sleep(0.1)
                if now() >= deadline or session._over is not None:
                    raise Lost("no answer came in time")
        except BaseException:
            self._give_up(path)
            raise
        self.token = int(answer.get("token", 0))
        self.tokens = {name: int(token) for name, token in answer.get("tokens", {}).items()}
        with session._changed:
            if session._over is not None:
                raise Lost(session._over)
            self._thread = threading.current_thread()
            self._until = sent + answer["valid_for_ms"] / 1000
            session._locks[self._id] = self
            session._changed.notify_all()
        return self

    def __exit__(self, kind, *_):
        came = kind in (KeyboardInterrupt, Lost)
        while True:  # what stops the work may come while this runs
            try:
                with self._session._changed:
                    self._session._locks.pop(self._id, None)
                    self._session._changed.notify_all()
                    if self._lost is None and now() >= self._until:
                        self._end("its time was over before the work was")
                    stopped, lost = self._stopped, self._lost
                if stopped and not came:
                    if self._thread is not threading.main_thread():
                        self._interrupt(None)
                    else:
                        time.sleep(0.05)  # the signal is under way
                break
            except (KeyboardInterrupt, Lost):
                came = True
        path = f"{self._session._path}/locks/{self._id}"
        if lost is not None:  # the caller does not wait for an agent that may be gone
            threading.Thread(target=self._give_up, args=(path,), daemon=True).start()
        elif self._session._over is None:
            lost = self._give_up(path)
        if lost is not None and (kind is None or kind in (KeyboardInterrupt, Lost)):
            raise Lost(f"the lock of {self._want.get('name', self._want.get('names'))!r} is lost: {lost}") from None
        return False

    def left(self):
        """For how many seconds the lock can be proved. By the time the caller acts, it may be less."""
        with self._session._changed:
            return 0.0 if self._lost is not None else max(0.0, self._until - now())

    def check(self):
        """Raises Lost if the lock can not be proved at this moment."""
        if self.left() <= 0:
            raise Lost(self._lost or "its time is over")

    def _give_up(self, path):
        """Unlocks, and returns why the lock had ended before, if it had. A request to lock that is
        still on its way will be refused."""
        try:
            self._session._ask("DELETE", path, None, 2.0)
        except Problem as e:
            return str(e) if e.word in ("lost", "expired", "no-session") else None
        except Unreachable:
            pass  # the lock ends with its session
        return None

    def _end(self, why):
        self._lost = self._lost or why

    def _stop(self):
        """Raises in the thread of the work, once."""
        if self._stopped:
            return
        self._stopped = True
        if self._thread is threading.main_thread():
            signal.pthread_kill(self._thread.ident, signal.SIGINT)
        else:
            self._interrupt(Lost)

    def _interrupt(self, kind):
        """Raises an exception of that kind in the thread, or none that is under way."""
        raised = None if kind is None else ctypes.py_object(kind)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), raised)

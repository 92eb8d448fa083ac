"""Locks on a quorum of Redis masters, by a redlock agent beside this program.

    import redlock_agent

    with redlock_agent.Session("/run/redlock/agent.sock") as session:
        with session.lock("payroll", wait=60) as lock:
            for person in people:
                lock.check()             # raises Lost when the lock can no longer be proved
                pay(person, lock.token)  # hand the token to every store that you write to

There is no promise that work stops before another program holds the lock. This program may be paused
after it checked the lock and before it acts. The token helps: a store that refuses each token below the
highest that it has seen (docs/FENCING.md) refuses writes that come too late.

A lock is lost when it can no longer be proved: when the time that the agent granted is over, by this
program's own clock, whatever the network does; or earlier, when the agent answers that it is lost. Then

  - lock.check() raises Lost, and lock.left() returns 0;
  - lock.lost, a threading.Event, is set, and on_loss(lock) runs in a thread of its own;
  - "async with" cancels its task, and raises Lost (before Python 3.11 also when others cancel the
    task at the same time);
  - "with" raises Lost at the end of its block, if no other exception ends it.

Nothing else stops the code of a "with" block. Check the lock between the block's steps, and give
calls that block a timeout of lock.left(). lock(..., interrupt=True) raises Lost in the middle of
the block, even in a call that blocks. This works in the main thread, on Unix, by SIGURG. It cannot
end C code that does not return to Python, and has no effect while the program blocks or handles
SIGURG itself.

In a forked child, the session and its locks raise Closed and send nothing: open a new session in
the child. When the agent has ended the session or has restarted, the session's locks are lost, and
the next lock opens a new session.

This is one file, for Python 3.9 and later. It needs only the standard library.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import secrets
import signal
import socket
import ssl
import threading
import time
import types
import urllib.parse
from typing import Any, Callable, Optional, Union

__all__ = ["Session", "Lock", "Problem", "Held", "Lost", "Unreachable", "Closed"]


class Problem(Exception):
    """The agent refused the request. word is the last word of the problem's type, such as "held"."""

    def __init__(self, word: str, status: int, detail: str, retryable: bool, free_in: float = 0.0) -> None:
        super().__init__(f"{word}: {detail}")
        self.word, self.status, self.detail, self.retryable, self.free_in = word, status, detail, retryable, free_in


class Held(Problem):
    """Others hold the name."""


class Lost(Exception):
    """The lock was held, and can no longer be proved: another program may hold it."""


class Unreachable(Exception):
    """The agent did not answer. The request may have had its effect or not; no lock is held."""


class Closed(Exception):
    """The session was closed, or belongs to the process that this one was forked from."""


def now() -> float:
    """Returns the time of the clock for leases, in seconds. On Linux this clock also counts the time of a suspend."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Session:
    """A session of this program with the agent at address: the path of a Unix socket, or
    https://host:port with a token and, if the system does not trust the agent's certificate, ca_file.
    Threads keep the session and watch its locks. The session and its locks end ttl seconds after the
    agent got the last request. Close the session, or use it with "with"."""

    def __init__(self, address: str, ttl: float = 15.0, token: Optional[str] = None, ca_file: Optional[str] = None) -> None:
        self._address, self._token, self._ttl, self._pid = address, token, ttl, os.getpid()
        self._tls = ssl.create_default_context(cafile=ca_file) if address.startswith("https://") else None
        self.draining = False
        self._opening = threading.Lock()  # held while a session is opened
        self._changed = threading.Condition()  # guards the fields below, and those of locks
        self._closed = False
        self._path: Optional[str] = None  # of the session with the agent; None: there is none
        self._until = 0.0  # when the session ends, by the agent's last answer
        self._asked = 0.0  # when the agent was last asked to keep the session
        self._locks: dict[str, Lock] = {}  # the locks whose blocks run, by id
        self._open()
        for work in (self._keep, self._watch):
            threading.Thread(target=work, name="redlock" + work.__name__, daemon=True).start()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if os.getpid() == self._pid:
            self.close()

    def lock(
        self,
        name: Union[str, list[str]],
        wait: float = 0.0,
        ttl: Optional[float] = None,
        mode: str = "write",
        hold_at_least: Optional[float] = None,
        on_loss: Optional[Callable[[Lock], object]] = None,
        interrupt: bool = False,
    ) -> Lock:
        """Returns a context manager that holds name, or each of a list of names, for one block of "with"
        or "async with". The block begins after a wait of wait seconds at most; 0 means one attempt. It
        raises Held if others hold the lock, or Problem or Unreachable. For on_loss and interrupt, see
        the docstring of the module."""
        self._usable()
        want: dict[str, Any] = {"mode": mode}
        want["name" if isinstance(name, str) else "names"] = name
        if ttl is not None:
            want["ttl_ms"] = int(ttl * 1000)
        if hold_at_least is not None:
            want["hold_at_least_ms"] = int(hold_at_least * 1000)
        return Lock(self, name, want, wait, on_loss, interrupt)

    def close(self) -> None:
        """Ends the session, and releases its locks."""
        self._usable()
        with self._changed:
            path = self._path
            self._closed = True
            self._end(path, "its session was closed")
        if path is not None:
            self._delete(path)

    def _delete(self, path: str) -> None:
        try:
            self._ask("DELETE", path, None, 2.0)
        except (Problem, Unreachable):
            pass  # the session ends by itself

    def _usable(self) -> None:
        """Raises Closed in a forked child: the child has no thread that keeps the session, and does not hold the parent's locks."""
        if os.getpid() != self._pid:
            raise Closed(f"the session belongs to process {self._pid}, which this one was forked from: open a session here")

    def _ask(self, method: str, path: str, body: Optional[dict[str, Any]], timeout: float) -> tuple[dict[str, Any], float]:
        """Returns the answer, and the moment before the request was sent."""
        self._usable()
        connection: Optional[http.client.HTTPConnection] = None
        sent = now()
        try:
            if self._tls is not None:
                where = urllib.parse.urlsplit(self._address)
                connection = http.client.HTTPSConnection(where.hostname or "", where.port, timeout=timeout, context=self._tls)
            else:
                connection = _UnixConnection(self._address, timeout)
            headers = {"Content-Type": "application/json"}
            if self._token is not None:
                headers["Authorization"] = "Bearer " + self._token
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
            if not isinstance(answer, dict) or response.status == 408:
                raise ValueError(f"status {response.status}")
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

    def _open(self) -> str:
        """Opens a session with the agent, unless there is one, and returns its path."""
        with self._opening:
            with self._changed:
                if self._closed:
                    raise Closed("the session was closed")
                if self._path is not None:
                    return self._path
            answer, sent = self._ask("POST", "/v1/sessions", {"ttl_ms": int(self._ttl * 1000)}, self._ttl)
            path: str = "/v1/sessions/" + answer["session"]
            with self._changed:
                if not self._closed:
                    self._path = path
                    self._until, self._asked, self.draining = sent + answer["valid_for_ms"] / 1000, sent, answer["draining"]
                    self._changed.notify_all()
                    return path
            self._delete(path)  # close found no session
            raise Closed("the session was closed")

    def _end(self, path: Optional[str], why: str) -> None:
        """Ends the session at path and makes its locks lost, unless a newer session is open."""
        with self._changed:
            if self._path == path:
                self._path = None
                for lock in self._locks.values():
                    lock._lose(why)
                self._changed.notify_all()

    def _first(self) -> float:
        """Returns when the first of the session and its locks ends if nothing is renewed."""
        return min([self._until] + [lock._until for lock in self._locks.values() if lock._why is None])

    def _keep(self) -> None:
        """Renews the session and its locks. The next renewal depends on the time left of the lock
        that ends first."""
        while True:
            with self._changed:
                while not self._closed:
                    first = self._first()
                    wait = None if self._path is None else self._asked + max(0.1, (first - self._asked) / 3) - now()
                    if self._path is not None and wait is not None and wait <= 0:
                        break
                    self._changed.wait(wait and min(wait, 1.0))  # the wait does not count a suspend
                if self._closed:
                    return
                path, before, self._asked = str(self._path), list(self._locks.items()), now()
            if self._asked >= self._until:
                self._end(path, "its time was over before the agent answered")
                continue
            try:
                answer, sent = self._ask("POST", path + "/keep", None, max(0.1, (first - self._asked) / 2))
            except Unreachable:
                continue  # until the clock ends the session and its locks
            except Problem as e:
                if e.word == "no-session":
                    self._end(path, e.detail)
                continue
            held = {lock["id"]: lock for lock in answer["locks"]}
            with self._changed:
                if self._path != path:
                    continue
                self.draining = answer["draining"]
                self._until = max(self._until, sent + answer["valid_for_ms"] / 1000)
                for id, lock in before:  # the answer may lack newer locks
                    if self._locks.get(id) is not lock:
                        continue
                    if id in held:
                        lock._until = max(lock._until, sent + held[id]["valid_for_ms"] / 1000)
                    else:
                        lock._lose("the agent does not hold it any more")

    def _watch(self) -> None:
        """Makes locks lost when their time is over."""
        with self._changed:
            while not self._closed or self._locks:
                wait: Optional[float] = None
                for lock in list(self._locks.values()):
                    # A wait does not count the time of a suspend: read the clock at least once a second.
                    left = min(lock._look(), 1.0) if lock._why is None else None
                    if lock._why is not None and lock._interrupts():
                        left = 0.05
                    if left is not None:
                        wait = left if wait is None else min(wait, left)
                self._changed.wait(wait)

    def _forget(self, home: Optional[str], path: str) -> None:
        """Unlocks in the background: it sends the request again until the agent answers, or the session has ended."""

        def send() -> None:
            while True:
                try:
                    self._ask("DELETE", path, None, 2.0)
                    return
                except Problem:
                    return
                except Unreachable:
                    pass
                with self._changed:
                    if self._changed.wait_for(lambda: self._path != home, 0.5):
                        return

        threading.Thread(target=send, name="redlock_forget", daemon=True).start()


class Lock:
    """A lock that is held within a block of "with" or "async with"."""

    def __init__(
        self,
        session: Session,
        name: Union[str, list[str]],
        want: dict[str, Any],
        wait: float,
        on_loss: Optional[Callable[[Lock], object]],
        interrupt: bool,
    ) -> None:
        self._session, self._name, self._want, self._wait = session, name, want, wait
        self._on_loss, self._interrupt = on_loss, interrupt
        self._id = self._home = self._path = ""  # the lock's id, the session's path and the lock's path
        self._until, self._inside, self._gone = 0.0, False, False
        self._why: Optional[str] = None  # why the lock is lost; None: the lock is not lost
        self._event = threading.Event()
        self._task: Optional[asyncio.Task[Any]] = None  # the task to cancel when the lock is lost
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._cancelled = False
        self._before: Any = None  # the handler of SIGURG before the block
        self._told = False  # Lost was raised, so no signal is needed
        self.token: int = 0
        self.tokens: dict[str, int] = {}

    @property
    def lost(self) -> threading.Event:
        """A threading.Event that is set when the lock is lost."""
        self._session._usable()
        return self._event

    def left(self) -> float:
        """Returns for how many seconds the lock can be proved. When the caller acts, less may be left."""
        self._session._usable()
        with self._session._changed:
            return self._look() if self._inside else 0.0

    def check(self) -> None:
        """Raises Lost if the lock cannot be proved at this moment."""
        if self.left() <= 0:
            if threading.current_thread() is threading.main_thread():
                self._told = True  # no signal is needed
            raise self._error()

    def __enter__(self) -> Lock:
        if self._interrupt and threading.current_thread() is not threading.main_thread():
            raise ValueError("interrupt is for the main thread: elsewhere, use check, lost or on_loss")
        if self._interrupt:
            self._before = signal.getsignal(signal.SIGURG)
        self._acquire()
        if self._interrupt:
            signal.signal(signal.SIGURG, self._interrupted)
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        if self._forked(kind):
            return
        self._leave()
        if self._interrupt:
            signal.signal(signal.SIGURG, self._before or signal.SIG_DFL)
        self._release()
        if self._why is not None and kind is None:
            raise self._error()

    async def __aenter__(self) -> Lock:
        if self._interrupt:
            raise ValueError('interrupt is for "with": "async with" cancels its task')
        task = asyncio.current_task()
        assert task is not None
        self._cancelling = getattr(task, "cancelling", int)()  # 0 before Python 3.11
        try:
            await _aside(self._acquire)
        except asyncio.CancelledError:
            self._abandon()
            raise
        with self._session._changed:
            if self._why is None:
                self._task, self._loop = task, asyncio.get_running_loop()
                return self
        self._leave()
        self._abandon()
        raise Unreachable(f"the lock of {self._name!r} ended before the block began: {self._why}")

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], _: object) -> None:
        if self._forked(kind):
            return
        self._leave()  # from here on the lock does not cancel the task
        # If others cancelled the task as well, the block ends by CancelledError, not by Lost.
        others = self._cancelled and getattr(self._task, "uncancel", int)() > self._cancelling
        await _aside(self._release)
        if self._why is not None and (kind is None or (kind is asyncio.CancelledError and self._cancelled and not others)):
            raise self._error() from error

    def _acquire(self) -> None:
        self._session._usable()
        if self._id:
            raise ValueError("a lock is for one block: ask the session for another")
        self._id = secrets.token_hex(16)
        try:
            self._lock()
        except Problem:
            raise  # the agent keeps nothing
        except BaseException:
            self._abandon()
            raise

    def _lock(self) -> None:
        """Repeats the request until an answer leaves enough time: the same request gets the same lock.
        If the session has ended, nothing was locked, and a new session is opened."""
        session = self._session
        end, again = now() + self._wait, False
        while True:
            try:
                home = session._open()
                with session._changed:
                    if self._gone:
                        raise Closed("the lock was given up")
                    if home != self._home:
                        self._home, self._path = home, f"{home}/locks/{self._id}"
                        self._want["wait_ms"] = max(0, int((end - now()) * 1000))
                answer, sent = session._ask("PUT", self._path, self._want, max(0.0, end - now()) + session._ttl)
                why, valid = "its answers take too long", answer["valid_for_ms"] / 1000
                took = now() - sent
                if took < valid / (2 if again else 10):
                    self.token = int(answer.get("token", 0))
                    self.tokens = {name: int(token) for name, token in answer.get("tokens", {}).items()}
                    with session._changed:
                        if session._path == home and not self._gone:
                            self._until, self._inside = sent + valid, True
                            session._locks[self._id] = self
                            session._changed.notify_all()
                            return
                again = True  # this answer came late: the next answer comes at once, and leaves more time
            except Unreachable as e:
                why = str(e)
                time.sleep(0.1)
            except Problem as e:
                if e.word != "no-session":
                    raise
                why = str(e)
                session._end(home, e.detail)
            if now() >= end + session._ttl:
                raise Unreachable(f"no lock of {self._name!r} in time: {why}")

    def _abandon(self) -> None:
        """Unlocks in the background. The agent then refuses a request to lock that arrives later."""
        with self._session._changed:
            self._gone, path = True, self._path
        if path:
            self._session._forget(self._home, path)

    def _leave(self) -> None:
        """Ends the block: a loss does not interrupt the program any more."""
        with self._session._changed:
            self._look()
            self._inside, self._told = False, True
            self._session._locks.pop(self._id, None)
            self._session._changed.notify_all()

    def _release(self) -> None:
        """Unlocks, and makes the lock lost if the agent answers that the lock had ended before."""
        if self._why is None:
            try:
                self._session._ask("DELETE", self._path, None, 2.0)
                return
            except Problem as e:
                if e.word in ("lost", "expired", "no-session"):
                    with self._session._changed:
                        self._lose(str(e))
                return
            except Unreachable:
                pass  # the caller does not wait for an agent that may be gone
            except BaseException:
                self._session._forget(self._home, self._path)
                raise
        self._session._forget(self._home, self._path)

    def _look(self) -> float:
        """Returns for how long the lock can be proved, and makes the lock lost if that is 0. The caller holds _changed."""
        left = self._until - now()
        if left <= 0:
            self._lose("its time was over before the agent renewed it")
        return 0.0 if self._why is not None else left

    def _lose(self, why: str) -> None:
        """Makes the lock lost, once, and notifies the program. The caller holds _changed."""
        if self._why is not None:
            return
        self._why = why
        self._event.set()
        self._session._changed.notify_all()
        if self._task is not None and self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(self._cancel)
            except RuntimeError:
                pass  # the loop is closed
        if self._on_loss is not None:
            threading.Thread(target=self._on_loss, args=(self,), name="redlock_on_loss", daemon=True).start()

    def _cancel(self) -> None:
        if self._inside and self._task is not None:
            self._cancelled = True
            self._task.cancel(str(self._error()))

    def _interrupts(self) -> bool:
        """Sends the signal unless Lost was raised, and returns whether the signal may have to be sent again."""
        if not self._interrupt or self._told:
            return False
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGURG)
        return True

    def _interrupted(self, number: int, frame: Optional[types.FrameType]) -> None:
        if self._why is not None and not self._told and not _busy(frame):
            self._told = True
            raise self._error()
        if callable(self._before):
            self._before(number, frame)

    def _error(self) -> Lost:
        return Lost(f"the lock of {self._name!r} is lost: {self._why or 'it is not held'}")

    def _forked(self, kind: Optional[type[BaseException]]) -> bool:
        """Reports whether a forked child of the holder leaves the block. It raises Closed if no exception ends the block."""
        if kind is None:
            self._session._usable()
        return os.getpid() != self._session._pid


def _busy(frame: Optional[types.FrameType]) -> bool:
    """Returns whether frame is within code of this file that must not be interrupted. A wait for an answer may be interrupted."""
    while frame is not None:
        if frame.f_code is Session._ask.__code__:
            return False
        if frame.f_globals is globals():
            return True
        frame = frame.f_back
    return False


async def _aside(call: Callable[[], Any]) -> Any:
    """Awaits a call that blocks, in a thread of its own: the threads of a pool could all wait for one lock."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def finish(result: Any, error: Optional[BaseException]) -> None:
        if not done.cancelled():
            done.set_exception(error) if error is not None else done.set_result(result)

    def run() -> None:
        try:
            outcome: tuple[Any, Optional[BaseException]] = call(), None
        except BaseException as e:
            outcome = None, e
        try:
            loop.call_soon_threadsafe(finish, *outcome)
        except RuntimeError:
            pass  # the loop is closed

    threading.Thread(target=run, name="redlock_aside", daemon=True).start()
    return await done

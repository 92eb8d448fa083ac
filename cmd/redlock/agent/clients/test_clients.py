"""Tests of the clients in Python and Node, and of the example for a shell, against the agent of the conformance test.
`test_clients.py each` runs each test in a process of its own. This runs one test:

    python3 test_clients.py Clients.test_counts_from_the_request
"""

import asyncio
import concurrent.futures
import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "python"))
import redlock_agent
from conformance import ALWAYS, ANSWERED, CUT, HANGS, LOST, PATIENCE, Agent
from redlock_agent import Closed, Lost, Session, Unreachable

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

class Clients(unittest.TestCase):
    # A client counts the time of a lock from before it sent the request: the time until the answer came is gone.
    def test_counts_from_the_request(self):
        agent = Agent(self, 5)
        agent.before("PUT lock", 3, lambda: time.sleep(1) or ANSWERED)
        with Session(agent.path, ttl=600) as session, session.lock("job") as lock:
            self.assertTrue(0 < lock.left() <= 4, lock.left())

    # The client sends the next request in time for the lock that ends first, although the session lasts for long.
    def test_asks_by_what_is_left(self):
        agent = Agent(self, 3)
        with Session(agent.path, ttl=600) as session, session.lock("job") as lock:
            for _ in range(3):
                agent.sees("POST keep")
            lock.check()

    # An answer that was made before a lock was acquired does not apply to that lock.
    def test_takes_no_old_answer_for_a_loss(self):
        agent, taken = Agent(self, 5), threading.Event()
        agent.before("POST keep", 1, lambda: taken.wait() and ANSWERED)
        with Session(agent.path, ttl=600) as session, session.lock("job"):
            agent.sees("POST keep")
            with session.lock("other") as other:
                taken.set()
                agent.sees("POST keep")
                other.check()

    # After a long wait a lock has all its time when its block begins: the client sends one more request.
    def test_asks_again_after_a_wait(self):
        agent = Agent(self, 10)
        agent.before("PUT lock", 1, lambda: time.sleep(2) or ANSWERED)
        with Session(agent.path, ttl=600) as session, session.lock("job", wait=60) as lock:
            self.assertGreater(lock.left(), 8)

    # A lost unlock is sent again: after a block, and after a cancelled wait.
    def test_unlocks_again_after_a_block(self):
        self.unlocks_again(600, Agent(self, 600))

    def test_unlocks_again_after_a_wait(self):
        agent = Agent(self, 600)
        agent.meets("PUT lock", ALWAYS, HANGS)
        self.unlocks_again(1, agent)

    def unlocks_again(self, ttl, agent):
        agent.meets("DELETE lock", 2, CUT)
        with Session(agent.path, ttl=ttl) as session:
            with contextlib.suppress(Unreachable), session.lock("job"):
                pass
            for _ in range(3):
                agent.sees("DELETE lock")
            for thread in threading.enumerate():
                if thread.name == "redlock_forget":
                    thread.join(PATIENCE)
        agent.sees("DELETE session")
        self.assertEqual(agent.saw(), [])

    # Work that checks its lock ends when the lock does, with each kind of check. None of them needs SIGINT, because a
    # command that a script starts with & ignores SIGINT.
    def test_loss_by_check(self):
        def work(session, lock):
            while True:
                lock.check()
                time.sleep(0.01)

        self.loses(work)

    def test_loss_by_left(self):
        def work(session, lock):
            while lock.left() > 0:
                time.sleep(0.01)

        self.loses(work)

    def test_loss_by_event(self):
        self.loses(lambda session, lock: lock.lost.wait())

    def test_loss_by_callback(self):
        told = threading.Event()
        self.loses(lambda session, lock: told.wait(), on_loss=lambda lock: told.set())

    def test_loss_by_interrupt(self):
        self.loses(lambda session, lock: time.sleep(600), interrupt=True)

    def test_loss_of_an_outer_block(self):
        def work(session, lock):
            with session.lock("other", interrupt=True) as other:
                other._until += 600  # so that this lock is not lost
                time.sleep(600)

        self.loses(work, interrupt=True)

    def test_loss_in_a_wait(self):
        def work(session, lock):
            self.agent.meets("PUT lock", ALWAYS, HANGS)
            with session.lock("other", wait=600, interrupt=True):
                pass

        self.loses(work, interrupt=True)

    def test_loss_in_a_task(self):
        async def work(session, lock):
            await asyncio.sleep(600)

        self.loses(work)

    @unittest.skipUnless(hasattr(asyncio, "TaskGroup"), "Python 3.11 has the first")
    def test_loss_in_a_group_of_tasks(self):
        async def work(session, lock):
            async with asyncio.TaskGroup() as group:
                for _ in range(3):
                    group.create_task(asyncio.sleep(600))

        self.loses(work)

    def test_loss_that_a_task_swallows(self):
        async def work(session, lock):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(600)

        self.loses(work)

    def loses(self, work, **options):
        self.agent = agent = Agent(self, 2)
        agent.meets("POST keep", ALWAYS, HANGS)
        agent.meets("DELETE lock", ALWAYS, HANGS)
        session = Session(agent.path, ttl=600)
        handler = signal.getsignal(signal.SIGURG)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        until = 0

        def block():
            nonlocal until
            with session.lock("job", **options) as lock:
                until = lock._until
                work(session, lock)

        async def task():
            nonlocal until
            try:
                async with session.lock("job") as lock:
                    until = lock._until
                    await work(session, lock)
            finally:
                self.assertEqual(getattr(asyncio.current_task(), "cancelling", int)(), 0, "it is cancelled after its block")

        with self.assertRaisesRegex(Lost, "'job'"):
            asyncio.run(task()) if asyncio.iscoroutinefunction(work) else block()
        self.assertGreaterEqual(redlock_agent.now(), until)
        self.assertEqual(signal.getsignal(signal.SIGURG), handler)

    # Work ends when the agent answers that its lock is lost, in the main thread and in another, and nothing is disturbed
    # afterwards. A loss that only the answer to the unlock shows is reported too.
    def test_ends_work_of_locks_that_are_lost(self):
        agent, lost = Agent(self, 5), queue.Queue()

        def look(session):
            try:
                with session.lock("thread") as lock:
                    while True:
                        lock.check()
                        time.sleep(0.01)
            except Lost as e:
                lost.put(e)

        with Session(agent.path, ttl=600) as session:
            threading.Thread(target=look, args=(session,)).start()
            agent.sees("PUT lock")
            with self.assertRaises(Lost), session.lock("main", interrupt=True):
                with agent.changing:
                    agent.held.clear()
                time.sleep(600)
            self.assertIn("does not hold it any more", str(lost.get(timeout=PATIENCE)))
            with session.lock(["one", "two"]):
                time.sleep(0.5)
            agent.meets("DELETE lock", 1, LOST)
            with self.assertRaisesRegex(Lost, "the lock is lost"), session.lock("unlock"):
                pass

    # A task that others cancel as well ends by CancelledError. If it waits for a lock, the client gives up this wait.
    @unittest.skipUnless(hasattr(asyncio.Task, "uncancel"), "before Python 3.11 a task does not know who cancels it")
    def test_lets_others_cancel(self):
        agent = Agent(self, 2)
        agent.meets("POST keep", ALWAYS, HANGS)
        session = Session(agent.path, ttl=600)

        async def cancelled_twice():
            task = asyncio.current_task()
            async with session.lock("job") as lock:
                cancel = lock._cancel
                lock._cancel = lambda: (cancel(), task.cancel())  # before the task runs
                await asyncio.sleep(600)

        async def cancelled_before():
            async with session.lock("job") as lock:
                lock._until = 0.0  # the lock is lost, but this is not yet noticed
                asyncio.current_task().cancel()
                await asyncio.sleep(600)

        async def waits():
            async with session.lock("job", wait=600):
                self.fail("it has it")

        async def main():
            for work in cancelled_twice, cancelled_before:
                with self.assertRaises(asyncio.CancelledError):
                    await asyncio.create_task(work())
                agent.sees("DELETE lock")
            agent.meets("PUT lock", 1, HANGS)
            task = asyncio.create_task(waits())
            await asyncio.to_thread(agent.sees, "PUT lock")
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            agent.sees("DELETE lock")

        asyncio.run(main())

    # In a forked child the session and its locks raise Closed and send nothing. The child may open a session.
    def test_in_a_child(self):
        agent = Agent(self, 600)
        session = Session(agent.path, ttl=600)
        unused = [session.lock("job") for _ in range(2)]
        block = session.lock("job")

        def leaves(error=None):
            with contextlib.ExitStack() as blocks:
                blocks.push(session)
                blocks.push(block)
                if error:
                    raise error

        async def enter():
            async with unused[1]:
                pass

        def child():
            for use in (lock.check, lock.left, lambda: lock.lost, lambda: session.lock("job"), unused[0].__enter__,
                        lambda: asyncio.run(enter()), session.close, leaves):
                with self.assertRaisesRegex(Closed, "the session belongs to process"):
                    use()
            with self.assertRaisesRegex(SystemExit, "its own"):
                leaves(SystemExit("its own"))
            os.write(done, b".")
            os.read(go_on, 1)
            with Session(agent.path) as own, own.lock("other") as its:
                its.check()

        with session, block as lock:
            is_done, done = os.pipe()
            go_on, go = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    child()
                    os._exit(0)
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
            os.close(done)
            os.read(is_done, 1)
            self.assertEqual(agent.saw(), ["POST sessions", "PUT lock"])
            os.write(go, b".")
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            self.assertEqual(agent.saw(), ["POST sessions", "PUT lock", "DELETE lock", "DELETE session"])
            lock.check()
        self.assertEqual(agent.saw(), ["DELETE lock", "DELETE session"])

    # A lock that was not granted is not lost: if the agent ends during a wait, the client raises Unreachable.
    def test_waits_for_an_agent_that_is_gone(self):
        agent = Agent(self, 600)
        agent.before("PUT lock", ALWAYS, lambda: agent.restart() or CUT)
        for call in "POST keep", "DELETE lock", "DELETE session":
            agent.meets(call, ALWAYS, CUT)
        session = Session(agent.path, ttl=1)
        agent.meets("POST sessions", ALWAYS, CUT)
        with self.assertRaises(Unreachable), session.lock("job", wait=0.5):
            self.fail("it has it")

    # After a restart of the agent, the locks of its sessions are lost. The next lock opens a new session. So does a lock that a
    # program waits for during the restart.
    def test_opens_a_session_again(self):
        agent = Agent(self, 5)
        with Session(agent.path, ttl=600) as session:
            with self.assertRaisesRegex(Lost, "there is no such session"), session.lock("job") as lock:
                agent.restart()
                lock.lost.wait()
            with session.lock("job"):
                pass
            agent.before("PUT lock", 1, lambda: agent.restart() or ANSWERED)
            with session.lock("job", wait=60):
                pass
        self.assertEqual(agent.saw().count("POST sessions"), 3)

    # A session that is closed while it is opened is closed at the agent, too. A lock call that opened it locks nothing.
    def test_closes_while_it_opens(self):
        agent = Agent(self, 600)
        session = Session(agent.path, ttl=600)
        agent.restart()
        agent.before("POST sessions", 1, lambda: session.close() or ANSWERED)
        with self.assertRaises(Closed), session.lock("job", wait=60):
            self.fail("it has it")
        calls = [call for call in agent.saw() if call != "DELETE lock"]  # in the session that has ended, and in the background
        self.assertEqual(calls, ["POST sessions", "PUT lock", "POST sessions", "DELETE session"])

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_closes_while_it_opens_in_node(self):
        agent, closed = Agent(self, 600), threading.Event()
        agent.before("POST sessions", 1, lambda: closed.wait() and ANSWERED)
        program = self.start("node", "-e", CLOSES, agent.path)
        agent.sees("POST sessions")
        program.stdin.close()  # the program closes its session
        self.assertEqual(program.stdout.readline(), "closed\n")
        closed.set()
        self.assertEqual(program.stdout.read(), "Closed\n")
        self.assertEqual(agent.saw(), ["DELETE session"])

    def start(self, *words, **options):
        """Starts a program in another language."""
        program = subprocess.Popen(words, cwd=FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        self.addCleanup(program.__exit__, None, None, None)
        self.addCleanup(program.kill)
        return program

    # The example in shell ends its command and itself when the agent hangs.
    @unittest.skipUnless(shutil.which("curl") and shutil.which("jq"), "no curl or jq")
    def test_job_in_shell_ends(self):
        agent = Agent(self, 4)
        agent.meets("GET lock", ALWAYS, HANGS)
        agent.meets("DELETE session", ALWAYS, CUT)
        job = self.start("examples/job.sh", agent.path, "job", "tail", "-f", "/dev/null")
        self.assertIn("the lock is lost", job.stdout.read())  # until the example and its command have ended
        self.assertEqual(job.wait(PATIENCE), 76)

    # The command of the example in shell ends before the lock does, even on a slow machine (see SLOW).
    @unittest.skipUnless(shutil.which("jq"), "no jq")
    def test_job_in_shell_ends_in_time(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in "awk", "curl", "sleep":
                with open(os.path.join(folder, name), "w") as program:
                    program.write(SLOW)
                os.chmod(program.name, 0o755)
            with open(os.path.join(folder, "clock"), "w") as clock:
                clock.write("1000000")
            job = self.start("examples/job.sh", "s", "job", "tail", "-f", "/dev/null", env={**os.environ, "SLOW": folder, "PATH": folder + ":" + os.environ["PATH"]})
            self.assertIn("the lock is lost", job.stdout.read())
            self.assertEqual(job.wait(PATIENCE), 76)
            with open(os.path.join(folder, "calls")) as calls:
                lines = calls.read().splitlines()
        at = {line.split()[1]: int(line.split()[0]) for line in lines}  # of each method, when its last call began
        self.assertTrue(at["PUT"] + 8000 < at["GET"] < at["DELETE"] < at["PUT"] + 12000, lines)


# Closes its session at the end of stdin, while a lock call opens the session.
CLOSES = """
const session = new (require('./clients/node/redlock-agent.js').Session)(process.argv[1]);
session.withLock('job', { wait: 60_000 }, () => console.log('it has it')).catch((error) => console.log(error.constructor.name));
process.stdin.resume().on('end', async () => { await session.close(); console.log('closed'); });
"""

# awk, curl and sleep of a slow machine, whose time goes on only while one of these programs runs. Each program takes 200 ms to start.
# The agent takes 2 s to answer a PUT, with a lock that is valid for 12 s. It does not answer GET and DELETE.
SLOW = r"""#!/bin/sh
cd "$SLOW" || exit
words=$* at=$(($(cat clock) + 200)) took=0 status=0
case ${0##*/} in
  sleep) took=$(printf %.0f "$1e3") ;;
  awk)
    case $words in
      */proc/uptime) printf %d "$at" ;;
      *) PATH=${PATH#*:} command awk "$@" ;;
    esac ;;
  curl)
    method=${words#*-X }
    echo "$at ${method%% *}" >>calls
    case $method in
      POST*) echo '{"session": "s"}' ;;
      PUT*) took=2000 && echo '{"valid_for_ms": 12000, "token": "7"}' ;;
      *) words=${words#*--max-time } took=$(printf %.0f "${words%% *}e3") status=28 ;;
    esac ;;
esac
echo $((at + took)) >clock
exit $status
"""


def each():
    """Runs each test in a process of its own, four at a time, because a test leaves threads that wait for an agent."""
    names = unittest.TestLoader().getTestCaseNames(Clients)

    def run(name):
        return subprocess.run([sys.executable, "-B", __file__, "Clients." + name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(run, names))
    for name, one in zip(names, ended):
        print(name, one.returncode, one.stdout if one.returncode else "")
    sys.exit(any(one.returncode for one in ended) or len(ended) < 20)


if __name__ == "__main__":
    each() if sys.argv[1:] == ["each"] else unittest.main()

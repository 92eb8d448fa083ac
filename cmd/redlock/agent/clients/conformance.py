"""The conformance test of clients: it checks the rules of docs/AGENT.md, with an agent that answers, delays or drops requests as
each test requires.

    python3 conformance.py COMMAND...

starts COMMAND SOCKET WAIT NAME...: a worker that locks each NAME, waits for WAIT seconds at most, and prints a line at each event:

    NAME holds TOKEN    the worker holds the lock
    NAME released       the worker has released the lock
    NAME lost           the worker cannot prove the lock any more, or the answer to the unlock was that the lock is lost
    NAME failed WHY     the worker did not get the lock

The worker reads lines. "end" ends its work. At "fork" it forks, and the child tries to use the lock and prints "fork refused". If
its language has no fork, the worker prints "fork none". workers/ has the workers of the clients here.
"""

import collections
import contextlib
import http.server
import json
import os
import queue
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PATIENCE = 60.0  # seconds, for steps that take far less
ALWAYS = 100_000  # more requests than a test sends
WORKER = []  # the command

# What the agent does with a request.
ANSWERED, CUT, HANGS, LOST = "answered", "the connection is cut", "nobody answers", "the lock is lost"
HELD = "others hold the name"
DONE = "it is done, and the answer is lost"


class Agent(socketserver.ThreadingUnixStreamServer):
    """Answers as an agent that grants each lock, for valid seconds."""

    daemon_threads = True
    request_queue_size = 100

    def __init__(self, test, valid):
        folder = tempfile.mkdtemp()
        test.addCleanup(shutil.rmtree, folder)
        self.path, self.valid = os.path.join(folder, "s"), valid
        self.calls = queue.Queue()
        self.changing = threading.Lock()  # guards the fields below
        self.sessions, self.held, self.fates = 0, [], collections.defaultdict(list)
        self.names, self.puts = {}, []  # the names of locks by id; the moment and the id of each request to lock
        self.granted = 0.0  # when the last request came whose answer had a lock
        super().__init__(self.path, Request)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def before(self, call, n, do):
        """Makes do() choose the fate of each of the next n calls of that kind."""
        with self.changing:
            self.fates[call] += [do] * n

    def meets(self, call, n, fate):
        self.before(call, n, lambda: fate)

    def restart(self):
        """Ends the session and its locks."""
        with self.changing:
            self.sessions, self.held = self.sessions + 1, []

    def sees(self, call):
        """Waits for the next call of that kind."""
        while self.calls.get(timeout=PATIENCE) != call:
            pass

    def saw(self):
        """Returns the calls that no test has waited for yet, except calls that only keep the session."""
        calls = []
        while not self.calls.empty():
            calls.append(self.calls.get())
        return [call for call in calls if call != "POST keep"]


class Request(http.server.BaseHTTPRequestHandler):
    def answer(self):
        agent = self.server
        came = time.monotonic()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        words = self.path.removeprefix("/v1/").split("/")
        call = self.command + " " + {1: "sessions", 2: "session", 3: "keep", 4: "lock"}[len(words)]
        with agent.changing:
            held = list(agent.held)  # an answer to keep has the state at the time of the request
            fates = agent.fates[call]
            do = fates.pop(0) if fates else lambda: ANSWERED
        agent.calls.put(call)
        fate = do()
        if fate == CUT:
            return
        if fate == HANGS:
            time.sleep(PATIENCE)
            return
        with agent.changing:
            session = f"s{agent.sessions}"
            if len(words) > 1 and words[1] != session:
                return self.send(404, {"type": "#no-session", "detail": "there is no such session"})
            if fate == HELD:
                return self.send(409, {"type": "#held", "detail": "it is held", "retryable": True})
            if fate == LOST:
                return self.send(410, {"type": "#lost", "detail": fate})
            if len(words) == 4 and words[3] in agent.held:
                agent.held.remove(words[3])
            elif call == "GET lock":
                return self.send(410, {"type": "#lost", "detail": LOST})
            if call == "DELETE lock" and fate == DONE:
                return None
            if call == "DELETE lock":
                return self.send(200, {"state": "released", "freed": True})
            if len(words) == 4:
                agent.held.append(words[3])
                if call == "PUT lock":
                    agent.names[words[3]] = json.loads(body).get("name")
                    agent.puts.append((came, words[3]))
                if fate == DONE:
                    return None
                agent.granted = came
                return self.send(200, self.lock(words[3]))
            agent.granted = came
            locks = [self.lock(id) for id in held]
            self.send(200, {"session": session, "valid_for_ms": 600_000, "draining": False, "locks": locks})

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def lock(self, id):
        return {"id": id, "state": "held", "valid_for_ms": self.server.valid * 1000, "token": "1792713600123", "draining": False}

    def send(self, status, answer):
        with contextlib.suppress(OSError):  # the program is gone
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if status == 200 else "application/problem+json")
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        pass


class Worker:
    def __init__(self, test, agent, *names):
        self.agent, self.seen = agent, []
        self.process = subprocess.Popen([*WORKER, agent.path, "10", *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        test.addCleanup(self.process.__exit__, None, None, None)
        test.addCleanup(self.process.kill)
        self.fails = test.fail

    def read(self):
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), line.strip()))
        self.lines.put((time.monotonic(), "its end"))

    def says(self, text):
        """Waits for a line, and returns when it came."""
        while True:
            at, line = self.lines.get(timeout=PATIENCE)
            self.seen.append(line)
            if line.startswith(text):
                return at
            if line == "its end":
                self.fails(f"it said {self.seen}, and not {text!r}")

    def send_line(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def ends(self):
        self.send_line("end")
        self.says("its end")


class Conformance(unittest.TestCase):
    def hangs(self, agent):
        for call in "POST keep", "GET lock", "DELETE lock", "DELETE session":
            agent.meets(call, ALWAYS, HANGS)

    # A client sends a request to lock again, for the same lock, if its answer is lost. The same is true of an unlock.
    def test_lost_answers(self):
        agent = Agent(self, 600)
        agent.meets("PUT lock", 2, DONE)
        agent.meets("DELETE lock", 2, DONE)
        worker = Worker(self, agent, "job")
        worker.says("job holds 1792713600123")
        self.assertEqual(len({id for _, id in agent.puts}), 1, agent.puts)
        worker.ends()
        self.assertEqual(agent.held, [])
        self.assertIn("DELETE session", agent.saw())

    # While the agent hangs, a lock lasts for the time of the last answer, counted from before its request. The answers are slow.
    def test_agent_that_stops(self):
        agent = Agent(self, 6)
        agent.before("PUT lock", ALWAYS, lambda: time.sleep(1.5) or ANSWERED)
        self.hangs(agent)
        worker = Worker(self, agent, "job")
        worker.says("job holds")
        lost = worker.says("job lost")
        self.assertLess(lost, agent.puts[-1][0] + 6 + 1)
        self.assertGreater(lost, agent.puts[-1][0] + 3)

    # Nothing is lost after an agent has hung for a while.
    def test_agent_that_hangs_and_comes_back(self):
        agent = Agent(self, 12)
        agent.before("POST keep", 2, lambda: time.sleep(0.5) or CUT)
        agent.before("GET lock", 2, lambda: time.sleep(0.5) or CUT)
        worker = Worker(self, agent, "job")
        time.sleep(max(0.0, worker.says("job holds") + 15 - time.monotonic()))
        worker.send_line("end")
        worker.says("job released")

    # After a restart, an agent holds no earlier lock. The next lock has a new session.
    def test_agent_that_was_started_again(self):
        agent = Agent(self, 9)
        worker = Worker(self, agent, "job")
        worker.says("job holds")
        agent.restart()
        self.assertLess(worker.says("job lost"), agent.puts[-1][0] + 9 - 1, "it did not ask in time")
        again = Worker(self, agent, "job")
        again.says("job holds")
        again.send_line("end")
        again.says("job released")

    # A forked child cannot use the lock, and sends nothing. The parent keeps the lock.
    def test_fork(self):
        agent = Agent(self, 600)
        worker = Worker(self, agent, "job")
        worker.says("job holds")
        agent.saw()
        worker.send_line("fork")
        worker.says("fork ")
        self.assertIn(worker.seen[-1], ("fork refused", "fork none"))
        self.assertEqual(agent.saw(), [])
        worker.send_line("end")
        worker.says("job released")

    # After a long wait, the answer leaves little time. So the client sends the same request again, and gets more time.
    def test_long_wait(self):
        agent = Agent(self, 5)
        agent.before("PUT lock", 1, lambda: time.sleep(4) or ANSWERED)
        self.hangs(agent)
        worker = Worker(self, agent, "job")
        worker.says("job holds")
        lost = worker.says("job lost")
        self.assertEqual(len({id for _, id in agent.puts}), 1, agent.puts)
        self.assertGreater(len(agent.puts), 1)
        self.assertTrue(agent.puts[-1][0] + 3 < lost < agent.puts[-1][0] + 5 + 1)

    # One of two locks is lost, and the other goes on.
    def test_two_at_a_time(self):
        agent = Agent(self, 6)
        worker = Worker(self, agent, "one", "two")
        holds = {worker.lines.get(timeout=PATIENCE)[1] for _ in range(2)}
        self.assertEqual(holds, {"one holds 1792713600123", "two holds 1792713600123"})
        with agent.changing:
            agent.held.remove(next(id for id, name in agent.names.items() if name == "one"))
        worker.says("one lost")
        worker.send_line("end")
        worker.says("two released")

    # A loss that only the answer to the unlock shows is reported.
    def test_loss_that_the_unlock_shows(self):
        agent = Agent(self, 600)
        agent.meets("DELETE lock", 1, LOST)
        worker = Worker(self, agent, "job")
        worker.says("job holds")
        worker.send_line("end")
        worker.says("job lost")

    # A refusal of the agent is reported, and no lock is left.
    def test_refused(self):
        agent = Agent(self, 600)
        agent.before("PUT lock", ALWAYS, lambda: HELD)
        worker = Worker(self, agent, "job")
        worker.says("job failed")
        self.assertIn("held", worker.seen[-1])
        worker.ends()


if __name__ == "__main__":
    WORKER = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])

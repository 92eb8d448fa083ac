"""The conformance test of clients: what a client must do by the rules of docs/AGENT.md, against an agent that does to its
requests what a test wants.

    python3 conformance.py COMMAND...

runs COMMAND SOCKET WAIT NAME..., a worker that locks each NAME, waits for WAIT seconds at most, and prints a line each time:

    NAME holds TOKEN    it has the lock
    NAME released       it has unlocked it
    NAME lost           it cannot prove it any more, or was told so by the unlock
    NAME failed WHY     it has no lock

It reads lines: "end" ends its work, and "fork" lets it fork, and try to use the lock in the child. Then it prints "fork refused", or
"fork none" if its language has no fork. workers/ has those of the clients here.
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

PATIENCE = 60.0  # for what takes far less
ALWAYS = 100_000  # as often as a test can last
WORKER = []  # the command

# What becomes of a request.
ANSWERED, CUT, HANGS, LOST = "answered", "the connection is cut", "nobody answers", "the lock is lost"
HELD = "others hold the name"
DONE = "it is done, and the answer is lost"


class Agent(socketserver.ThreadingUnixStreamServer):
    """Answers as an agent that holds each lock that it is asked for, valid for so many seconds."""

    daemon_threads = True
    request_queue_size = 100

    def __init__(self, test, valid):
        folder = tempfile.mkdtemp()
        test.addCleanup(shutil.rmtree, folder)
        self.path, self.valid = os.path.join(folder, "s"), valid
        self.calls = queue.Queue()
        self.changing = threading.Lock()  # guards what follows
        self.sessions, self.held, self.fates = 0, [], collections.defaultdict(list)
        self.names, self.puts = {}, []  # of locks by id; moment and id of each request to lock
        self.told = 0.0  # when the last request came whose answer told of a lock
        super().__init__(self.path, Request)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def before(self, call, n, do):
        """The next n calls of that kind meet what do returns."""
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
        """The calls that nobody has waited for, but those that only keep the session."""
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
            held = list(agent.held)  # what an answer to keep tells was so when the request came
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
                agent.told = came
                return self.send(200, self.lock(words[3]))
            agent.told = came
            locks = [self.lock(id) for id in held]
            self.send(200, {"session": session, "valid_for_ms": 600_000, "draining": False, "locks": locks})

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def lock(self, id):
        return {"id": id, "state": "held", "valid_for_ms": self.server.valid * 1000, "token": "1792713600123", "draining": False}

    def send(self, status, answer):
        with contextlib.suppress(OSError):  # a program that is gone
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

    def tell(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def ends(self):
        self.tell("end")
        self.says("its end")


class Conformance(unittest.TestCase):
    def hangs(self, agent):
        for call in "POST keep", "GET lock", "DELETE lock", "DELETE session":
            agent.meets(call, ALWAYS, HANGS)

    # A request to lock whose answer is lost is sent again, for the same lock. So is an unlock.
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

    # Of an agent that hangs, a client believes what it was told, from before its request on, and no longer. The answers are slow.
    def test_agent_that_stops(self):
        agent = Agent(self, 6)
        agent.before("PUT lock", ALWAYS, lambda: time.sleep(1.5) or ANSWERED)
        self.hangs(agent)
        worker = Worker(self, agent, "job")
        worker.says("job holds")
        lost = worker.says("job lost")
        self.assertLess(lost, agent.puts[-1][0] + 6 + 1)
        self.assertGreater(lost, agent.puts[-1][0] + 3)

    # An agent that hangs for a while, and comes back, has lost nothing.
    def test_agent_that_hangs_and_comes_back(self):
        agent = Agent(self, 6)
        agent.before("POST keep", 2, lambda: time.sleep(0.5) or CUT)
        agent.before("GET lock", 2, lambda: time.sleep(0.5) or CUT)
        worker = Worker(self, agent, "job")
        time.sleep(max(0.0, worker.says("job holds") + 9 - time.monotonic()))
        worker.tell("end")
        worker.says("job released")

    # One that was started again knows no lock of before. The next lock has a session of its own.
    def test_agent_that_was_started_again(self):
        agent = Agent(self, 9)
        worker = Worker(self, agent, "job")
        worker.says("job holds")
        agent.restart()
        self.assertLess(worker.says("job lost"), agent.puts[-1][0] + 9 - 1, "it did not ask in time")
        again = Worker(self, agent, "job")
        again.says("job holds")
        again.tell("end")
        again.says("job released")

    # A child that a fork made cannot use the lock, and sends nothing. The parent keeps it.
    def test_fork(self):
        agent = Agent(self, 600)
        worker = Worker(self, agent, "job")
        worker.says("job holds")
        agent.saw()
        worker.tell("fork")
        worker.says("fork ")
        self.assertIn(worker.seen[-1], ("fork refused", "fork none"))
        self.assertEqual(agent.saw(), [])
        worker.tell("end")
        worker.says("job released")

    # After a long wait little is left of what the answer tells: the same request gets more.
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

    # Of two locks at a time one is lost, and the other goes on.
    def test_two_at_a_time(self):
        agent = Agent(self, 6)
        worker = Worker(self, agent, "one", "two")
        holds = {worker.lines.get(timeout=PATIENCE)[1] for _ in range(2)}
        self.assertEqual(holds, {"one holds 1792713600123", "two holds 1792713600123"})
        with agent.changing:
            agent.held.remove(next(id for id, name in agent.names.items() if name == "one"))
        worker.says("one lost")
        worker.tell("end")
        worker.says("two released")

    # A loss that the unlock alone shows is told.
    def test_loss_that_the_unlock_shows(self):
        agent = Agent(self, 600)
        agent.meets("DELETE lock", 1, LOST)
        worker = Worker(self, agent, "job")
        worker.says("job holds")
        worker.tell("end")
        worker.says("job lost")

    # What the agent refuses is told, and nothing is left.
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

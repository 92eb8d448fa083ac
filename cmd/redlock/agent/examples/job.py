"""A job that several hosts start and that runs on one at a time.

    PYTHONPATH=cmd/redlock/agent/clients/python python3 cmd/redlock/agent/examples/job.py /run/redlock/agent.sock payroll
"""

import sys

import redlock_agent


def work(lock):
    """Does the work of this example. Give lock.token to each store that you write to. Call lock.check()
    before a step that cannot be undone."""
    lock.check()
    print("locked, with token", lock.token)


def main(address, name):
    with redlock_agent.Session(address) as session:
        try:
            with session.lock(name, wait=10) as lock:
                work(lock)
        except redlock_agent.Held:
            print("another does it")
            return 75
        except redlock_agent.Lost as lost:
            print("stopped:", lost)
            return 76
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

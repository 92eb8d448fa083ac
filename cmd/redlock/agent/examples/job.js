// A job that several hosts start and that runs on one at a time.
//
//     node cmd/redlock/agent/examples/job.js /run/redlock/agent.sock payroll
const { Session } = require('../clients/node/redlock-agent.js');

// work is an example. Give lock.token to each store that you write to. Give lock.signal to calls that can be
// aborted. Call lock.check() before a step that cannot be undone.
async function work(lock) {
  lock.check();
  console.log('locked, with token', lock.token);
}

async function main(address, name) {
  const session = new Session(address);
  try {
    await session.withLock(name, { wait: 10_000 }, work);
  } finally {
    await session.close();
  }
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exitCode = error.word === 'held' ? 75 : 1;
});

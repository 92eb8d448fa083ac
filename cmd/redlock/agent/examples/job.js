// A job that several hosts start, and one at a time does.
//
//     node cmd/redlock/agent/examples/job.js /run/redlock/agent.sock payroll
const { Session } = require('../clients/node/redlock-agent.js');

// work stands in for yours. Give lock.token to each store that you write to, lock.signal to what can be
// aborted, and look at lock.check() before what cannot be taken back.
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

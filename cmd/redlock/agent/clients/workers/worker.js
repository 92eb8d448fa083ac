// The worker of the conformance test for Node. conformance.py documents workers.
const readline = require('node:readline');
const { Session, Problem, Lost, Unreachable } = require('../node/redlock-agent.js');

const [socket, wait, ...names] = process.argv.slice(2);
const say = (...words) => process.stdout.write(`${words.join(' ')}\n`);

async function main() {
  const session = new Session(socket);
  const lines = readline.createInterface({ input: process.stdin });
  let end;
  const over = new Promise((resolve) => { end = resolve; });
  lines.on('line', (line) => {
    if (line === 'fork') say('fork none'); // a child process shares nothing with this one
    if (line === 'end') end();
  });
  await Promise.all(names.map(async (name) => {
    try {
      await session.withLock(name, { wait: Number(wait) * 1000 }, async (lock) => {
        say(name, 'holds', lock.token);
        const lost = new Promise((resolve) => { lock.signal.addEventListener('abort', resolve); });
        await Promise.race([over, lost]);
      });
      say(name, 'released');
    } catch (error) {
      if (error instanceof Lost) say(name, 'lost');
      else if (error instanceof Problem || error instanceof Unreachable) say(name, 'failed', error.word || 'unreachable');
      else throw error;
    }
  }));
  await session.close();
  lines.close();
}

main();

// A job that several hosts start, and one at a time does. It needs Node 16 or later, and nothing else.
//
//     node agent/examples/job.js /run/redlock/agent.sock payroll
const http = require('node:http');
const { randomBytes } = require('node:crypto');

const [socketPath, name] = process.argv.slice(2);

// process.hrtime does not count the time for which a machine is suspended: where machines are, let
// the store compare tokens.
const now = () => Number(process.hrtime.bigint() / 1_000_000n);

// ask resolves to the answer, with the moment before the request was sent.
function ask(method, path, body, timeout = 5000) {
  return new Promise((resolve, reject) => {
    const sent = now();
    const request = http.request({ socketPath, method, path, timeout }, (response) => {
      let text = '';
      response.on('data', (part) => { text += part; });
      response.on('end', () => {
        const answer = JSON.parse(text);
        if (response.statusCode === 200) return resolve({ sent, ...answer });
        return reject(Object.assign(new Error(answer.detail), answer));
      });
    });
    request.on('timeout', () => request.destroy(new Error('the agent does not answer')));
    request.on('error', reject);
    request.end(body && JSON.stringify(body));
  });
}

async function main() {
  const ttl = 15_000;
  const { session } = await ask('POST', '/v1/sessions', { ttl_ms: ttl });
  const path = `/v1/sessions/${session}`;
  const id = randomBytes(16).toString('hex');
  const controller = new AbortController();
  let timer;
  let until = 0;
  const believe = ({ sent, valid_for_ms: validFor }) => {
    until = Math.max(until, sent + validFor);
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(new Error('the lock is lost')), until - now());
  };
  const keeper = setInterval(async () => {
    try {
      const kept = await ask('POST', `${path}/keep`, undefined, ttl / 4);
      const lock = kept.locks.find((one) => one.id === id);
      if (lock) believe({ sent: kept.sent, ...lock });
      else if (until > 0) controller.abort(new Error('the lock is lost'));
    } catch (problem) {
      if (problem.type && problem.type.endsWith('#no-session')) controller.abort(new Error('the lock is lost'));
    } // else it asks again, until the time is over
  }, ttl / 4);
  try {
    const wanted = { name, wait_ms: 10_000 };
    let lock = await ask('PUT', `${path}/locks/${id}`, wanted, 15_000);
    // It may have been waited for. The same request gets the same lock: ask what is left by now.
    lock = await ask('PUT', `${path}/locks/${id}`, wanted);
    believe(lock);
    await work(lock.token, controller.signal);
    await ask('DELETE', `${path}/locks/${id}`);
  } finally {
    clearInterval(keeper);
    clearTimeout(timer);
    await ask('DELETE', path).catch(() => {}); // it ends by itself
  }
}

// work stands in for yours. Give the token to each store that you write to, and the signal to what
// can be aborted.
async function work(token, signal) {
  signal.throwIfAborted();
  console.log('locked, with token', token);
}

main().catch((problem) => {
  console.error(problem.message);
  process.exitCode = problem.type && problem.type.endsWith('#held') ? 75 : 1;
});

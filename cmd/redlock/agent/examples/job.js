// A job that several hosts start, and one at a time does. It needs Node 18 or later, and nothing else.
//
//     node agent/examples/job.js /run/redlock/agent.sock payroll
const http = require('node:http');
const { randomBytes } = require('node:crypto');

// process.hrtime does not count the time for which a machine is suspended: where machines are, let
// the store compare tokens.
const now = () => Number(process.hrtime.bigint() / 1_000_000n);
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// ask resolves to the answer, with the moment before the request was sent. It rejects with a problem,
// which has a type, or with an error of the connection.
function ask(socketPath, method, path, body, timeout = 5000) {
  return new Promise((resolve, reject) => {
    const sent = now();
    const request = http.request({ socketPath, method, path }, (response) => {
      let text = '';
      response.on('data', (part) => { text += part; });
      response.on('error', reject);
      response.on('end', () => {
        clearTimeout(timer);
        try {
          const answer = JSON.parse(text);
          if (response.statusCode === 200) resolve({ sent, ...answer });
          else reject(Object.assign(new Error(answer.detail), answer));
        } catch (error) {
          reject(error);
        }
      });
    });
    const timer = setTimeout(() => request.destroy(new Error('the agent does not answer')), timeout);
    request.on('error', (error) => { clearTimeout(timer); reject(error); });
    request.end(body && JSON.stringify(body));
  });
}

// withLock runs work(token, signal) under the lock of a name. The signal aborts when the lock is lost,
// and withLock then rejects with the same error.
async function withLock(socketPath, name, work, wait = 10_000, ttl = 15_000) {
  const opened = await ask(socketPath, 'POST', '/v1/sessions', { ttl_ms: ttl });
  const path = `/v1/sessions/${opened.session}`;
  const id = randomBytes(16).toString('hex');
  const controller = new AbortController();
  let until = opened.sent + opened.valid_for_ms; // of the session, then of the lock
  let heldSince = Infinity;
  let ended = false;
  let keepTimer;
  let lossTimer;

  const lose = (why) => controller.abort(Object.assign(new Error(`the lock is lost: ${why}`), { type: '#lost' }));
  const late = () => lose('the agent did not renew it in time');
  const believe = (moment) => {
    until = moment;
    clearTimeout(lossTimer);
    clearTimeout(keepTimer);
    if (ended) return;
    if (heldSince < Infinity) lossTimer = setTimeout(late, Math.max(0, until - now()));
    keepTimer = setTimeout(keep, Math.max(50, (until - now()) / 3)); // the less is left, the sooner
  };
  const keep = async () => {
    try {
      const kept = await ask(socketPath, 'POST', `${path}/keep`, undefined, Math.max(50, (until - now()) / 2));
      const lock = kept.locks.find((one) => one.id === id);
      if (lock) until = Math.max(until, kept.sent + lock.valid_for_ms);
      else if (kept.sent > heldSince) lose('the agent does not hold it any more');
      else if (heldSince === Infinity) until = Math.max(until, kept.sent + kept.valid_for_ms);
    } catch (problem) {
      if (problem.type && problem.type.endsWith('#no-session')) lose(problem.message);
    } // else it asks again, until the time is over
    if (!controller.signal.aborted) believe(until);
  };
  believe(until);

  try {
    const giveUp = now() + wait + ttl;
    let lock;
    do { // the same request gets the same lock; what was waited for has less time left than the next answer tells
      try {
        lock = await ask(socketPath, 'PUT', `${path}/locks/${id}`, { name, wait_ms: wait }, wait + ttl);
      } catch (problem) {
        if (problem.type || now() >= giveUp) throw problem;
        await pause(100);
      }
    } while (!lock || now() - lock.sent >= lock.valid_for_ms / 2);
    heldSince = now();
    believe(lock.sent + lock.valid_for_ms);
    const result = await work(lock.token, controller.signal);
    if (now() >= until) late();
    if (controller.signal.aborted) throw controller.signal.reason;
    return result;
  } finally {
    ended = true;
    clearTimeout(keepTimer);
    clearTimeout(lossTimer);
    await ask(socketPath, 'DELETE', path).catch(() => {}); // nothing keeps the session any more: it ends by itself
  }
}

// work stands in for yours. Give the token to each store that you write to, and the signal to what
// can be aborted.
async function work(token, signal) {
  signal.throwIfAborted();
  console.log('locked, with token', token);
}

module.exports = { withLock };

if (require.main === module) {
  const [socketPath, name] = process.argv.slice(2);
  withLock(socketPath, name, work).catch((problem) => {
    console.error(problem.message);
    process.exitCode = problem.type && problem.type.endsWith('#held') ? 75 : 1;
  });
}
